"""``devsan explain "<error>"``: the codes whose error a sentence is."""

from __future__ import annotations

import subprocess
import sys

import pytest

from devsan.diagnosis.by_wording import codes_of, nearest_page
from devsan.diagnostics.codes import all_codes

TWO = "Expected all tensors to be on the same device, but found at least two devices, "


@pytest.mark.parametrize(
    "code", [code for code in all_codes().values() if "```text" in code.page()], ids=lambda c: c.code
)
def test_the_sentence_of_every_page_leads_to_it(code):
    sentence = code.page().partition("```text\n")[2].partition("\n```")[0]
    assert code.code in [each.code for each in codes_of(sentence)]


@pytest.mark.parametrize(
    ("sentence", "codes"),
    [
        ("RuntimeError: Duplicate GPU detected : rank 3 and rank 1 both on CUDA device 50", ["DV301", "DV115"]),
        ("can't convert cuda:3 device type tensor to numpy. Use Tensor.cpu() to copy the tensor", ["DV103"]),
        ("can't convert cuda:0 device type tensor to numpy", ["DV103"]),
        ("Expected a 'cuda' device type for generator but found 'cpu'", ["DV111"]),
        ("Pointer argument (at 0) cannot be accessed from Triton (cpu tensor?)", ["DV115"]),
        ("The device_map provided does not give any device for the following parameters: lm_head.weight", ["DV105"]),
        ("Traceback:\n  x + y\nCannot copy out of meta tensor; no data!\n", ["DV112"]),
        ("error[DV104]: operands of aten::nll_loss_forward are on cuda:3 and cuda:1", ["DV104"]),
        ("AssertionError: Torch not compiled with CUDA enabled", ["DV403"]),
        ("[Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=5)", ["DV304", "DV305", "DV306"]),
        ("NCCL communicator was aborted on rank 1.", ["DV305", "DV306"]),
        ("ModuleNotFoundError: No module named 'bitsandbytes'", ["DV422"]),
        ("TypeError: TrainingArguments.__init__() got an unexpected keyword argument 'no_cuda'", ["DV421"]),
        ("You can't train a model that has been loaded in 8-bit or 4-bit precision with CPU offload", ["DV203"]),
        ("Check batch related parameters. train_batch_size is not equal to micro_batch_per_gpu * ...", ["DV413"]),
        ("No such file or directory", []), ("TypeError: forward() got an unexpected keyword argument 'x'", []),
    ],
)  # fmt: skip
def test_sentences(sentence, codes):
    assert [each.code for each in codes_of(sentence)] == codes


def test_a_sentence_of_many_causes():
    of_gpus = {each.code for each in codes_of(f"{TWO}cuda:3 and cuda:1! (when checking argument for argument mat2 in "
                                              "method wrapper_CUDA_mm)")}  # fmt: skip
    with_host = {each.code for each in codes_of(f"{TWO}cuda:0 and cpu!")}
    assert {"DV101", "DV104", "DV107", "DV113"} <= of_gpus and not {"DV101", "DV107", "DV113"} & with_host
    assert {"DV102", "DV103", "DV105", "DV108"} <= with_host


@pytest.mark.parametrize("rest", ["", ", but found at least two devices", "!"])
def test_a_sentence_without_its_devices_is_that_of_many_causes(rest):
    sentence = f"RuntimeError: Expected all tensors to be on the same device{rest}"
    whole = [codes_of(f"{TWO}{devices}!") for devices in ("cuda:0 and cuda:1", "cuda:0 and cpu")]
    causes = list(dict.fromkeys(each.code for codes in whole for each in codes))
    assert [each.code for each in codes_of(sentence)][: len(causes)] == causes


def test_an_index_on_another_gpu_has_the_causes_of_a_mismatch():
    found = codes_of("indices should be either on cpu or on the same device as the indexed tensor (cuda:1)")
    assert "DV101" in [code.code for code in found] and len(found) > 1


def test_the_nearest_page_or_none():
    assert nearest_page("You shouldn't move a model that is dispatched using accelerate hooks.").code == "DV201"
    assert nearest_page("a sentence that no page has anything of") is None
    assert nearest_page("cuda") is None


def test_the_command():
    def explain(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, "-m", "devsan", "explain", "--lang=en", *words], capture_output=True,
                              text=True, timeout=120, check=False)  # fmt: skip

    assert explain("Cannot copy out of meta tensor; no data!").stdout == all_codes()["DV112"].page()
    several = explain(f"{TWO}cuda:0 and cpu!")
    assert several.returncode == 0 and len(several.stdout.splitlines()) > 3
    assert several.stderr.startswith("devsan: this error has ")
    none = explain("No such file or directory")
    assert none.stderr == "devsan: expected an error that DevSan explains, got 'No such file or directory'\n"
    assert (none.returncode, none.stdout) == (2, "")
    assert explain("DV999").stderr == "devsan: expected a code that `devsan explain` lists, got 'DV999'\n"
