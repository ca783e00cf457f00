"""`devsan.doctor` as a function: what it takes, what it returns, and that it leaves models as they are."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch

import devsan


def test_the_package_is_called() -> None:
    from devsan.doctor.findings import found_by  # the package is a package, too

    found = devsan.doctor(torch.nn.Linear(2, 2))
    assert found == [] and isinstance(found, list)
    assert found_by.__module__ == "devsan.doctor.findings"
    assert str(found) == "devsan.doctor: nothing is wrong"


def test_asking_for_it_stays_light() -> None:
    code = "import sys, devsan; devsan.doctor; assert not {'torch', 'rich', 'libcst'} & set(sys.modules), sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@pytest.mark.parametrize("given", [(), (None,), (3,), ("model",), (torch.ones(2),), ([], {})], ids=str)
def test_nothing_to_check_is_refused_in_one_sentence(given: tuple[object, ...]) -> None:
    with pytest.raises(TypeError, match=r"^expected models and optimizers to check, got [^\n]*$"):
        devsan.doctor(*given)


def test_models_are_found_in_what_holds_them() -> None:
    class Trainer:
        def __init__(self) -> None:
            self.model = torch.nn.Linear(2, 2, device="meta")
            self.state = {"optimizer": torch.optim.SGD(self.model.parameters(), lr=0.1)}

    for given in (Trainer(), [Trainer().model], {"net": Trainer().model}):
        assert [finding.code for finding in devsan.doctor(given)] == ["DV112"]


def test_a_model_that_defends_itself_is_checked() -> None:
    class Hostile(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(2, 2, device="meta")

        def parameters(self, recurse: bool = True) -> Any:
            raise RuntimeError("not for you")

        def __getattr__(self, name: str) -> Any:
            if name in ("_hf_hook", "hf_device_map"):
                raise RuntimeError("not for you")
            return super().__getattr__(name)

    assert [finding.code for finding in devsan.doctor(Hostile())] == ["DV112"]


def test_a_rule_that_fails_does_not_cost_the_others(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from devsan.doctor.live import check

    def check_badly(subject: object) -> Any:
        raise ValueError("of its own")

    monkeypatch.setattr(check, "RULES", (check_badly, *check.RULES))
    assert [finding.code for finding in devsan.doctor(torch.nn.Linear(2, 2, device="meta"))] == ["DV112"]
    assert capsys.readouterr().err == "devsan: the doctor's own rule check_badly failed: ValueError: of its own\n"


def test_nothing_is_changed(check: Callable[..., Any]) -> None:
    checked = check("""
net = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Linear(8, 2)).to("cuda:0")
net[1].register_forward_pre_hook(lambda module, arguments: tuple(each.to("cuda:1") for each in arguments))
before = [(each.data_ptr(), str(each.device), each._version) for each in net.parameters()], str(vars(net[1]))
found = devsan.doctor(net)
after = [(each.data_ptr(), str(each.device), each._version) for each in net.parameters()], str(vars(net[1]))
assert before == after
""")
    assert checked.codes == ["DV201"]
    [owner] = checked.found.owners
    assert (owner.name, owner.mechanism, owner.modules, owner.devices) == ("this program", "<lambda>", 1, ("cuda:1",))


def test_the_owners_and_lines_are_found_without_records(check: Callable[..., Any]) -> None:
    """As on real GPUs: no placement is recorded, the program's files tell."""
    pytest.importorskip("accelerate", reason="the hooks are accelerate's, which is not installed")
    checked = check("""
from accelerate import dispatch_model

net = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Linear(8, 2))
net = dispatch_model(net, {"0": "cpu", "1": "cpu"}, main_device="cpu", force_hooks=True)  # here
net = net.to("meta")  # also
found = devsan.doctor(net)
""", gpus=0)  # fmt: skip
    assert checked.codes == ["DV112"]
    assert checked.found.owners[0].place.line == checked.here


def test_it_speaks_chinese() -> None:
    said = devsan.doctor(torch.nn.Linear(2, 2, device="meta")).text("zh")
    assert "Linear 的全部 2 个张量都在 meta 设备上" in said and "没有" in said
