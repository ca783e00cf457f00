"""How seldom the doctor is wrong: the models of the installed transformers are right, but for what is listed."""

from __future__ import annotations

import ast
import importlib.util
import random
from pathlib import Path
from typing import Any

import pytest

from devsan.diagnostics.diagnostic import Diagnostic
from devsan.diagnostics.torch_names import FACTORIES
from devsan.doctor.source import CheckResult, check
from devsan.doctor.source.files import check_source
from devsan.doctor.source.source_file import SourceFile

try:
    import tomllib
except ImportError:  # Python 3.10
    import tomli as tomllib

LISTED = tomllib.loads((Path(__file__).parent / "true_alarms.toml").read_text(encoding="utf-8"))["alarm"]


def files_of(package: str, pattern: str) -> list[Path]:
    found = importlib.util.find_spec(package)
    if found is None or not found.submodule_search_locations:
        pytest.skip(f"{package} is not installed: its sources are what is checked")
    return sorted(Path(found.submodule_search_locations[0]).glob(pattern))


def is_listed(finding: Diagnostic, alarm: dict[str, Any]) -> bool:
    assert finding.place is not None
    return (
        finding.code == alarm["code"] and finding.title.startswith(alarm["text"])
        and finding.place.file.endswith(alarm["file"])
    )  # fmt: skip


def alarms(result: CheckResult) -> list[str]:
    return [
        f"{finding.code} {finding.place}: {finding.title}" for finding in result.findings
        if not any(is_listed(finding, alarm) for alarm in LISTED)
    ]  # fmt: skip


def test_sixty_models_of_transformers_have_no_false_alarm():
    files = files_of("transformers", "models/*/modeling_*.py")
    sample = files[:: max(len(files) // 60, 1)]
    result = check(sample)
    assert result.files > 40 and result.notes == []
    assert alarms(result) == []


@pytest.mark.frameworks
def test_all_models_of_transformers_have_at_most_one_false_alarm_in_200():
    files = files_of("transformers", "models/*/modeling_*.py")
    result = check(files)
    found = alarms(result)
    print(f"{result.files} files, {len(result.findings)} findings, not listed: {found}")
    assert len(found) * 200 <= result.files, found
    for alarm in LISTED:
        assert any(is_listed(finding, alarm) for finding in result.findings), f"{alarm['file']} is clean: unlist it"


@pytest.mark.frameworks
@pytest.mark.parametrize("package", ["accelerate", "peft", "diffusers", "lightning", "deepspeed"])
def test_libraries_have_at_most_one_false_alarm_in_200(package: str):
    files = files_of(package, "**/*.py")
    result = check(files)
    found = alarms(result)
    print(f"{result.files} files, not listed: {found}; {result.notes}")
    assert len(found) * 200 <= result.files, found


def without_device(path: Path) -> tuple[str, str] | None:
    """The text of a file in which one factory of a forward has lost its device, and the factory; None without one."""
    text = path.read_text(encoding="utf-8")
    calls = [
        (call, keyword)
        for definition in ast.walk(ast.parse(text))
        if isinstance(definition, ast.FunctionDef) and definition.name == "forward"
        for call in ast.walk(definition)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in FACTORIES
        for keyword in call.keywords
        if keyword.arg == "device" and keyword.value.lineno == keyword.value.end_lineno
    ]
    if not calls:
        return None
    call, keyword = random.Random(path.name).choice(calls)
    lines = text.splitlines(keepends=True)
    line, node = lines[keyword.value.lineno - 1], keyword.value
    lines[node.lineno - 1] = line[: node.col_offset] + "None" + line[node.end_col_offset :]
    return "".join(lines), ast.unparse(call)


@pytest.mark.frameworks
def test_most_factories_that_lose_their_device_are_found():
    files = files_of("transformers", "models/*/modeling_*.py")[::5]
    found, missed = 0, []
    for path in files:
        mutant = without_device(path)
        if mutant is not None:
            result = check_source(SourceFile(str(path), mutant[0]), edits=False)
            found += bool(result.findings)
            missed += [] if result.findings else [f"{path.name}: {mutant[1]}"]
    print(f"{found} of {found + len(missed)} found; not found:", *missed, sep="\n  ")
    # Indices, 0-dim tensors and what no operation of the file joins are no faults: about a quarter.
    assert found >= 0.55 * (found + len(missed))
