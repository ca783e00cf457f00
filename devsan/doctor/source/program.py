"""A file as it is checked: the program that runs, then each module for itself, then what nothing called."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from collections.abc import Sequence as Listed
from dataclasses import dataclass, field
from functools import partial

from devsan.doctor.source import classes, functions
from devsan.doctor.source.definitions import ClassFacts, ClassValue, Function
from devsan.doctor.source.entries import inputs_of
from devsan.doctor.source.events import Begins, Event, Hands, HidesGpus, Meeting, TensorInput
from devsan.doctor.source.frames import Exhausted
from devsan.doctor.source.interpreter import Interpreter
from devsan.doctor.source.objects import Object, mapped, move, places
from devsan.doctor.source.places import HOST, INPUTS, NOWHERE
from devsan.doctor.source.scope import Scope
from devsan.doctor.source.source_file import SourceFile
from devsan.doctor.source.values import NUMBER, UNKNOWN, Const, Sequence, Tensor, Value
from devsan.doctor.source.visible import UNLAUNCHED, Launched, Visible

# What a framework calls with tensors that it has put where the module is.
_ENTRIES = ("forward", "training_step", "validation_step", "test_step", "predict_step")

# What Lightning calls before its strategy moves the module (lightning/pytorch/trainer/trainer.py, Trainer._run).
_BEFORE_THE_MOVE = ("prepare_data", "setup", "configure_model")


@dataclass
class Program:
    """What was seen in a file.

    Attributes:
        source: the file.
        events: in the order in which they happen; ``Begins`` stands where the order is lost.
        launched: how many ranks the launch command starts; 0 is not known.
        visible: CUDA_VISIBLE_DEVICES, where the running program set it in time.
        whole: False where the file took too long to follow to its end.
    """

    source: SourceFile
    events: list[Event] = field(default_factory=list)
    launched: int = 0
    visible: Visible | None = None
    whole: bool = True


def follow_program(source: SourceFile, launched: Launched = UNLAUNCHED, alone: bool = False) -> Program:
    """Follows a file; of it ``alone`` what runs, without what nothing calls."""
    run = Interpreter(source, launched.visible)
    program = Program(source, run.events, launched.ranks)
    program.whole = _follow_whole(run, lambda: run.block(source.tree.body, run.scope))
    if any(isinstance(event, HidesGpus) and event.used is None for event in run.events):
        program.visible = run.process.visible
    if alone:
        return program
    run.running = False
    for value in run.scope.names.values():
        if isinstance(value, ClassValue):
            _forget_kept(value)
    for value in list(run.scope.names.values()):
        program.whole &= _follow_whole(run, partial(_follow_rest, run, value))
    return program


def _forget_kept(value: ClassValue) -> None:
    """What a class remembers from the program's run says nothing of a module that is followed for itself."""
    if isinstance(value.facts.scope, Scope):
        names = value.facts.scope.names
        for name, held in names.items():
            if isinstance(held, Tensor) and held.kept:
                names[name] = UNKNOWN


def _follow_whole(run: Interpreter, follow: Callable[[], object]) -> bool:
    """Follows something, and returns whether it came to its end."""
    try:
        follow()
    except (Exhausted, RecursionError):
        run.abandon()
        return False
    finally:
        run.refill()
    return True


def _follow_rest(run: Interpreter, value: Value) -> None:
    if isinstance(value, Function) and value.node not in run.followed and value.bound is None:
        _begin(run, value.node)
        functions.follow(run, value, [], {}, None)
    elif isinstance(value, ClassValue) and value.facts.node not in run.followed:
        run.followed.add(value.facts.node)
        _begin(run, value.facts.node)
        instance = classes.instantiate(run, value.facts, None)
        if not isinstance(instance, Object):
            return
        _count(value.facts, instance)
        for each in _handed(run, value.facts, instance):
            run.tell(each)
        if value.facts.is_module and not any(where.kind in ("gpu", "value", "part") for where in places(instance)):
            _check_module(run, value.facts, instance)
        elif "torch.autograd.Function" in value.facts.foreign:
            _check_function(run, value.facts)
        elif any(name.endswith("Trainer") for name in value.facts.foreign):
            _check_trainer(run, value.facts, instance)
        move(instance, NOWHERE)
        for definition in value.facts.methods():
            if definition not in run.followed:
                _begin(run, definition)
                _call(run, value.facts, instance, definition, [])


def _count(facts: ClassFacts, instance: Object) -> None:
    """What a class counts in its methods is some number when a method is followed for itself."""
    for definition in facts.methods():
        for node in ast.walk(definition) if definition.name != "__init__" else ():
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                value = instance.state.attributes.get(node.attr)
                if isinstance(value, Const) and type(value.value) in (int, float):
                    instance.state.attributes[node.attr] = NUMBER


def _begin(run: Interpreter, node: ast.AST) -> None:
    run.process = run.started
    run.tell(Begins(node))


def _check_module(run: Interpreter, facts: ClassFacts, instance: Object) -> None:
    """Follows a module's entries with inputs at a place that is not known, where its weights are as well."""
    if any(name.endswith("LightningModule") for name in facts.foreign):
        for name in _BEFORE_THE_MOVE:
            before = facts.method(name)
            if before is not None:
                _call(run, facts, instance, before[1], [UNKNOWN])
    move(instance, INPUTS)
    for entry in _ENTRIES:
        found = facts.method(entry)
        if found is not None and found[0] in (facts, *facts.bases):
            # Once with everything that it may be given, once with what it must be given: what it makes for itself then.
            for optional in (True, False):
                _begin(run, found[1])
                run.owner = facts
                try:
                    values = inputs_of(found[1], optional)
                    if entry != "forward" and values:
                        values[0] = Tensor(INPUTS, False, how="batch")
                    _call(run, facts, instance, found[1], values)
                finally:
                    run.owner = None


def _check_trainer(run: Interpreter, facts: ClassFacts, instance: Object) -> None:
    """Follows the loss of a transformers.Trainer, which has put the inputs on the GPU."""
    found = facts.method("compute_loss")
    if found is not None:
        run.owner = facts
        try:
            _call(run, facts, instance, found[1], [UNKNOWN, Tensor(INPUTS, False, how="batch")])
        finally:
            run.owner = None


def _check_function(run: Interpreter, facts: ClassFacts) -> None:
    """Follows a torch.autograd.Function; autograd wants each gradient where its input was."""
    given = Tensor(INPUTS, None, how="given")
    for name in ("forward", "backward"):
        found = facts.method(name)
        if found is None:
            continue
        node = found[1]
        run.owner = facts
        try:
            values = [UNKNOWN, given, *inputs_of(node)[1:]]
            made = functions.follow(run, Function(node, _around(facts)), values, {}, None)
        finally:
            run.owner = None
        for each in made.items or () if isinstance(made, Sequence) else (made,):
            if name == "backward" and isinstance(each, Tensor) and each.how == "made" and each.where == HOST:
                offending, other = TensorInput(each, each.made or node), TensorInput(given, node.args.args[-1])
                run.tell(Meeting(offending.node, (node,), offending=offending, other=other, cause="fresh", owner=facts))


def _call(
    run: Interpreter, facts: ClassFacts, instance: Object, definition: ast.FunctionDef | ast.AsyncFunctionDef,
    values: list[Value],
) -> None:  # fmt: skip
    functions.follow(run, Function(definition, _around(facts), instance, facts), values, {}, None)


def _around(facts: ClassFacts) -> Scope | None:
    return facts.scope.parent if isinstance(facts.scope, Scope) else None


def _handed(run: Interpreter, facts: ClassFacts, instance: Object) -> Iterator[Hands]:
    """A LightningModule whose model a map has spread."""
    if not any(name.rpartition(".")[2] == "LightningModule" for name in facts.foreign):
        return
    for name, value in instance.state.attributes.items():
        found = mapped(value)
        if found is not None and found.spread:
            yield Hands(found.node, map=found, attribute=name)


def flows(events: Listed[Event]) -> list[list[Event]]:
    """Returns the events in runs of which the order is known."""
    found: list[list[Event]] = [[]]
    for event in events:
        if isinstance(event, Begins):
            found.append([])
        else:
            found[-1].append(event)
    return found
