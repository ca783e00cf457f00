"""Operators that refuse tensors on several devices: how a program writes them, and what they take."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Slot:
    """What one operand has to be.

    Attributes:
        shape: its sizes.
        dtype: "float32", "int64" or "bool".
        apart: whether it may be the one on another device.
    """

    shape: tuple[int, ...]
    dtype: str = "float32"
    apart: bool = True


@dataclass(frozen=True)
class Operator:
    """One way to call an operator.

    Attributes:
        text: an expression with ``{0}``, ``{1}``, ...; or a statement, where it is not ``value``.
        slots: of its operands.
        value: whether it is an expression.
        primary: whether an operand has to be a name, an attribute or the like, as what is changed in place.
    """

    text: str
    slots: tuple[Slot, ...]
    value: bool = True
    primary: tuple[int, ...] = ()


_M, _V, _B = Slot((4, 4)), Slot((4,)), Slot((2, 4, 4))
_I = Slot((4,), "int64")
_I2 = Slot((4, 4), "int64")
_MASK = Slot((4, 4), "bool")


def _of(text: str, *slots: Slot, value: bool = True, primary: tuple[int, ...] = ()) -> Operator:
    return Operator(text, slots, value, primary)


OPERATORS = (
    *(_of(f"{{0}} {sign} {{1}}", _M, _M) for sign in ("+", "-", "*", "/", "@", ">", "==", "**")),
    *(_of(f"torch.{name}({{0}}, {{1}})", _M, _M)
      for name in ("add", "mul", "maximum", "mm", "matmul", "fmod", "atan2", "kron", "logaddexp")),
    *(_of(f"{{0}}.{name}({{1}})", _M, _M, primary=(0,)) for name in ("add", "mm", "matmul", "minimum", "sub")),
    *(_of(f"{{0}}.{name}_({{1}})", _M, _M, primary=(0,)) for name in ("add", "mul", "sub")),
    _of("torch.dot({0}, {1})", _V, _V),
    _of("torch.mv({0}, {1})", _M, _V),
    _of("torch.outer({0}, {1})", _V, _V),
    _of("torch.bmm({0}, {1})", _B, _B),
    _of("torch.baddbmm({0}, {1}, {2})", _B, _B, _B),
    _of("torch.addmm({0}, {1}, {2})", _M, _M, _M),
    _of("torch.addmm({0}, {1}, {2})", _V, _M, _M),
    _of("torch.addcmul({0}, {1}, {2})", _M, _M, _M),
    _of("torch.lerp({0}, {1}, {2})", _M, _M, _M),
    _of("torch.where({0}, {1}, {2})", _MASK, _M, _M),
    _of("torch.cat([{0}, {1}, {2}])", _M, _M, _M),
    _of("torch.cat(({0}, {1}), dim=1)", _M, _M),
    _of("torch.stack([{0}, {1}, {2}])", _M, _M, _M),
    _of("torch.hstack([{0}, {1}])", _M, _M),
    _of('torch.einsum("ij,jk->ik", {0}, {1})', _M, _M),
    _of("torch.gather({0}, 1, {1})", _M, _I2),
    _of("torch.index_select({0}, 0, {1})", _M, _I),
    _of("{0}.index_add(0, {1}, {2})", _M, _I, _M, primary=(0,)),
    _of("torch.scatter({0}, 1, {1}, {2})", _M, _I2, _M),
    _of("{0}.masked_fill({1}, 0.0)", _M, _MASK, primary=(0,)),
    _of("torch.cdist({0}, {1})", _M, _M),
    _of("torch.add({0}, {1}, out={2})", _M, _M, _M),
    _of("torch.mm({0}, {1}, out={2})", _M, _M, _M),
    _of("{0}[{1}]", _M, Slot((4,), "int64"), primary=(0,)),
    _of("{0}[{1}] = {2}", _M, Slot((4,), "int64"), Slot((4, 4), apart=False), value=False, primary=(0,)),
    _of("F.linear({0}, {1})", _M, _M),
    _of("F.linear({0}, {1}, {2})", _M, _M, _V),
    _of("F.linear({0}, weight={1}, bias={2})", _M, _M, _V),
    _of("F.bilinear({0}, {1}, {2})", _M, _M, Slot((3, 4, 4))),
    _of("F.embedding({0}, {1})", Slot((3,), "int64"), _M),
    _of("F.cross_entropy({0}, {1})", _M, _I),
    _of("F.nll_loss({0}, {1})", _M, _I),
    _of("F.mse_loss({0}, {1})", _M, _M),
    _of("F.l1_loss({0}, {1})", _M, _M),
    _of("F.smooth_l1_loss({0}, {1})", _M, _M),
    _of("F.kl_div({0}, {1})", _M, _M),
    _of("F.binary_cross_entropy_with_logits({0}, {1})", _M, _M),
    _of("F.cosine_similarity({0}, {1})", _M, _M),
    _of("F.layer_norm({0}, (4,), {1}, {2})", _M, _V, _V),
    _of("F.batch_norm({0}, {1}, {2})", _M, _V, _V),
    _of("F.conv1d({0}, {1})", Slot((2, 4, 6)), Slot((3, 4, 2))),
    _of("F.conv2d({0}, {1}, {2})", Slot((1, 3, 5, 5)), Slot((4, 3, 2, 2)), _V),
    _of("F.prelu({0}, {1})", _M, _V),
    _of("F.scaled_dot_product_attention({0}, {1}, {2})", _B, _B, _B),
    _of("nn.CrossEntropyLoss()({0}, {1})", _M, _I),
    _of("nn.MSELoss()({0}, {1})", _M, _M),
    _of("nn.BCEWithLogitsLoss(reduction=\"sum\")({0}, target={1})", _M, _M),
    _of("{0} += {1}", _M, _M, value=False, primary=(0,)),
    _of("{0} *= {1}", _M, _M, value=False, primary=(0,)),
)  # fmt: skip
