"""Operators that compute element by element, reduce, or give several results."""

from __future__ import annotations

from operands import Operands, Works, functional, torch_


def unary(o: Operands) -> Works:
    x = o.x
    return {
        "neg": lambda: -x,
        "exp": lambda: x.exp(),
        "relu": lambda: x.relu(),
        "sigmoid": lambda: x.sigmoid(),
        "tanh": lambda: x.tanh(),
        "rsqrt": lambda: x.rsqrt(),
        "abs": lambda: x.abs(),
        "gelu": lambda: functional().gelu(x),
        "silu": lambda: functional().silu(x),
        "leaky_relu": lambda: functional().leaky_relu(x),
        "hardtanh": lambda: functional().hardtanh(x),
        "clamp": lambda: x.clamp(0.0, 1.0),
        "pow": lambda: x.pow(2.0),
        "isnan": lambda: x.isnan(),
        "logical_not": lambda: x.logical_not(),
        "round": lambda: x.round(),
        "nan_to_num": lambda: x.nan_to_num(),
    }


def binary(o: Operands) -> Works:
    x, y, z, scalar = o.x, o.y, o.z, o.scalar
    torch = torch_()
    return {
        "add": lambda: x + y,
        "add scalar": lambda: x + 1.0,
        "add 0-dim": lambda: x + scalar,
        "sub": lambda: x - y,
        "mul": lambda: x * y,
        "div": lambda: x / y,
        "div floor": lambda: torch.div(x, y, rounding_mode="floor"),
        "maximum": lambda: torch.maximum(x, y),
        "pow": lambda: x**y,
        "atan2": lambda: torch.atan2(x, y),
        "addcmul": lambda: torch.addcmul(x, y, z),
        "lerp": lambda: torch.lerp(x, y, 0.5),
        "lerp tensor": lambda: torch.lerp(x, y, z),
    }


def comparison(o: Operands) -> Works:
    x, y, mask = o.x, o.y, o.mask
    torch = torch_()
    return {
        "eq": lambda: x == y,
        "gt scalar": lambda: x > 0.5,
        "logical_and": lambda: torch.logical_and(mask, mask),
        "bitwise_and": lambda: mask & mask,
        "where": lambda: torch.where(mask, x, y),
        "where scalar": lambda: torch.where(mask, x, 0.0),
        "where two scalars": lambda: torch.where(mask, 1.0, 0.0),
        "masked_fill": lambda: x.masked_fill(mask, 0.0),
        "masked_select": lambda: x.masked_select(mask),
        "isclose": lambda: torch.isclose(x, y),
        "equal": lambda: torch.equal(x, y),
        "nonzero": lambda: mask.nonzero(),
        "isin": lambda: torch.isin(x, y),
    }


def in_place(o: Operands) -> Works:
    x, y, z, mask = o.x.clone(), o.y.clone(), o.z.clone(), o.mask
    return {
        "add_": lambda: x.add_(y),
        "mul_ scalar": lambda: x.mul_(1.0),
        "relu_": lambda: x.relu_(),
        "zero_": lambda: z.zero_(),
        "fill_": lambda: z.fill_(1.0),
        "clamp_": lambda: x.clamp_(0.0, 1.0),
        "addcmul_": lambda: z.addcmul_(x, y),
        "addcdiv_": lambda: z.addcdiv_(x, y, value=0.1),
        "lerp_": lambda: z.lerp_(x, 0.5),
        "masked_fill_": lambda: z.masked_fill_(mask, 0.0),
        "copy_": lambda: z.copy_(y),
        "t_": lambda: z.t_(),
    }


def out_given(o: Operands) -> Works:
    x, y, out = o.x, o.y, o.out.clone()
    torch = torch_()
    four, row = torch.empty(4, 2, device=o.device), torch.empty(1, 2, device=o.device)
    return {
        "add out": lambda: torch.add(x, y, out=out),
        "exp out": lambda: torch.exp(x, out=out),
        "mm out": lambda: torch.mm(x, y, out=out),
        "cat out": lambda: torch.cat((x, y), out=four),
        "sum out": lambda: torch.sum(x, 0, keepdim=True, out=row),
        "index_select out": lambda: torch.index_select(x, 0, o.index, out=out),
    }


def reductions(o: Operands) -> Works:
    x = o.x
    torch = torch_()
    return {
        "sum": lambda: x.sum(),
        "sum dim": lambda: x.sum(0),
        "mean": lambda: x.mean(),
        "mean dim": lambda: x.mean((0, 1), keepdim=True),
        "prod": lambda: x.prod(),
        "var": lambda: x.var(),
        "std dim": lambda: x.std(0),
        "amax": lambda: x.amax(0),
        "max": lambda: x.max(),
        "argmax": lambda: x.argmax(0),
        "any": lambda: o.mask.any(),
        "all dim": lambda: o.mask.all(0),
        "norm": lambda: x.norm(),
        "vector_norm": lambda: torch.linalg.vector_norm(x),
        "cumsum": lambda: x.cumsum(0),
        "logsumexp": lambda: x.logsumexp(0),
        "count_nonzero": lambda: x.count_nonzero(),
        "var_mean": lambda: torch.var_mean(x, 0),
    }


def several_results(o: Operands) -> Works:
    x = o.x
    torch = torch_()
    return {
        "sort": lambda: x.sort(),
        "argsort": lambda: x.argsort(),
        "topk": lambda: x.topk(1),
        "max dim": lambda: x.max(0),
        "min dim": lambda: x.min(0),
        "median": lambda: x.median(0),
        "kthvalue": lambda: x.kthvalue(1),
        "cummax": lambda: x.cummax(0),
        "unique": lambda: x.unique(),
        "aminmax": lambda: x.aminmax(),
        "linalg.qr": lambda: torch.linalg.qr(x),
        "linalg.svd": lambda: torch.linalg.svd(x),
        "meshgrid": lambda: torch.meshgrid(o.four, o.four, indexing="ij"),
    }
