"""What is said of live models, in Chinese: numbers, and names of things within a sentence."""

from __future__ import annotations

import pytest

from devsan.diagnostics.messages import message, plural
from devsan.doctor.live.diagnosis import Diagnosis, Owner
from devsan.doctor.live.hooks import PROGRAM
from devsan.doctor.live.rules.tied_weights import _listed
from devsan.render.language import language_named


@pytest.mark.parametrize(
    ("owner", "english", "chinese"),
    [
        (Owner("Net", "DDP"), "Net is placed by DDP", "Net 由 DDP 放置"),
        (
            Owner("Net", PROGRAM, "bring", 1),
            "Net: this program: bring on 1 module",
            "Net：本程序：bring，在 1 个模块上",  # noqa: RUF001
        ),
        (
            Owner("Net", "accelerate", "AlignDevicesHook", 3, ("cuda:0", "cuda:1")),
            "Net: accelerate: AlignDevicesHook on 3 modules, for cuda:0, cuda:1",
            "Net：accelerate: AlignDevicesHook，在 3 个模块上，送往 cuda:0, cuda:1",  # noqa: RUF001
        ),
    ],
)
def test_owners(owner: Owner, english: str, chinese: str) -> None:
    found = Diagnosis(owners=[owner])
    assert found.text("en").splitlines()[0] == english
    assert found.text("zh").splitlines()[0] == chinese


def test_names_within_sentences() -> None:
    language = language_named("zh")
    names, devices = _listed(["`a.weight`", "`b.weight`"]), _listed(["cuda:0", "cuda:1"])
    tied = message("{names} are one tensor, but their modules run on {devices}", names=names, devices=devices)
    assert tied == "`a.weight` and `b.weight` are one tensor, but their modules run on cuda:0 and cuda:1"
    chinese = "`a.weight` 和 `b.weight` 是同一个张量，而它们的模块分别在 cuda:0 和 cuda:1 上运行"  # noqa: RUF001
    assert language.text(tied) == chinese
    moved = message("move the whole module: {module} to {device}", module=message("the model"), device="cuda:0")
    assert language.text(moved) == "移动整个模块：把模型移到 cuda:0"  # noqa: RUF001


@pytest.mark.parametrize(("number", "english"), [(1, "1 other module."), (2, "2 other modules.")])
def test_numbers(number: int, english: str) -> None:
    said = plural("The same applies to {n} other module.", "The same applies to {n} other modules.", number)
    assert said == f"The same applies to {english}"
    assert language_named("zh").text(said) == f"另有 {number} 个模块也是这样。"
