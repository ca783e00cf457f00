"""Seed 004: a model loaded before fit, with hooks for GPU 0 in every rank; Lightning moves the weights alone."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("transformers")
pytest.importorskip("accelerate")
pytest.importorskip("lightning")

NAME = "lightning_wrapper.py"
SENTENCE = (
    "RuntimeError: Expected all tensors to be on the same device, but got index is on cuda:0, different from other "
    "tensors on cuda:1 (when checking argument in method wrapper_CUDA__index_select)"
)

# Lightning looks every 5 s whether a rank has died, and kills the first one, which may have told nothing by then.
KILLED = "Forcefully terminating all other processes"


def fitted(out: str) -> list[str]:
    return sorted(re.findall(r"fit ok, rank (\d)", out))


def dies_on_rank_1(job) -> None:
    assert job.code != 0
    assert fitted(job.out) == []
    assert f"[rank1]: {SENTENCE}" in job.err  # the second process; the first waits for its gradients
    assert f"[rank0]: {SENTENCE}" not in job.err
    found = re.findall(r"^(?:error|warning)\[DV\d+\]", job.err, re.MULTILINE)
    assert found == ["error[DV201]"], job.err[-4000:]  # that, and nothing besides, for the whole job
    assert job.prose.startswith("error[DV201]: operands of aten::index_select are on cuda:1 and cuda:0 ")
    assert (
        "rank 0 waits in all_reduce" in job.prose
        or re.search("rank 0 failed at .* because a peer rank failed", job.prose)
        or KILLED in job.err
    )
    assert "trainer.fit(Wrapper(model), data)" in job.prose  # where Lightning moved the weights
    assert 'device_map["model"] = 0' in job.prose or 'device_map[""] = 0' in job.prose  # where the hooks send the input


def test_rank_1_dies_in_the_embedding(launched):
    job = launched(NAME, gpus=2)
    dies_on_rank_1(job)
    assert 'device_map={"": int(os.environ["LOCAL_RANK"])}' in job.prose
    assert "remove_hook_from_submodules(model)" in job.prose
    assert "the hook moves the input back" in job.prose  # of the article's cure


# What the hooks do to an input is told by the failure; the first proposal is the one that people take.
@pytest.mark.long
@pytest.mark.parametrize("fix", ["rank", "hooks"])
def test_what_the_report_proposes_fits(launched, fix):
    job = launched(NAME, "--fix", fix, gpus=2)
    assert job.code == 0, job.err[-3000:]
    assert fitted(job.out) == ["0", "1"]
    assert job.report == ""


@pytest.mark.frameworks
def test_moving_the_input_as_the_article_does_does_not_help(launched):
    dies_on_rank_1(launched(NAME, "--fix", "input", gpus=2))
