"""A tensor on the meta device beside a real one: where torch returns memory that nobody wrote, DevSan says so."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from sentences import A, Case, longs, ones
from torch.nn import functional

from devsan import _core


def absent(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.empty(*shape, dtype=dtype, device="meta")


@pytest.fixture(autouse=True)
def none_before() -> Iterator[None]:
    _core.forget_meta_mixes()
    yield
    _core.forget_meta_mixes()


@pytest.mark.parametrize("home", ["cpu", A])
@pytest.mark.parametrize(
    ("call", "op", "operand"),
    [
        pytest.param(lambda d: torch.mm(ones(2, 3, on=d), absent(3, 2)), "aten::mm", "mat2", id="mm"),
        pytest.param(lambda d: functional.linear(ones(2, 3, on=d), absent(4, 3)), "aten::mm", "mat2", id="linear"),
        pytest.param(
            lambda d: functional.conv2d(ones(1, 2, 5, 5, on=d), absent(3, 2, 3, 3)),
            "aten::convolution",
            "weight",
            id="conv2d",
        ),
        pytest.param(
            lambda d: ones(3, 3, on=d).index_select(0, absent(2, dtype=torch.long)),
            "aten::index_select",
            "index",
            id="index_select",
        ),
        pytest.param(
            lambda d: ones(3, 3, on=d).gather(0, absent(2, 2, dtype=torch.long)), "aten::gather", "index", id="gather"
        ),
    ],
)
def test_a_real_result_of_an_operand_without_elements_is_a_finding(
    call: Case, op: str, operand: str, home: str, capfd: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):
        assert call(home).device == torch.device(home)
    (mix,) = _core.meta_mixes()
    assert (mix.op, mix.operand, mix.calls) == (op, operand, 2)
    path, _, line = mix.site.rpartition(":")
    assert path == __file__
    warning = (
        f"devsan: warning: {__file__}:{line}: {op} returned memory that nobody wrote: its operand {operand} is on "
    )
    assert capfd.readouterr().err == warning + "meta and has no elements\n"


def test_each_site_warns_once(capfd: pytest.CaptureFixture[str]) -> None:
    torch.mm(ones(2, 3), absent(3, 2))
    torch.mm(ones(2, 3), absent(3, 2))
    assert capfd.readouterr().err.count("devsan: warning: ") == 2
    assert [mix.calls for mix in _core.meta_mixes()] == [1, 1]


def test_meta_tensors_among_themselves_are_no_finding(capfd: pytest.CaptureFixture[str]) -> None:
    assert torch.mm(absent(2, 3), absent(3, 2)).is_meta
    assert functional.embedding(absent(2, dtype=torch.long), absent(3, 3)).is_meta
    assert torch.mm(absent(2, 3), ones(3, 2)).is_meta  # the result has no elements either, and says so
    assert functional.embedding(longs(0), ones(2, 3)).tolist() == [[1.0, 1.0, 1.0]]
    assert _core.meta_mixes() == []
    assert capfd.readouterr().err == ""
