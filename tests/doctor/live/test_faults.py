"""Each fault that can be in a live model is found in a set-up that worked, with its fix and its line."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from live_faults import FAULTS

from devsan.diagnostics.messages import Message
from devsan.render.language import language_named


@pytest.mark.parametrize("name", FAULTS)
def test_is_found_with_fix_and_line(name: str, check: Callable[..., Any]) -> None:
    fault = FAULTS[name]
    for library in fault.needs:
        pytest.importorskip(library, reason=f"the fault is one of {library}, which is not installed")
    checked = check(fault.text, fault.gpus)
    assert checked.codes == [fault.code], checked.said
    [finding] = checked.found
    assert fault.title in finding.title
    assert fault.fix in finding.fixes[0].text
    assert finding.evidence
    for text in (finding.title, *finding.evidence, *(fix.text for fix in finding.fixes)):
        assert isinstance(text, Message) and text.id
        chinese = language_named("zh").text(text)
        assert re.search("[\u4e00-\u9fff]", chinese), text
        assert not re.search("[\u4e00-\u9fff] [\u4e00-\u9fff]", chinese), chinese
    assert (finding.place.line if finding.place else 0) == checked.here, checked.said
    assert [site.line for site in finding.see_also] == [checked.also] * bool(checked.also), checked.said


def test_every_code_is_among_them() -> None:
    assert {fault.code for fault in FAULTS.values()} == {
        "DV105", "DV110", "DV112", "DV201", "DV202", "DV204", "DV430", "DV431", "DV432", "DV433"
    }  # fmt: skip
