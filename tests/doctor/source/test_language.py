"""Whatever the rules say is a message that has its Chinese, and so are the parts of a sentence."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from devsan.diagnostics.messages import Message, message
from devsan.doctor.source import check
from devsan.doctor.source.places import HOST, INPUTS, Where
from devsan.doctor.source.rules.predicates import in_words, way_to
from devsan.render.language import language_named

ROOT = Path(__file__).parents[3]


class Launch:
    ranks = 4


def said() -> list[str]:
    files = [
        *sorted((Path(__file__).parent / "programs").glob("*.py")),
        *sorted((ROOT / "tests/regressions/cases").glob("*.py")),
    ]
    found = check(files, edits=False).findings + check(files, Launch(), edits=False).findings
    texts = {text: text for each in found for text in (each.title, *each.evidence, *(fix.text for fix in each.fixes))}
    return sorted(texts.values())


def test_every_text_is_a_message_that_is_said_in_chinese():
    language = language_named("zh")
    texts = said()
    assert len(texts) > 300
    assert [text for text in texts if not isinstance(text, Message) or not text.id] == []
    assert [text for text in texts if not re.search("[一-鿿]", language.text(text))] == []
    assert [text for text in texts if re.search("[一-鿿] [一-鿿]", language.text(text))] == []


@pytest.mark.parametrize(
    ("where", "english", "chinese"),
    [
        (HOST, "on the CPU", "在 CPU 上"),
        (Where("gpu"), "on cuda", "在 cuda 上"),
        (Where("gpu", 1), "on cuda:1", "在 cuda:1 上"),
        (Where("value", text="args.device"), "on `args.device`", "在 `args.device` 上"),
        (INPUTS, "on the device of the module's inputs", "在模块的输入所在的设备上"),
        (Where("part", text="layers.0"), "on the device that the device map assigns to it", "在设备映射指定的设备上"),
    ],
)
def test_places(where: Where, english: str, chinese: str):
    assert (in_words(where), language_named("zh").text(in_words(where))) == (english, chinese)


def test_places_within_sentences_are_said_in_chinese_as_well():
    where, there = in_words(HOST), in_words(Where("gpu", 1))
    title = message(
        "`{offending}` is {where} but is used with `{other}`, which is {there}",
        offending="x",
        where=where,
        other="y",
        there=there,
    )
    assert title == "`x` is on the CPU but is used with `y`, which is on cuda:1"
    assert language_named("zh").text(title) == "`x` 在 CPU 上，却要与在 cuda:1 上的 `y` 运算"  # noqa: RUF001
    moved = message("`{call}`, line {line}, moves it {where}", call="x.to(device)", line=3, where=way_to(HOST))
    assert language_named("zh").text(moved) == "第 3 行的 `x.to(device)` 把它移到 CPU 上"
