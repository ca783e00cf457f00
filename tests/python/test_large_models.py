"""A model that this machine has no room for is told of before it is made."""

from __future__ import annotations

import re
from pathlib import Path

import programs
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers", reason="models of transformers are looked at, which is not installed")

# A machine with room for nothing, where each model is large.
SMALL = """
import torch
from devsan import _core, large_models
from transformers import LlamaConfig, LlamaForCausalLM

_core.host_room = lambda: (1 << 10, 1 << 20, "the machine")
large_models._LARGE = 0
config = LlamaConfig(num_hidden_layers=2, hidden_size=16, intermediate_size=16, num_attention_heads=2, vocab_size=16)
"""


def told(text: str, folder: Path, *options: str) -> list[str]:
    (folder / "program.py").write_text(SMALL + text, encoding="utf-8")
    done = programs.run(["-m", "devsan", "run", "--gpus", "1", *options, "program.py"], cwd=folder)
    assert done.returncode == 0, done.stderr
    return [line for line in done.stderr.splitlines() if "warning" in line]


@pytest.mark.long
def test_once_before_its_weights_are_made(tmp_path: Path) -> None:
    [line] = told("for _ in range(2):\n    LlamaForCausalLM(config)\n", tmp_path)
    assert re.fullmatch(
        r"devsan: warning: LlamaForCausalLM takes 1\d\.\d\d KiB in float32, and of the 1024\.00 KiB "
        r"\(the machine\) for emulated GPUs and CPU tensors 1024 bytes are left\. Run with --full-size.*",
        line,
    ), line


@pytest.mark.long
def test_weights_that_are_read_count(tmp_path: Path) -> None:
    LOADED = """
large_models._is_told = True
LlamaForCausalLM(config).save_pretrained("saved")
large_models._is_told = False
LlamaForCausalLM.from_pretrained("saved", dtype=torch.bfloat16)
"""
    [line] = told(LOADED, tmp_path)
    assert "in bfloat16" in line


@pytest.mark.long
def test_the_parts_of_a_model_are_not_looked_at(tmp_path: Path) -> None:
    text = """
from transformers import EncodecConfig, MusicgenConfig, MusicgenDecoderConfig, T5Config
from transformers import MusicgenForConditionalGeneration

looked = []
size_of = large_models._size_of
large_models._size_of = lambda kind, config: looked.append(kind.__name__) or 0
small = dict(d_model=16, d_kv=8, d_ff=16, num_layers=1, num_heads=2, vocab_size=16)
decoder = MusicgenDecoderConfig(vocab_size=16, hidden_size=16, ffn_dim=16, num_hidden_layers=1, num_attention_heads=2)
composite = MusicgenConfig(text_encoder=T5Config(**small), audio_encoder=EncodecConfig(num_filters=2, hidden_size=8),
                           decoder=decoder)
MusicgenForConditionalGeneration(composite)
LlamaForCausalLM(config)
assert looked == ["LlamaForCausalLM"], looked
"""
    assert told(text, tmp_path) == []


@pytest.mark.long
def test_a_model_that_cannot_be_looked_at_is_made_all_the_same(tmp_path: Path) -> None:
    odd = "def odd(*given):\n    raise ValueError('odd')\nlarge_models._may_be_large = odd\n"
    (tmp_path / "program.py").write_text(SMALL + odd + "LlamaForCausalLM(config)\nprint('made')\n", encoding="utf-8")
    done = programs.run(["-m", "devsan", "run", "--gpus", "1", "program.py"], cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "made\n"), done.stderr
    assert "devsan: how large the model is, is not known: ValueError: odd" in done.stderr


@pytest.mark.parametrize(
    "made",
    [
        "with torch.device('meta'):\n    LlamaForCausalLM(config)\n",
        "from accelerate import init_empty_weights\nwith init_empty_weights():\n    LlamaForCausalLM(config)\n",
        "_core.host_room = lambda: (1 << 30, 1 << 31, 'the machine')\nLlamaForCausalLM(config)\n",
    ],
    ids=["without weights", "without weights by accelerate", "room enough"],
)
def test_nothing_is_told(made: str, tmp_path: Path) -> None:
    assert told(made, tmp_path) == []


@pytest.mark.long
def test_the_numbers_of_the_program_are_as_without_it(tmp_path: Path) -> None:
    text = """
torch.manual_seed(0)
large_models._is_told = WHETHER
print(LlamaForCausalLM(config).lm_head.weight.sum().item(), torch.rand(1).item())
"""
    printed = []
    for whether in ("True", "False"):
        (tmp_path / "program.py").write_text(SMALL + text.replace("WHETHER", whether), encoding="utf-8")
        printed.append(programs.run(["-m", "devsan", "run", "--gpus", "1", "program.py"], cwd=tmp_path).stdout)
    assert printed[0] == printed[1] != ""
