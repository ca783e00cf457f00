"""ProvenanceReader of living tensors, and the checks by hand."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
import torch

import devsan


@pytest.fixture(autouse=True)
def gpus() -> Iterator[None]:
    with devsan.emulate(gpus=2):
        yield


def provenance(tensor: torch.Tensor) -> list[tuple[str, str, str]]:
    from devsan.introspect.provenance.reader import ProvenanceReader

    return [(event.kind.name, str(event.device), event.owner.name) for event in ProvenanceReader().of(tensor)]


def test_who_made_it_and_where() -> None:
    from devsan.introspect.provenance.reader import ProvenanceReader

    tensor = torch.zeros(3, device="cuda:1")
    [event] = ProvenanceReader().of(tensor)
    assert (event.kind.name, str(event.device), event.op, event.device_text) == (
        "MADE",
        "cuda:1",
        "aten::zeros",
        '"cuda:1"',
    )
    assert event.site.function.endswith("test_who_made_it_and_where")
    assert event.site.source == 'tensor = torch.zeros(3, device="cuda:1")'
    assert event.site.span.column == 14


def test_a_move_leads_back_to_what_was_moved() -> None:
    found = provenance(torch.ones(3, device="cuda:0").to("cuda:1"))
    assert found[:2] == [("MOVED", "cuda:1", "program"), ("MADE", "cuda:0", "program")]


def test_what_is_computed_follows_its_operand() -> None:
    found = provenance(torch.ones(3, device="cuda:1") * 2)
    assert [kind for kind, _, _ in found] == ["COMPUTED", "MADE"]


def test_the_same_code_in_two_files_is_two_places() -> None:
    from devsan.introspect.provenance.reader import ProvenanceReader

    sites = []
    for name in ("first.py", "second.py"):
        names: dict[str, torch.Tensor] = {}
        exec(compile('import torch\nmade = torch.zeros(3, device="cuda:1")\n', name, "exec"), names)
        [event] = ProvenanceReader().of(names["made"])
        sites.append(event.stack[0].file)
    assert sites == ["first.py", "second.py"]


def test_where_prints_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    assert devsan.where(torch.zeros(2, device="cuda:1")) is None
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines()[:2] == ["float32[2] on cuda:1", "  made on cuda:1 by this program, aten::zeros"]
    devsan.where(3)
    assert "expected a tensor, got int" in capsys.readouterr().err


def test_check_names_both_and_raises() -> None:
    here, there = torch.zeros(2, device="cuda:0"), torch.zeros(2, device="cuda:1")
    with pytest.raises(devsan.DeviceMismatch) as caught:
        devsan.check(here, other=[there])
    text = str(caught.value)
    assert text.startswith("expected all tensors that are checked here on one device, got cuda:0, cuda:1")
    assert isinstance(caught.value, RuntimeError)
    for word in ("here", "there", "test_reader.py"):
        assert word in text


def test_check_lets_pass_what_torch_lets_pass() -> None:
    tensor = torch.zeros(2, device="cuda:1")
    devsan.check(tensor, torch.tensor(1.0), {"a": (tensor, 3)}, weight=None)
    devsan.check()
    devsan.check_tensors_device(tensor, tensor)


def test_expect_needs_a_device() -> None:
    with pytest.raises(ValueError, match="expected a device as torch spells it, got 'gpu'"):
        devsan.expect("gpu")


def test_expect_stops_what_is_made_elsewhere() -> None:
    with devsan.expect("cuda:1"):
        kept = torch.zeros(2, device="cuda:1") + torch.tensor(1.0)
    told = "expected tensors on cuda:1 here, but zeros created a tensor on cpu"
    with pytest.raises(devsan.DeviceMismatch, match=told), devsan.expect("cuda:1"):
        torch.zeros(2)

    @devsan.expect("cuda")
    def inner(value: torch.Tensor) -> torch.Tensor:
        return value

    assert inner(kept) is kept
    with pytest.raises(devsan.DeviceMismatch, match="inner returned a tensor on cpu"):
        inner(torch.zeros(2))


def test_expect_tells_which_tensor_is_elsewhere_and_who_placed_it() -> None:
    hidden = torch.ones(3, device="cuda:0")
    with pytest.raises(devsan.DeviceMismatch) as raised, devsan.expect("cuda:1"):
        hidden * 2
    told = str(raised.value)
    assert "error[DV101]: a tensor is on cuda:0, expected on cuda:1" in told
    assert "note: `hidden` was put on cuda:0" in told
    assert "help: put `hidden` on cuda:1" in told


def test_findings_are_kept() -> None:
    from devsan.introspect.explain import explain
    from devsan.introspect.frames.chain import failure_of

    before = len(devsan.findings())
    with pytest.raises(RuntimeError) as caught:
        torch.zeros(2, device="cuda:1") + torch.ones(2)
    failure = failure_of(caught.value, caught.tb)
    assert failure is not None
    explanation = explain(failure)
    assert explanation is not None and explanation.findings
    assert len(devsan.findings()) == before + 1
    assert re.search(r"<devsan finding DV\d+: .*, at .*test_reader.py:\d+>", repr(devsan.findings()[-1]))


def test_an_error_that_the_program_catches_is_a_finding_from_the_call_that_sees_it_on() -> None:
    before = len(devsan.findings())
    try:
        torch.zeros(2, device="cuda:1").mul(torch.ones(2))
    except RuntimeError:
        assert len(devsan.findings()) == before + 1
        assert devsan.explain() == devsan.explain() != ""
        assert [each.sites[0].count for each in devsan.findings()[before:]] == [1]  # not one more for each call
    assert len(devsan.findings()) == before + 1


def test_a_refusal_keeps_the_trails_of_what_no_variable_holds() -> None:
    from devsan import _core
    from devsan.introspect.provenance.reader import ProvenanceReader

    held = torch.zeros(2, 3, device="cuda:1")
    with pytest.raises(RuntimeError, match="cuda:1 and cuda:0"):
        held[0] * 2 + torch.ones(3, device="cuda:0")
    first, second = _core.last_refusal().operands
    provenance = [ProvenanceReader().from_origin(*operand.origin) for operand in (first, second)]
    assert [(event.kind.name, event.op, str(event.device)) for event in provenance[0]] == [
        ("COMPUTED", "aten::mul.Tensor", "cuda:1"),
        ("MADE", "aten::zeros", "cuda:1"),
    ]
    assert [(event.kind.name, event.op, str(event.device)) for event in provenance[1]] == [
        ("MADE", "aten::ones", "cuda:0")
    ]


class _Block(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Linear(2, 2)
        self.stage = torch.nn.ModuleList([torch.nn.Linear(2, 2)])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        devsan.check(x, block=self.stage)
        return x


def test_a_check_of_a_module_names_its_tensors() -> None:
    block = _Block().to("cuda:1")
    with pytest.raises(devsan.DeviceMismatch) as raised:
        block(torch.ones(2, 2, device="cuda:0"))
    report = str(raised.value)
    assert "self.stage.0.weight" in report and "on cuda:1" in report
    assert "``" not in report


LAYER = torch.nn.Linear(2, 2)


def test_a_weight_of_a_global_module_is_no_constant() -> None:
    global LAYER
    LAYER = LAYER.to("cuda:1")
    with pytest.raises(devsan.DeviceMismatch) as raised:
        devsan.check({"x": torch.ones(2, 2, device="cuda:0")}, weight=LAYER.weight)
    report = str(raised.value)
    assert "which no model moves" not in report and "DV108" not in report
