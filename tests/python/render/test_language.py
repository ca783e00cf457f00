"""The report in Chinese: which language is chosen, and that texts find their templates."""

from __future__ import annotations

# ruff: noqa: RUF001 (the punctuation of Chinese)
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from devsan.diagnostics.diagnostic import Diagnostic, Fix
from devsan.diagnostics.messages import Message, message, plural
from devsan.render import language
from devsan.render.language import Language, chosen, language_for, language_named
from devsan.render.terminal.cause_lines import cause_lines
from devsan.render.terminal.paths import Paths
from devsan.render.terminal.text import display_width, wrapped

CHINESE = re.compile("[一-鿿]")


@pytest.fixture
def locale(monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    def choose(**variables: str) -> str:
        for name in ("DEVSAN_LANG", "LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG"):
            monkeypatch.delenv(name, raising=False)
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        return chosen()

    return choose


def test_a_locale_asks_for_no_language(locale: Callable[..., str]) -> None:
    locale(LANG="zh_CN.UTF-8")
    assert language.asked() == ""
    locale(LANG="zh_CN.UTF-8", DEVSAN_LANG="en")
    assert language.asked() == "en"


def test_the_choice(locale: Callable[..., str]) -> None:
    assert locale() == "en"
    assert locale(LANG="zh_CN.UTF-8") == "zh"
    assert locale(LANG="zh_CN.UTF-8", LC_ALL="C") == "en"
    assert locale(LANG="en_US.UTF-8", DEVSAN_LANG="zh") == "zh"
    assert locale(LANG="zh_CN.UTF-8", DEVSAN_LANG="en") == "en"


def test_a_stream_without_chinese_gets_english(locale: Callable[..., str]) -> None:
    locale(LANG="zh_CN.UTF-8")
    assert language_for(io.TextIOWrapper(io.BytesIO(), encoding="utf-8"))("error") == "错误"
    assert language_for(io.TextIOWrapper(io.BytesIO(), encoding="ascii"))("error") == "error"


def test_templates_have_the_same_slots() -> None:
    groups = json.loads((Path(language.__file__).with_name("chinese.json")).read_text(encoding="utf-8"))
    entries = [entry for group in groups.values() for entry in group.items()]
    assert len(entries) > 250
    for english, chinese in entries:
        assert set(re.findall(r"\{(\w+)\}", english)) == set(re.findall(r"\{(\w+)\}", chinese)), english


def test_a_text_that_is_no_message_is_said_as_it_is() -> None:
    """But for a phrase of the catalog: nothing looks for the template that a finished sentence was made from."""
    for name in ("en", "zh"):
        assert language_named(name).text("operands of aten::mm are on cuda:1 and cpu").startswith("operands of")
    assert language_named("zh").text("called from here") == "由此处调用"


def test_arguments_of_a_message_are_messages_or_stay_as_they_are() -> None:
    say = Language({}, {"{name} is here": "{name}在此", "{one} and {other}": "{one}和{other}"})
    assert say.text(message("{name} is here", name="mask(a and b)")) == "mask(a and b) 在此"
    both = message("{one} and {other}", one="`a`", other="`b`")
    assert say.text(message("{name} is here", name=both)) == "`a` 和 `b` 在此"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (message("{name} is here{at}", name="the host", at=""), "the host 在此"),  # a module's name
        (message("{name} is here{at}", name=message("the host"), at=""), "主机在此"),
        (message("{name} is here{at}", name="x", at=message(", at {place}", place="t.py:3")), "x 在此（t.py:3）"),
        (plural("{n} rank", "{n} ranks", 2), "2 个 rank"),
        (message("{owner}: {setting}", owner=message("the host"), setting="x = 1"), "主机：x = 1"),
        (Message("torch: the host"), "torch: the host"),
    ],
)
def test_a_message_is_said_by_its_template(text: Message, said: str) -> None:
    catalog = {
        "{name} is here{at}": "{name}在此{at}", "the host": "主机", "{n} rank": "{n}个 rank",
        "{owner}: {setting}": "{owner}：{setting}",
    }  # fmt: skip
    assert Language({", at {place}": "（{place}）"}, catalog).text(text) == said


def test_what_a_naive_fix_breaks_is_said_of_every_code() -> None:
    pytest.importorskip("torch")
    from devsan import _core

    say = language_named("zh")
    for code in (each for each in _core.codes() if each.naive_fix):
        cause = Diagnostic(title="t", code=code.code, fixes=(Fix("x", "likely"),), naive_fix=code.naive_fix)
        lines = cause_lines(cause, say, Paths(cause), 80, 80)
        text = "".join(piece for line in lines for piece, _ in line)
        assert CHINESE.search(text.partition("`.to(device)`：")[2].partition("详情")[0]), code.code


def test_chinese_is_broken_between_its_characters() -> None:
    text = "在循环里每次调用都是一次同步拷贝；数据应该在入口处传输一次，`x.to(device)` 也一样。" * 2
    lines = wrapped(text, 6, width=40)
    assert all(display_width(line) <= 34 for line in lines)
    assert not any(line.startswith(tuple("，。；）")) for line in lines)
    assert wrapped("每块 GPU 的显存（24GiB）", 0, width=18) == ["每块 GPU 的显存", "（24GiB）"]
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    assert "`x.to(device)`" in " ".join(lines)


def test_the_whole_report(
    gpus: None, run: Callable[[str], str], monkeypatch: pytest.MonkeyPatch, golden: Callable[[str, str], None]
) -> None:
    monkeypatch.setenv("DEVSAN_LANG", "zh")
    report = run("loss")
    assert "= torch: Expected all tensors to be on the same device, but got target is on cuda:1" in report
    for line in report.splitlines():  # headings and prose; source, places and code are what they are
        if re.match(r"(错误|说明|建议)", line):
            assert CHINESE.search(line.partition(":")[2]), line
    golden("loss.zh", report)


@pytest.mark.parametrize(
    "name", ["device_map", "discarded", "fresh", "generator", "meta", "numpy_array", "unregistered"]
)
def test_a_finding_needs_no_matching_of_english(
    name: str, gpus: None, run: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEVSAN_LANG", "zh")
    said = [line for line in run(name).splitlines() if re.match(r" *(说明|建议|或者)", line)]
    assert said
    assert [line for line in said if not CHINESE.search(line.partition(":")[2])] == []


def test_messages_outlive_a_run_file(failed: Any) -> None:
    for finding in failed.run["findings"]:
        sentences = [finding["title"], *finding["evidence"], *(fix["text"] for fix in finding["fixes"])]
        assert [each for each in sentences if not getattr(each, "id", "")] == []
