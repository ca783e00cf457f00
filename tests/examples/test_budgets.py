"""What accelerate and transformers see of the emulated memory, and the maps that they make of it."""

from __future__ import annotations

import json

import pytest

GIB = 1 << 30

MAX_MEMORY = """
import json
from accelerate.utils import get_max_memory
print(json.dumps(get_max_memory()))
"""

# Llama-2-7B's shape, without numbers. The device_map="auto" of from_pretrained, in its own function.
LLAMA_7B = """
import json, torch
from accelerate import init_empty_weights
from transformers import LlamaConfig, LlamaForCausalLM
from transformers.integrations.accelerate import _get_device_map
config = LlamaConfig(vocab_size=32000, hidden_size=4096, intermediate_size=11008, num_hidden_layers=32,
                     num_attention_heads=32, dtype="float16")
with init_empty_weights():
    model = LlamaForCausalLM(config).half()
print(json.dumps(_get_device_map(model, "auto", None, None)))
"""


def result_of(run, *options: str, code: str) -> dict:
    done = run("-m", "devsan", "run", *options, "-c", code)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_get_max_memory_sees_the_budgets(run):
    budgets = result_of(run, "--gpus", "rtx3090-24g,a100-80g,t4-16g", code=MAX_MEMORY)
    assert list(budgets) == ["0", "1", "2", "cpu"]
    for ordinal, (low, high) in {"0": (22, 24), "1": (77, 80), "2": (13, 16)}.items():
        assert low * GIB < budgets[ordinal] < high * GIB


@pytest.mark.long
def test_get_max_memory_sees_what_others_hold(run):
    free = result_of(run, "--gpus", "2:rtx3090-24g", code=MAX_MEMORY)
    busy = result_of(run, "--gpus", "2:rtx3090-24g", "--used-memory", "0,10GiB", code=MAX_MEMORY)
    assert busy["0"] == free["0"]
    assert busy["1"] == free["1"] - 10 * GIB


def test_get_max_memory_follows_cuda_visible_devices(run):
    done = run(
        "-m", "devsan", "run", "--gpus", "rtx3090-24g,a100-80g,t4-16g", "-c", MAX_MEMORY, CUDA_VISIBLE_DEVICES="2,1"
    )
    assert done.returncode == 0, done.stderr
    budgets = json.loads(done.stdout)
    assert list(budgets) == ["0", "1", "cpu"]
    assert budgets["0"] < 16 * GIB < 77 * GIB < budgets["1"]


def test_llama_7b_on_four_gpus_of_24_gib(run):
    found = result_of(run, "--gpus", "4:rtx3090-24g", code=LLAMA_7B)
    expected = {
        f"model.layers.{layer}": gpu
        for gpu, layers in enumerate([range(7), range(7, 16), range(16, 25), range(25, 32)])
        for layer in layers
    }
    assert {name: found[name] for name in expected} == expected
    assert found["model.embed_tokens"] == 0
    assert found["model.norm"] == found["lm_head"] == 3


def test_a_busy_first_gpu_is_left_out(run):
    # With less free than the embedding and its share of the reserve take, the map begins at GPU 1.
    found = result_of(run, "--gpus", "4:rtx3090-24g", "--used-memory", "23GiB,0,0,0", code=LLAMA_7B)
    assert set(found.values()) == {1, 2, 3}


@pytest.mark.parametrize("gpus", ["1", "3"])
def test_offers_as_many_gpus_as_asked(run, gpus):
    assert len(result_of(run, "--gpus", gpus, code=MAX_MEMORY)) == int(gpus) + 1


def test_others_may_have_filled_the_first_gpu(run):
    code = "import json, torch; print(json.dumps([torch.cuda.mem_get_info(device)[0] for device in (0, 1)]))"
    free = result_of(run, "--gpus", "2:a100-80g", "--used-memory", "79GiB,0", code=code)
    assert free[0] == 0 < free[1]
