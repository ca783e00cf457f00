"""What torch's functions give."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from devsan.diagnostics.torch_names import FACTORIES, FROM_DATA, LIKE, ON_CPU
from devsan.doctor.source import (
    device_join,
    factories,
    functions,
    module_calls,
    modules,
    torch_names,
)
from devsan.doctor.source.definitions import Function
from devsan.doctor.source.events import Loaded, Ranks
from devsan.doctor.source.objects import Object, State
from devsan.doctor.source.places import CURRENT, HOST, NOWHERE
from devsan.doctor.source.scope import Scope
from devsan.doctor.source.values import (
    NONE,
    UNKNOWN,
    Const,
    Device,
    Generator,
    Sequence,
    Table,
    Tensor,
    Value,
    join_all,
)

if TYPE_CHECKING:
    from devsan.doctor.source.arguments import Arguments
    from devsan.doctor.source.interpreter import Interpreter


def call(run: Interpreter, name: str, given: Arguments) -> Value:
    """Returns what ``torch.name(...)`` gives; ``name`` is the whole dotted name."""
    short = name.removeprefix("torch.")
    last = short.rpartition(".")[2]
    if short.startswith("cuda."):
        return _of_cuda(run, short.removeprefix("cuda."), given)
    if short.startswith("nn.") and not short.startswith(("nn.functional.", "nn.utils.", "nn.init.")):
        return modules.of_torch_nn(run, last, given)
    if short.startswith("optim.") and last[:1].isupper():
        return modules.optimizer(run, name, given)
    if short == "device":
        return factories.device(run, given)
    if short == "Generator":
        value = given.get("device", 0)
        return Generator(HOST if value is None else factories.place(run, value, given.node), given.node)
    if short in FACTORIES:
        return factories.made(run, short, given)
    if short in FROM_DATA:
        return factories.from_data(run, short, given)
    if short in ON_CPU:
        return Tensor(HOST, False, given.node, run.calls, how="made")
    if short in LIKE:
        source = given.values[0] if given.values else UNKNOWN
        where = source.where if isinstance(source, Tensor) else NOWHERE
        asked = given.get("device")
        where = where if asked is None else factories.place(run, asked, given.node)
        return Tensor(where, source.scalar if isinstance(source, Tensor) else None, given.node, run.calls, how="made")
    if short == "load":
        # mmap and a default device have their own say; weights_only has none.
        asked = given.get("map_location", 1)
        if isinstance(asked, Const | Device) and factories.place(run, asked, given.node).kind == "gpu":
            return Tensor(factories.place(run, asked, given.node), None, given.node, run.calls, how="loaded")
        if asked is None and given.whole and given.get("mmap") is None:
            run.tell(Loaded(given.node, run.functions))
            return Object(State("torch.load", opaque=True, origin=given.node))
        return UNKNOWN
    if short in ("set_default_device", "set_default_tensor_type", "set_default_dtype"):
        if short != "set_default_dtype":
            value = given.get("device", 0)
            where = (
                factories.place(run, value, given.node)
                if short == "set_default_device" and value is not None
                else NOWHERE
            )
            run.process = replace(run.process, default=where)
        return NONE
    if short in ("is_tensor", "is_floating_point") and given.values:
        known = isinstance(given.values[0], Tensor) and given.values[0].how not in ("loaded", "batch", "outputs")
        other = isinstance(given.values[0], Table | Sequence | Const)
        return Const(True) if known and short == "is_tensor" else Const(False) if other else UNKNOWN
    if short == "compile" and given.values:
        return given.values[0]
    if short == "utils.checkpoint.checkpoint" and given.values:
        return _checkpoint(run, given)
    if short == "distributed.init_process_group":
        backend = given.get("backend", 0)
        if not isinstance(backend, Const) or backend.value not in ("gloo", "mpi", "ucc"):
            run.tell(Ranks(given.node, run.functions, sign="group"))
        return NONE
    if short == "utils.data.DataLoader":
        return factories.loader(run, given)
    if short == "utils.data.TensorDataset":
        return Object(State(name, attributes={"tensors": join_all(given.values)}))
    if short == "get_default_device":
        return Device(run.process.default)
    if last[:1].islower() and (short == last or short.startswith(("nn.functional.", "special.", "linalg.", "fft."))):
        return _operator(run, last, given)
    return UNKNOWN


def _operator(run: Interpreter, name: str, given: Arguments) -> Value:
    operands = given.tensors()
    value = device_join.meet(run, given.node, operands, checked=name in torch_names.JOINED)
    if not isinstance(value, Tensor):
        return value
    if name in torch_names.REDUCTIONS and given.get("dim", 1) is None:
        return replace(value, scalar=True)
    if name in ("stack", "cat"):
        return replace(value, scalar=False)
    if (
        name in torch_names.LOSSES
        and given.named_whole
        and given.get("reduction") in (None, Const("mean"), Const("sum"))
    ):
        return replace(value, scalar=True)
    if name in ("chunk", "split", "tensor_split", "unbind"):
        return Sequence(None, replace(value, scalar=None if name == "unbind" else value.scalar))
    return replace(value, scalar=None) if name in torch_names.MAYBE_SCALAR else value


def enter(run: Interpreter, node: ast.expr, value: Value, scope: Scope) -> None:
    """``with ...``: what changes where tensors are created, for its block."""
    if isinstance(value, Device):
        run.process = replace(run.process, default=value.where)
    text = run.source.shown(node).lower()
    if any(word in text for word in ("empty_weights", "zero.init", "no_init", "fakeTensor".lower(), "meta")):
        run.process = replace(run.process, default=NOWHERE)
    if "cuda.device(" in text:
        factories.choose(run, node, NOWHERE)


def _of_cuda(run: Interpreter, name: str, given: Arguments) -> Value:
    if name == "set_device":
        value = given.get("device", 0)
        factories.choose(run, given.node, NOWHERE if value is None else factories.place(run, value, given.node))
    if name in torch_names.CUDA_UP and run.process.used is None:
        run.process = replace(run.process, used=given.node)
    if name == "device_count" and run.process.visible.count is not None:
        return Const(run.process.visible.count)
    if name == "is_available":
        return Const(True)
    if name.endswith("Tensor"):
        factories.uses(run, given.node, CURRENT, run.source.shown(given.node))
        return Tensor(CURRENT, False, given.node, run.calls, how="made")
    return Device(CURRENT) if name == "current_device" else UNKNOWN


def _checkpoint(run: Interpreter, given: Arguments) -> Value:
    target, rest = given.values[0], given.values[1:]
    if isinstance(target, Function):
        return functions.follow(run, target, rest, {}, given.node)
    return module_calls.call(run, target, given, skip=1) if isinstance(target, Object) else UNKNOWN
