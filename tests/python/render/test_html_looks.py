"""How the pages of runs and sweeps look in headless Chromium, in every state, wide and narrow, light and dark."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pages import documents, states
from pages.chromium import Chromium
from pages.contrast import pale_texts
from pages.documents import Document

from devsan.render.html import render
from devsan.render.html import sweep as html_sweep

WIDTHS = (1400, 500)


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    files = {}
    for language in ("en", "zh"):
        for name, html in states.pages(language).items():
            file = files[f"{name} {language}"] = folder / f"{name} {language}.html"
            file.write_text(html, encoding="utf-8")
    return files


def open_all(browser: Chromium) -> None:
    browser.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")


def boxes(browser: Chromium, selector: str) -> list[dict[str, float]]:
    """Returns the boxes of what is drawn of ``selector``, one for each line that it takes."""
    found: list[dict[str, float]] = browser.evaluate(
        f"[...document.querySelectorAll({json.dumps(selector)})].filter(each => each.checkVisibility())"
        ".flatMap(each => [...each.getClientRects()].map(box => box.toJSON()))"
    )
    return found


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.long
def test_no_state_is_wider_than_the_window(browser: Chromium, pages: dict[str, Path], width: int) -> None:
    for name, file in pages.items():
        browser.open(file, width)
        for opened in (False, True):
            if opened:
                open_all(browser)
            assert browser.evaluate("document.documentElement.scrollWidth") <= width, (name, opened)
            scrolled = browser.evaluate(
                "[...document.querySelectorAll('.source, .source code, .tree, .verdict')]"
                ".filter(each => each.scrollWidth > each.clientWidth).map(each => each.innerText)"
            )
            assert scrolled == [], (name, opened)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.long
def test_every_text_has_contrast(browser: Chromium, pages: dict[str, Path], scheme: str) -> None:
    for name, file in pages.items():
        browser.open(file, 1400, prefers_color_scheme=scheme)
        open_all(browser)
        assert pale_texts(browser) == [], name


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("state", ["failed", "long", "endless", "sweep"])
def test_the_wrong_operand_is_in_sight(browser: Chromium, pages: dict[str, Path], state: str, width: int) -> None:
    browser.open(pages[f"{state} en"], width)
    wrong = boxes(browser, "pre .mark.offending")
    assert wrong
    assert all(0 < box["left"] < box["right"] <= width for box in wrong)
    assert all(0 < box["left"] < box["right"] <= width for box in boxes(browser, "pre .said, pre .lead:not(.gap)"))


def words_below(browser: Chromium) -> Any:
    """Returns of the first words below a line where they begin, where their piece of source does, and what names it."""
    return browser.evaluate("""(() => {
        const words = document.querySelector("#operands .words");
        const lead = words.querySelector(".lead[data-of]");
        const mark = words.parentElement.querySelector(".offending").getClientRects()[0];
        return {
            below: Math.abs(lead.getBoundingClientRect().left - mark.left) < 1,
            gap: words.querySelector(".gap").getBoundingClientRect().width,
            named: parseFloat(getComputedStyle(lead, "::after").width),
        };
    })()""")


def test_words_stand_below_their_column_where_the_line_has_room(browser: Chromium, pages: dict[str, Path]) -> None:
    browser.open(pages["failed en"], 1400)
    wide = words_below(browser)
    assert wide["below"] and wide["gap"] > 50 and wide["named"] == 0


@pytest.mark.parametrize(("state", "width"), [("failed", 400), ("long", 500), ("endless", 1400)])
def test_words_name_their_piece_where_the_line_is_broken(
    browser: Chromium, pages: dict[str, Path], state: str, width: int
) -> None:
    browser.open(pages[f"{state} en"], width)
    broken = words_below(browser)
    assert broken["gap"] == 0 and broken["named"] > 20


@pytest.mark.parametrize("width", WIDTHS)
def test_the_verdict_has_the_fix_with_its_diff(browser: Chromium, pages: dict[str, Path], width: int) -> None:
    browser.open(pages["failed en"], width)
    order = [".verdict h1", ".verdict .sentence", ".verdict .answer", ".verdict .removed", ".verdict .added .changed",
             ".head .facts", "#operands", "#cause"]  # fmt: skip
    tops = [boxes(browser, selector)[0]["top"] for selector in order]
    assert tops == sorted(tops)
    assert boxes(browser, ".verdict .added")[0]["bottom"] < 900  # in the first screen
    assert len(boxes(browser, ".diff")) == 1


@pytest.mark.parametrize("width", WIDTHS)
def test_bars_of_the_tree_stand_beside_the_names(browser: Chromium, pages: dict[str, Path], width: int) -> None:
    for state in ("failed", "eight GPUs"):
        browser.open(pages[f"{state} en"], width)
        for opened in (False, True):
            if opened:
                open_all(browser)
            rows = browser.evaluate("""
                [...document.querySelectorAll(".tree .name")].filter(each => each.checkVisibility()).map(name => {
                    const range = document.createRange();
                    range.selectNodeContents(name);
                    return [range.getBoundingClientRect().right,
                            name.parentElement.querySelector(".shares").getBoundingClientRect().left];
                })""")
            assert len(rows) > 3
            assert len({round(bar) for _, bar in rows}) == 1
            assert 0 <= rows[0][1] - max(name for name, _ in rows) < 150


def test_bars_of_the_tree_are_as_long_as_bytes_say(browser: Chromium, tmp_path: Path) -> None:
    modules = [documents.module("")] + [
        documents.module(name, device, size << 20)
        for name, device, size in (("large", "cuda:0", 300), ("small", "cuda:1", 100))
    ]
    (page := tmp_path / "page.html").write_text(
        render([documents.run(models=[documents.model(modules=modules, device_map=[])])]), encoding="utf-8"
    )
    browser.open(page, 1400)
    whole, root_large, root_small, large, small = (
        box["width"] for box in (*boxes(browser, ".tree .shares")[:1], *boxes(browser, ".tree .share"))
    )
    assert whole > 200
    assert [round(each / whole, 2) for each in (root_large, root_small, large, small)] == [0.75, 0.25, 0.75, 0.25]


def test_a_full_gpu_is_told_at_the_head_as_it_was_when_it_was_full(browser: Chromium, pages: dict[str, Path]) -> None:
    browser.open(pages["out of memory en"], 1400)
    curve, facts = boxes(browser, ".head .chart .plot")[0], boxes(browser, ".head .facts")[0]
    assert curve["bottom"] < min(900, facts["top"])
    holders = "[...document.querySelectorAll('.holders')].map(each => each.closest('section').id || 'head')"
    assert browser.evaluate(holders) == ["head", "memory", "memory"]  # the peaks of both GPUs are below
    captions = "[...document.querySelectorAll('.holders caption')].map(each => each.innerText)"
    first, *others = browser.evaluate(captions)
    assert first.startswith("When memory ran out, ") and all(each.startswith("At the peak, ") for each in others)


def test_the_head_of_a_job_has_the_verdict_then_its_ranks(browser: Chromium, pages: dict[str, Path]) -> None:
    for width in WIDTHS:
        browser.open(pages["ranks en"], width)
        order = [".verdict h1", ".verdict .diff", ".strip .cells .cause", ".strip ul .cause", ".facts", "#operands"]
        tops = [boxes(browser, selector)[0]["top"] for selector in order]
        assert tops == sorted(tops)
        assert boxes(browser, ".strip .cells")[0]["bottom"] < 900


def test_the_table_of_a_sweep_keeps_its_heads(browser: Chromium, tmp_path: Path) -> None:
    sweep = states.swept()
    cells = tuple(
        replace(each, name=f"{each.name} map={name}", values={**each.values, "map": name})
        for each in sweep.cells
        for name in ("auto", "balanced")
    )
    wide = replace(sweep, axes={**sweep.axes, "map": ("auto", "balanced")}, cells=cells)
    (page := tmp_path / "sweep.html").write_text(html_sweep.render(wide), encoding="utf-8")
    for width in WIDTHS:
        browser.open(page, width)
        heads, cells_below = boxes(browser, ".matrix thead th"), boxes(browser, ".matrix tbody tr:first-child > *")
        assert [each["left"] for each in heads] == [each["left"] for each in cells_below]
        assert len(heads) == 3 and heads[-1]["left"] < 400


def budget_in_key(run: Document) -> bool:
    html = render([run])
    return 'class="dashed"' in html[html.index('id="timeline"') :]


def test_the_key_names_a_budget_that_is_drawn() -> None:
    near = documents.run()
    for device in near["memory"]["devices"]:
        device.update(peak_allocated=20 << 30, peak_reserved=21 << 30)
    far = documents.run()
    for device in far["memory"]["devices"]:
        device.update(peak_allocated=1 << 30, peak_reserved=1 << 30)
    assert budget_in_key(near) and not budget_in_key(far)
