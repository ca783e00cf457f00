"""No configuration makes the doctor fail: mutated ones, and texts that are none."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from devsan.diagnostics.messages import Message
from devsan.doctor.as_report import report_of
from devsan.doctor.case import Case
from devsan.doctor.check import check
from devsan.doctor.document import parse_document, read_document
from devsan.doctor.facts import nothing
from devsan.doctor.fix_validation import fixed_files
from devsan.doctor.launch import LaunchFacts
from devsan.doctor.output_formats import document as document_of
from devsan.doctor.output_formats import run_of, written
from devsan.doctor.rules.refused_setting.values import schema
from devsan.render import github, sarif
from devsan.render.language import language_named
from devsan.render.terminal.printer import lines_of
from tests.doctor.conftest import ACCELERATE, DEEPSPEED

QUICK = settings(max_examples=500, derandomize=True, deadline=None, database=None,
                 suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])  # fmt: skip

NAMES = st.sampled_from(sorted({*schema()["top"], *schema()["removed"],
                                *(name for model in schema()["models"].values() for name in model["fields"]),
                                "device", "type", "params", "lr", "warmup_num_steps", "total_num_steps", "enabled",
                                "ö"}))  # fmt: skip
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.integers(0, 5), st.floats(), st.text(max_size=8),
    st.sampled_from(["auto", "cpu", "nvme", "none", "AdamW", "WarmupLR", "1e400", "9" * 40, "\u0000", "\ud7ff"]),
)  # fmt: skip
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(NAMES, inner, max_size=4)),
    max_leaves=8,
)
FSDP = {"fsdp_transformer_layer_cls_to_wrap": ["GPT2Block"], "version": 2, "reshard_after_forward": True,
        "state_dict_type": "SHARDED_STATE_DICT", "activation_checkpointing": True}  # fmt: skip
TEXTS = [("deepspeed", json.dumps(DEEPSPEED, indent=1), "json"), ("accelerate", ACCELERATE, "yaml"),
         ("fsdp", json.dumps(FSDP, indent=1), "json")]  # fmt: skip


def paths(node: Any, before: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    found = [before] if before else []
    if isinstance(node, dict):
        for name, value in node.items():
            found += paths(value, (*before, name))
    return found


@st.composite
def mutated(draw: st.DrawFn) -> Any:
    made = json.loads(json.dumps(DEEPSPEED))
    for _ in range(draw(st.integers(1, 5))):
        *names, last = draw(st.sampled_from(paths(made) or [("x",)]))
        node = made
        for name in names:
            node = node[name] if isinstance(node, dict) else {}
        if not isinstance(node, dict):
            continue
        how = draw(st.sampled_from(["value", "remove", "rename", "add"]))
        if how == "value":
            node[last] = draw(VALUES)
        elif how == "remove":
            node.pop(last, None)
        elif how == "rename":
            node[draw(NAMES)] = node.pop(last, None)
        else:
            node[draw(NAMES)] = draw(VALUES)
    return made


def checked_whole(file: str, kind: str) -> None:
    case = Case(nothing({}), LaunchFacts(4, "torchrun", command=("torchrun",)), (read_document(file, kind),))  # type: ignore[arg-type]
    found = check(case)  # without a handler: a rule that fails raises
    for finding in found:
        assert all(
            isinstance(text, Message)
            for text in (finding.title, *finding.evidence, *(fix.text for fix in finding.fixes))
        )
    for language in ("en", "zh"):
        for finding in found:
            list(lines_of(report_of(finding), language_named(language)))
    # Each fix is checked anew: a third of the cases says enough.
    for each in fixed_files(case, found, True)[0] if len(found) % 3 == 0 else ():
        assert parse_document(file, each.after, file.endswith(".yaml")).root is not None
    made = document_of(case.facts, case.launch, found, [], language_named("en"))
    assert "installed" not in made["facts"]
    json.loads(written(made))
    json.loads(sarif.render([run_of(made, ["devsan"])]))
    assert github.render([run_of(made, ["devsan"])]).count("::error") == sum(each.severity == "error" for each in found)


@pytest.mark.long
@QUICK
@given(mutated())
def test_mutated_deepspeed_configurations(tmp_path_factory, content):
    file = tmp_path_factory.getbasetemp() / "mutated.json"
    file.write_text(json.dumps(content), encoding="utf-8", errors="surrogatepass")
    checked_whole(str(file), "deepspeed")


@settings(QUICK, max_examples=150)
@given(st.data())
def test_cut_and_spliced_texts(tmp_path_factory, data):
    kind, text, suffix = data.draw(st.sampled_from(TEXTS))
    for _ in range(data.draw(st.integers(1, 4))):
        at, end = sorted(data.draw(st.tuples(st.integers(0, len(text)), st.integers(0, len(text)))))
        text = text[:at] + data.draw(st.text(max_size=5)) + text[min(end, at + 20) :]
    file = tmp_path_factory.getbasetemp() / f"spliced.{suffix}"
    file.write_bytes(text.encode("utf-8", "surrogatepass"))
    checked_whole(str(file), kind)
