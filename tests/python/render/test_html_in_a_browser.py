"""The HTML report in headless Chromium: drawn whole, from disk, without the network, at any width."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from pages import documents
from pages.chromium import Chromium

from devsan.render.html import render

Save = Callable[..., Path]

DARK = {"name": "prefers-color-scheme", "value": "dark"}

PROGRAM = '''
import torch
from torch.nn import functional as F


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(16, 8).to("cuda:0")
        self.head = torch.nn.Linear(8, 16).to("cuda:1")

    def forward(self, ids):
        return self.head(self.embed(ids).to("cuda:1"))


net = Net()
ids = torch.tensor([1, 2], device="cuda:0")
for _ in range(5):
    logits = net(ids)
labels = torch.zeros(2, dtype=torch.long, device="cuda:0")
F.cross_entropy(logits, labels)
'''  # fmt: skip


@pytest.fixture(scope="module")
def real_report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a program that failed, by way of the command line."""
    folder = tmp_path_factory.mktemp("run")
    (folder / "train.py").write_text(PROGRAM, encoding="utf-8")
    devsan = [sys.executable, "-m", "devsan"]
    ran = subprocess.run([*devsan, "run", "--gpus", "2", "-o", "run.dvs", "train.py"], cwd=folder, capture_output=True)
    assert ran.returncode == 1, ran.stderr.decode()
    made = subprocess.run([*devsan, "report", "run.dvs", "--format", "html", "-o", "report.html"], cwd=folder)
    assert made.returncode == 0
    return folder / "report.html"


@pytest.fixture
def saved(tmp_path: Path) -> Save:
    def save(*runs: documents.Document) -> Path:
        file = tmp_path / "report.html"
        file.write_text(render(runs), encoding="utf-8")
        return file

    return save


BOXES = """[...document.querySelectorAll(SELECTOR)].map(each => {
    const box = each.getBoundingClientRect();
    return box.width > 0 && box.height > 0;
})"""


def drawn(browser: Chromium, selector: str) -> list[bool]:
    found: list[bool] = browser.evaluate(BOXES.replace("SELECTOR", json.dumps(selector)))
    return found


def test_the_report_of_a_real_failure_is_drawn(browser: Chromium, real_report: Path) -> None:
    browser.requests.clear()
    browser.errors.clear()
    browser.open(real_report)
    text = " ".join(browser.evaluate("document.body.innerText").split())
    assert re.search(r"train\.py:21:1 21 ?F\.cross_entropy\(logits, labels\) │ └ cuda:0 int64\[2\]", text)
    operands = browser.evaluate("[...document.querySelectorAll('.card h3')].map(each => each.textContent)")
    assert sorted(operands) == ["labels", "logits"]
    assert len(re.findall(r"placed on cuda:\d.{0,30} by this program train\.py:", text)) == 2
    assert 'labels = torch.zeros(2, dtype=torch.long, device="cuda:0")' in text
    for selector, least in ((".tree summary", 1), (".tree .leaf", 2), (".share", 4), (".lane rect", 3),
                            ("path.used", 2), (".legend .device", 2)):  # fmt: skip
        boxes = drawn(browser, selector)
        assert len(boxes) >= least and any(boxes), selector
    assert "cuda:0 → cuda:1" in text.replace("\n", " ")
    assert browser.errors == []
    assert browser.requests == [real_report.resolve().as_uri()]


@pytest.mark.parametrize("width", [400, 500, 768, 1280, 1400])
def test_nothing_is_wider_than_the_window(
    browser: Chromium, real_report: Path, saved: Save, tmp_path: Path, width: int
) -> None:
    long = documents.finding(
        title="word" * 60, sentence="x" * 500, evidence=["`" + "y" * 300 + "`"], naive_fix="z" * 300,
        name="n" * 90, also_at=[{"frame": documents.frame("f" * 200 + ".py", 1, "s" * 300), "op": "o" * 200,
                                 "sentence": "", "count": 1}],
    )  # fmt: skip
    wide = saved(documents.run(gpus=8, findings=[long, documents.finding(2)], models=[documents.model(8, 8)]))
    (many := tmp_path / "many").mkdir()
    ranks = [documents.run(rank=rank, world_size=64, job=documents.job(64, killed=9)) for rank in (0, 9)]
    (many / "report.html").write_text(render(ranks), encoding="utf-8")
    for file in (real_report, wide, many / "report.html"):
        browser.open(file, width)
        browser.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
        assert browser.evaluate("innerWidth") == width
        for language in ("zh", "en"):
            browser.evaluate(f"document.querySelector('[data-language={language}]').click()")
            assert browser.evaluate("document.documentElement.scrollWidth") <= width


def test_hostile_text_does_nothing_in_a_browser(browser: Chromium, saved: Save) -> None:
    run = documents.run(process={**documents.run()["process"], "command": [documents.HOSTILE]})
    finding = run["findings"][0]
    finding["title"] = finding["sentence"] = finding["operands"][0]["name"] = documents.HOSTILE
    finding["sites"][0]["lines"][0]["text"] = finding["fixes"][0]["edits"][0]["after"] = documents.HOSTILE
    finding["evidence"] = [documents.HOSTILE]
    run["models"][0]["modules"][1]["type"] = run["places"][0]["event"]["site"]["file"] = documents.HOSTILE
    browser.errors.clear()
    browser.open(saved(run))
    assert browser.evaluate("window.hacked === undefined")
    assert browser.errors == []


def test_light_and_dark(browser: Chromium, real_report: Path) -> None:
    def brightness() -> float:
        color = browser.evaluate("getComputedStyle(document.body).backgroundColor")
        return sum(map(int, re.findall(r"\d+", color)[:3])) / 3

    browser.open(real_report, prefers_color_scheme="light")
    light = brightness()
    browser.open(real_report, prefers_color_scheme="dark")
    assert brightness() < 60 < 200 < light
    browser.call("Emulation.setEmulatedMedia", media="print", features=[DARK])
    assert brightness() == light
    browser.call("Emulation.setEmulatedMedia", media="")


def test_the_language_can_be_switched(browser: Chromium, saved: Save) -> None:
    browser.open(saved(documents.run()))
    assert "Who placed the operands" in browser.evaluate("document.body.innerText")
    browser.evaluate("document.querySelector('[data-language=zh]').click()")
    text = browser.evaluate("document.body.innerText")
    assert "各操作数由谁放置" in text and "Who placed the operands" not in text
    assert browser.evaluate("document.querySelector('.tree-tools input').placeholder") == "搜索模块"
    assert browser.evaluate("document.documentElement.lang") == "zh-Hans"


def test_the_page_opens_in_the_language_that_was_asked_for(browser: Chromium, tmp_path: Path) -> None:
    (page := tmp_path / "report.html").write_text(render([documents.run()], "zh"), encoding="utf-8")
    try:
        for script_is_off in (False, True):
            browser.call("Emulation.setScriptExecutionDisabled", value=script_is_off)
            browser.open(page)
            text = browser.evaluate("document.body.innerText")
            assert "各操作数由谁放置" in text and "Who placed the operands" not in text
            assert browser.evaluate("document.documentElement.lang") == "zh-Hans"
    finally:
        browser.call("Emulation.setScriptExecutionDisabled", value=False)


def test_a_finding_is_chosen_by_keyboard(browser: Chromium, saved: Save) -> None:
    other = documents.finding(2, title="another one", code="DV101")
    browser.open(saved(documents.run(findings=[documents.finding(), other])))
    shown = "[...document.querySelectorAll('h1')].filter(each => each.offsetHeight).map(each => each.innerText)"
    assert browser.evaluate(shown) == ["labels stayed on cuda:0, the loss is computed on cuda:1"]
    browser.evaluate("document.querySelectorAll('[data-select]')[1].focus()")
    browser.press("Enter")
    assert browser.evaluate("new Promise(done => setTimeout(() => done(location.hash), 100))") == "#finding-2"
    assert browser.evaluate(shown) == ["another one"]
    assert "About DV101" in browser.evaluate("document.body.innerText")


def test_bars_of_the_timeline_are_read_by_keyboard(browser: Chromium, saved: Save) -> None:
    browser.open(saved(documents.run()))
    browser.evaluate("document.querySelectorAll('.lane svg')[1].focus()")
    browser.press("ArrowRight")
    browser.press("ArrowRight")
    said = browser.evaluate("document.querySelector('.readout').textContent")
    assert re.match(r"cuda:0 → cuda:1  [\d.]+ m?s: 1 ., 16\sB, train.py:47", said), said


def test_modules_are_searched_and_opened(browser: Chromium, saved: Save) -> None:
    browser.open(saved(documents.run()))
    opened = "document.querySelectorAll('.tree details[open]').length"
    before = browser.evaluate(opened)
    search = "document.querySelector('.tree-tools input')"
    browser.evaluate(f"{search}.value = 'nothing'; {search}.dispatchEvent(new Event('input'))")
    assert browser.evaluate("document.querySelectorAll('.tree .found').length") == 0
    browser.evaluate(f"{search}.value = 'q_proj'; {search}.dispatchEvent(new Event('input'))")
    found = browser.evaluate("[...document.querySelectorAll('.tree .found')].map(each => each.offsetHeight > 0)")
    assert found == [True, True]  # one for each GPU's layers
    browser.evaluate(f"{search}.value = ''; {search}.dispatchEvent(new Event('input'))")
    assert browser.evaluate(opened) == before
    browser.evaluate("document.querySelector('.tree-tools button').click()")
    assert browser.evaluate(opened) == browser.evaluate("document.querySelectorAll('.tree details').length") > before


def test_the_bar_says_which_part_is_read(browser: Chromium, saved: Save) -> None:
    browser.open(saved(documents.run()))
    current = "[...document.querySelectorAll('nav [aria-current]')].map(each => each.hash)"
    browser.evaluate("document.querySelector('#timeline').scrollIntoView()")
    wait = f"new Promise(done => setTimeout(() => done({current}), 200))"
    assert browser.evaluate(wait) == ["#timeline"]
    browser.evaluate("window.scrollTo(0, document.body.scrollHeight)")
    assert browser.evaluate(wait) == ["#end"]


def test_copying_says_that_it_copied(browser: Chromium, saved: Save) -> None:
    browser.open(saved(documents.run()))
    browser.evaluate("document.querySelector('button.copy').click()")
    told = "new Promise(done => setTimeout(() => done(document.querySelector('button.copy').innerText), 300))"
    assert browser.evaluate(told) == "Copied"


def test_reads_without_javascript_and_in_print(browser: Chromium, saved: Save) -> None:
    file = saved(documents.run(findings=[documents.finding(), documents.finding(2, title="another one")]))
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open(file)
        browser.call("Emulation.setScriptExecutionDisabled", value=False)
        text = browser.evaluate("document.body.innerText")
        assert "another one" in text and "Who placed the operands" in text and "各操作数" not in text
    finally:
        browser.call("Emulation.setScriptExecutionDisabled", value=False)
    browser.open(file)
    browser.call("Emulation.setEmulatedMedia", media="print")
    assert "another one" in browser.evaluate("[...document.querySelectorAll('h1')].filter(e => e.offsetHeight)"
                                             ".map(e => e.textContent).join()")  # fmt: skip
    browser.call("Emulation.setEmulatedMedia", media="")
