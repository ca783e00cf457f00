"""Who held the memory of a GPU when it ran out of it: real programs on small emulated GPUs."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import programs
import pytest

pytest.importorskip("torch")

MIB = 1 << 20

TRAIN = """
import torch
from torch import nn

def step(model, optimizer, batch):
    model(batch).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()

model = nn.Sequential(nn.Linear(1024, 4096), nn.ReLU(), nn.Linear(4096, 1024)).cuda()
optimizer = torch.optim.AdamW(model.parameters())
step(model, optimizer, torch.randn(64, 1024, device="cuda"))
"""

CNN = """
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(32, 32, 3, padding=1), nn.BatchNorm2d(32)

    def forward(self, x):
        y = self.norm(self.conv(x)).relu()
        return x + y

net = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), *[Block() for _ in range(12)]).cuda()
net(torch.randn(8, 3, 64, 64, device="cuda")).mean().backward()
"""

CONVOLUTIONS = """
import torch

weights = [torch.randn(32, 32, 3, 3, device="cuda", requires_grad=True) for _ in range(24)]
x = torch.randn(8, 32, 64, 64, device="cuda")
for weight in weights:
    x = torch.nn.functional.conv2d(x, weight, padding=1).relu()
x.mean().backward()
"""

LLAMA = """
import torch
from transformers import LlamaConfig, LlamaForCausalLM

config = LlamaConfig(vocab_size=512, hidden_size=256, intermediate_size=688, num_hidden_layers=4, num_attention_heads=8)
model = LlamaForCausalLM(config).cuda()
optimizer = torch.optim.AdamW(model.parameters())
for length in (32, 4096):
    tokens = torch.randint(0, 512, (2, length), device="cuda")
    optimizer.zero_grad()
    model(tokens, labels=tokens).loss.backward()
    optimizer.step()
"""

KEPT = """
import torch

net = torch.nn.Linear(256, 256).cuda()
outputs = []
for step in range(1000):
    outputs.append(net(torch.randn(1024, 256, device="cuda")))
"""

SUMMED = """
import torch
from torch import nn

net = nn.Sequential(nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 4)).cuda()
{start}
for step in range(1000):
    loss = net(torch.randn(1024, 256, device="cuda")).square().mean()
    {keep}
"""

CAUGHT = """
import torch

size = 256
while size:
    try:
        torch.zeros(size << 20, device="cuda")
        break
    except torch.cuda.OutOfMemoryError:
        size //= 2
print("fits", size)
"""


GENERATE = """
import torch
from transformers import LlamaConfig, LlamaForCausalLM

config = LlamaConfig(num_hidden_layers=24, hidden_size=64, intermediate_size=64, num_attention_heads=2, vocab_size=16)
model = LlamaForCausalLM(config).cuda()
ids = torch.ones(64, 256, dtype=torch.long, device="cuda")
model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=4)
"""

STEP = """
import torch
from torch import nn

model = nn.Sequential(*(nn.Linear(2048, 2048) for _ in range(4))).cuda()
optimizer = torch.optim.AdamW(model.parameters())
model(torch.randn(8, 2048, device="cuda")).sum().backward()
optimizer.step()
"""


def run(text: str, folder: Path, *options: str, memory: str = "100MiB") -> subprocess.CompletedProcess[str]:
    (folder / "train.py").write_text(text, encoding="utf-8")
    words = ["-m", "devsan", "run", "--memory", memory, "--lang", "en", *options, "train.py"]
    done: subprocess.CompletedProcess[str] = programs.run(words, cwd=folder)
    return done


def found(text: str, folder: Path, *options: str, memory: str = "100MiB", output: str = "run.json") -> dict[str, Any]:
    """The finding of a program that runs out of memory, as its JSON document has it."""
    done = run(text, folder, *options, "-o", output, memory=memory)
    assert done.returncode == 1, done.stderr
    [finding] = json.loads((folder / output).read_text(encoding="utf-8"))["findings"]
    assert finding["code"] == "DV501"
    held = finding["memory"]
    assert sum(part["bytes"] for part in held["parts"]) == held["allocated"], "each block counts once"
    return dict(finding)


def parts(finding: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {part["kind"]: part for part in finding["memory"]["parts"]}


def fixes(finding: dict[str, Any]) -> str:
    return "\n".join(fix["text"] for fix in finding["fixes"])


@pytest.mark.long
def test_a_training_loop_fails_in_its_first_step(tmp_path: Path) -> None:
    finding = found(TRAIN, tmp_path, "--gpus", "1", memory="110MiB")
    of = parts(finding)
    weights = 2 * 1024 * 4096 * 4
    assert of["parameter"]["bytes"] == of["gradient"]["bytes"]
    assert weights <= of["parameter"]["bytes"] < weights + MIB
    assert of["optimizer_state"]["largest"][0]["name"] == "exp_avg of 0.weight"
    assert of["gradient"]["largest"][0]["name"] == "0.weight.grad"
    assert of["data"]["largest"][0]["name"] == "`batch` in step"
    assert finding["phase"] == "optimizer"
    assert finding["memory"]["requested"] == 1024 * 4096 * 4
    assert "an optimizer that keeps less state" in fixes(finding)
    assert "in bfloat16" in fixes(finding)
    assert "place a part of the model" not in fixes(finding), "there is one GPU"


@pytest.mark.long
def test_what_the_first_step_of_an_optimizer_needs_in_all(tmp_path: Path) -> None:
    finding = found(TRAIN, tmp_path, "--gpus", "1", memory="130MiB")
    [told] = [each for each in finding["evidence"] if "in total" in each]
    assert told.startswith("The optimizer has its state for 2 of 4 parameters, and that of the others takes 32.01 MiB")
    missing = float(re.search(r"at least (\S+) MiB is missing in total", told)[1])
    for more, is_enough in ((-1, False), (4, True)):  # then only pieces of segments are missing
        memory, output = f"{130 + missing + more:.0f}MiB", f"later{more}.json"
        later = found(TRAIN, tmp_path, "--gpus", "1", memory=memory, output=output)
        assert any("in total" in each for each in later["evidence"]) is not is_enough
    texts = fixes(finding)
    assert "its whole state takes about 16.01 MiB instead of 64.04 MiB" in texts
    assert "all of it takes 64.04 MiB" in texts and "optimizer state of all parameters take 96.06 MiB" in texts
    assert "keeps less state" not in texts, "the figure of one request"
    first = found(TRAIN, tmp_path, "--gpus", "1", memory="110MiB", output="first.json")
    assert not any("in total" in each for each in first["evidence"]), "the first state is not whole"


@pytest.mark.long
def test_of_an_optimizer_whose_state_differs_nothing_is_said_to_come(tmp_path: Path) -> None:
    text = TRAIN.replace("AdamW(model.parameters())", "Adafactor(model.parameters())")
    finding = found(text, tmp_path, "--gpus", "1", memory="90MiB")
    assert not any("in total" in each for each in finding["evidence"])


def test_activations_are_told_by_the_modules_that_keep_them(tmp_path: Path) -> None:
    finding = found(CNN, tmp_path, "--gpus", "1")
    results = parts(finding)["activation"]
    assert {"*.conv", "*.norm"} <= {each["name"] for each in results["largest"]}


def test_a_forward_pass_in_an_optimizers_closure_keeps_activations(tmp_path: Path) -> None:
    step = 'net(torch.randn(8, 3, 64, 64, device="cuda")).mean().backward()'
    optimizer = "torch.optim.SGD(net.parameters(), lr=0.1)"
    finding = found(CNN.replace(step, f"{optimizer}.step(lambda: {step})"), tmp_path, "--gpus", "1")
    assert "temporary" not in parts(finding) and finding["memory"]["parts"][0]["kind"] == "activation"
    assert "torch.utils.checkpoint" in fixes(finding)


def test_checkpointing_that_is_on_is_not_advised(tmp_path: Path) -> None:
    """The switch is that of transformers; memory ends in a part that is not checkpointed."""
    finding = found(CNN.replace(".cuda()\n", ".cuda()\nnet.gradient_checkpointing = True\n"), tmp_path, "--gpus", "1")
    assert finding["memory"]["checkpoints"] is True
    assert "the model checkpoints its layers already" in fixes(finding)
    assert "torch.utils.checkpoint" not in fixes(finding)


def test_checkpointing_of_a_frozen_model_says_nothing_of_the_one_that_is_trained(tmp_path: Path) -> None:
    teacher = "teacher = nn.Linear(4, 4).cuda().requires_grad_(False)\nteacher.gradient_checkpointing = True\n"
    finding = found(CNN.replace("net = ", f"{teacher}net = "), tmp_path, "--gpus", "1")
    assert finding["memory"]["checkpoints"] is False


def test_without_a_model_activations_are_told_by_their_operators(tmp_path: Path) -> None:
    finding = found(CONVOLUTIONS, tmp_path, "--gpus", "1")
    results = parts(finding)["activation"]
    assert finding["memory"]["parts"][0]["kind"] == "activation"
    convolution = next(each for each in results["largest"] if each["op"] == "aten::convolution")
    assert convolution["bytes"] == convolution["tensors"] * 8 * 32 * 64 * 64 * 4
    assert "torch.utils.checkpoint" in fixes(finding)


def test_another_gpu_has_room(tmp_path: Path) -> None:
    finding = found(CNN, tmp_path, "--gpus", "2", memory="100MiB,3GiB")
    [other] = finding["memory"]["elsewhere"]
    assert other == {"device": "cuda:1", "total": 3 << 30, "free": 3 << 30}
    assert "on cuda:1: 3.00 GiB of its 3.00 GiB are free" in fixes(finding)


def test_memory_that_others_use(tmp_path: Path) -> None:
    finding = found(CNN, tmp_path, "--gpus", "1", "--used-memory", "60MiB", memory="160MiB")
    assert finding["memory"]["others"] == 60 * MIB
    assert "they take 60.00 MiB" in fixes(finding)


def test_a_list_that_grows(tmp_path: Path) -> None:
    finding = found(KEPT, tmp_path, "--gpus", "1")
    of = parts(finding)
    assert [each["name"] for each in of["collected"]["largest"]] == ["`outputs`"]
    assert of["collected"]["largest"][0]["tensors"] > 10
    assert of["history"]["largest"][0]["name"] == "`outputs`", "what the backward pass would need"
    assert "keep what is in `outputs` on the CPU" in fixes(finding)


@pytest.mark.parametrize(("start", "keep"), [("total = 0", "total += loss"), ("total = []", "total.append(loss)")])
def test_losses_that_keep_their_graphs_are_named_first(tmp_path: Path, start: str, keep: str) -> None:
    finding = found(SUMMED.format(start=start, keep=keep), tmp_path, "--gpus", "1")
    [kept] = parts(finding)["history"]["largest"]
    assert kept["name"] == "`total`"
    assert kept["bytes"] > finding["memory"]["allocated"] // 2
    assert finding["fixes"][0]["text"].startswith("detach what is kept of earlier steps in `total`")


def test_all_that_keep_one_graph_are_named(tmp_path: Path) -> None:
    text = SUMMED.format(start="total, curve = 0, []", keep="total = total + loss; curve.append(total)")
    [kept] = parts(found(text, tmp_path, "--gpus", "1"))["history"]["largest"]
    assert kept["name"] == "`total`, `curve`"


@pytest.mark.long
def test_the_layers_of_one_pass_are_no_history(tmp_path: Path) -> None:
    text = """
import torch
layers = torch.nn.ModuleList(torch.nn.Linear(256, 256) for _ in range(99)).cuda()
x = torch.randn(4096, 256, device="cuda")
skips = []
for layer in layers:
    x = x + layer(x).relu()
    skips.append(x)
"""
    finding = found(text, tmp_path, "--gpus", "1")
    assert "history" not in parts(finding)
    assert "detach" not in fixes(finding)


@pytest.mark.long
def test_a_model_of_transformers(tmp_path: Path) -> None:
    pytest.importorskip("transformers", reason="the model is of transformers, which is not installed")
    finding = found(LLAMA, tmp_path, "--gpus", "1")
    of = parts(finding)
    assert finding["memory"]["parts"][0]["kind"] == "optimizer_state"
    assert of["parameter"]["largest"][0]["name"].startswith("model.layers.")
    assert 2 * of["parameter"]["bytes"] == pytest.approx(of["optimizer_state"]["bytes"], rel=0.01)
    assert finding["phase"] in ("forward", "loss", "backward")


@pytest.mark.long
def test_keys_and_values_of_earlier_tokens(tmp_path: Path) -> None:
    pytest.importorskip("transformers", reason="the cache is of transformers, which is not installed")
    finding = found(GENERATE, tmp_path, "--gpus", "1", memory="140MiB")
    cache = parts(finding)["cache"]
    assert {each["name"] for each in cache["largest"]} == {"keys of DynamicLayer", "values of DynamicLayer"}
    layers = cache["tensors"] // 2
    assert cache["bytes"] == 2 * layers * 64 * 256 * 64 * 4
    assert "fewer keys and values" in fixes(finding)


def test_a_step_that_computes_with_all_parameters_at_once(tmp_path: Path) -> None:
    finding = found(STEP, tmp_path, "--gpus", "1", memory="320MiB")
    assert {"aten::sqrt"} == {each["op"] for each in parts(finding)["temporary"]["largest"]}
    assert "foreach=False or fused=True" in fixes(finding)
    text = STEP.replace("parameters())", "parameters(), foreach=False)")
    assert "foreach" not in fixes(found(text, tmp_path, "--gpus", "1", memory="280MiB", output="each.json"))


def test_what_is_caught_is_no_finding(tmp_path: Path) -> None:
    done = run(CAUGHT, tmp_path, "--gpus", "1", "--fail-on", "warning")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "fits 16\n"
    assert "out of memory" not in done.stderr


@pytest.mark.long
def test_every_format_tells_it(tmp_path: Path) -> None:
    terminal = run(TRAIN, tmp_path, "--gpus", "1", "-o", "run.dvs", memory="110MiB").stderr
    assert terminal.count("CUDA out of memory. Tried") == 1, "torch's sentence stands once, in the traceback"
    report = terminal[terminal.index("error[DV501]") :]
    assert "parameters" in report and "MiB (33%)" in report
    shown = {}
    for how in ("html", "sarif", "github", "json"):
        words = ["-m", "devsan", "report", "run.dvs", "--format", how, "-o", f"report.{how}"]
        done = programs.run(words, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        shown[how] = (tmp_path / f"report.{how}").read_text(encoding="utf-8")
        assert "DV501" in shown[how], how
    page = shown["html"]
    first_chart = page.index('<figure class="chart">')
    assert page.index('id="finding-1"') < first_chart < page.index('id="operands"'), "the curve leads"
    assert re.match(r".{0,400}cuda:0", page[first_chart:], re.S)
    assert "No operand is known." not in page, "nobody placed anything wrong"
    [result] = json.loads(shown["sarif"])["runs"][0]["results"]
    assert result["ruleId"] == "DV501"


def test_the_error_is_explained_in_an_emulation(explained: Any, tmp_path: Path) -> None:
    text = "import torch\ntorch.cuda.set_per_process_memory_fraction(1e-3)\n" + KEPT
    explanation = explained(text, tmp_path / "train.py", 1)
    assert explanation is not None
    [finding] = explanation.findings
    assert finding.code == "DV501"
    held = explanation.facts.failure.memory
    assert held.allowed == round(held.total * 1e-3)
    assert any("raise the limit" in str(fix.text) for fix in finding.fixes)
