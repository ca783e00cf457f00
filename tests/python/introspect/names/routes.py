"""How a tensor gets to the line that fails, and what it is called on the way: a name, an element, a call, a view."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from names.program import Kind


@dataclass
class Route:
    """One operand, written.

    Attributes:
        expression: what stands at the line that fails.
        names: what it is called there and elsewhere, with the kind of what is called so.
        decoys: names of what it was made from, or looks like it.
        head: lines of the file, above everything.
        setup: lines of the function that fails, above the line.
        given: parameters of the function that fails, with what its caller gives: ``(parameter, argument)``.
        around: the head of a block that the line has to stand in.
        passed: what of the parameter is the operand: "" is all of it; None where the function has changed it.
        label: which route it is.
    """

    expression: str
    names: dict[str, Kind]
    decoys: set[str] = field(default_factory=set)
    head: list[str] = field(default_factory=list)
    setup: list[str] = field(default_factory=list)
    given: list[tuple[str, str]] = field(default_factory=list)
    around: str = ""
    passed: str | None = None
    label: str = ""


def made(kind: Kind) -> str:
    """Returns the expression of a factory."""
    if kind.dtype == "int64":
        return f'torch.randint(0, 3, {kind.shape!r}, device="{kind.device}")'
    text = f'torch.rand({", ".join(map(str, kind.shape))}, device="{kind.device}")'
    return text if kind.dtype == "float32" else f"torch.gt({text}, 0.5)"


def computed(text: str, kind: Kind) -> str:
    """Returns an expression that computes something of the same kind from ``text``."""
    return {"float32": f"{text} * 2", "int64": f"{text} * 1", "bool": f"~{text}"}[kind.dtype]


def _longer(kind: Kind) -> Kind:
    return Kind(kind.device, kind.dtype, (kind.shape[0] + 1, *kind.shape[1:]))


def _names(kind: Kind, *texts: str) -> dict[str, Kind]:
    return dict.fromkeys(texts, kind)


def local(n: str, kind: Kind) -> Route:
    return Route(n, _names(kind, n), setup=[f"{n} = {made(kind)}", f"spare_{n} = {made(kind)}"], decoys={f"spare_{n}"})


def reassigned(n: str, kind: Kind) -> Route:
    return Route(n, _names(kind, n), {f"first_{n}"}, setup=[
        f"{n} = {made(_longer(kind))}", f"first_{n} = {n}", f"{n} = {n}[1:].clone()", f"{n} = {computed(n, kind)}",
    ])  # fmt: skip


def changed_in_place(n: str, kind: Kind) -> Route:
    change = {"float32": f"{n}.mul_(2)", "int64": f"{n}.clamp_(0)", "bool": f"{n}.logical_not_()"}[kind.dtype]
    return Route(n, _names(kind, n), {f"old_{n}"}, setup=[
        f"old_{n} = {made(kind)}", f"{n} = old_{n}.clone()", change,
    ])  # fmt: skip


def augmented(n: str, kind: Kind) -> Route:
    change = {"float32": f"{n} += 1", "int64": f"{n} //= 1", "bool": f"{n} ^= True"}[kind.dtype]
    setup = [f"{n} = {made(kind)}", f"kept_{n} = {n}.clone()", change]
    return Route(n, _names(kind, n), {f"kept_{n}"}, setup=setup)


def copied_before(n: str, kind: Kind) -> Route:
    setup = [f"alias_{n} = {n} = {made(kind)}", f"{n} = {computed(n, kind)}"]
    return Route(n, _names(kind, n), {f"alias_{n}"}, setup=setup)


def arithmetic(n: str, kind: Kind) -> Route:
    text = computed(n, kind)
    return Route(f"({text})", _names(kind, text, f"({text})"), {n}, setup=[f"{n} = {made(kind)}"])


def method(n: str, kind: Kind) -> Route:
    return Route(f"{n}.clone()", _names(kind, f"{n}.clone()"), {n}, setup=[f"{n} = {made(kind)}"])


def function_of(n: str, kind: Kind) -> Route:
    return Route(f"torch.clone({n})", _names(kind, f"torch.clone({n})"), {n}, setup=[f"{n} = {made(kind)}"])


def sliced(n: str, kind: Kind) -> Route:
    base = _longer(kind)
    return Route(f"{n}[1:]", {f"{n}[1:]": kind, n: base}, setup=[f"{n} = {made(base)}"])


def view_bound(n: str, kind: Kind) -> Route:
    base = _longer(kind)
    return Route(n, {n: kind, f"whole_{n}": base}, setup=[f"whole_{n} = {made(base)}", f"{n} = whole_{n}[1:]"])


def chunked(n: str, kind: Kind) -> Route:
    base = Kind(kind.device, kind.dtype, (2 * kind.shape[0], *kind.shape[1:]))
    text = f"{n}.chunk(2)[1]"
    return Route(text, {text: kind, n: base}, setup=[f"{n} = {made(base)}"])


def flattened(n: str, kind: Kind) -> Route:
    base = Kind(kind.device, kind.dtype, (*kind.shape, 1))
    text = f"{n}.view({', '.join(map(str, kind.shape))})"
    return Route(text, {text: kind, n: base}, setup=[f"{n} = {made(base)}"])


def element(n: str, kind: Kind) -> Route:
    setup = [f"{n} = [{made(kind)}, {made(kind)}]"]
    return Route(f"{n}[1]", _names(kind, f"{n}[1]"), {f"{n}[0]"}, setup=setup)


def element_by_variable(n: str, kind: Kind) -> Route:
    setup = [f"{n} = ({made(kind)}, {made(kind)})", f"at_{n} = 1"]
    return Route(f"{n}[at_{n}]", _names(kind, f"{n}[at_{n}]", f"{n}[1]"), {f"{n}[0]"}, setup=setup)


def of_dict(n: str, kind: Kind) -> Route:
    setup = [f'{n} = {{"rest": {made(kind)}, "ids": {made(kind)}}}']
    return Route(f'{n}["ids"]', _names(kind, f'{n}["ids"]', f"{n}['ids']"), {f'{n}["rest"]'}, setup=setup)


def nested(n: str, kind: Kind) -> Route:
    setup = [f'{n} = {{"layers": [types.SimpleNamespace(keys={made(kind)}, values={made(kind)})]}}']
    text = f'{n}["layers"][0].keys'
    return Route(text, _names(kind, text), {f'{n}["layers"][0].values'}, setup=setup)


def attribute(n: str, kind: Kind) -> Route:
    setup = [f"{n} = types.SimpleNamespace(data_={made(kind)}, other={made(kind)})"]
    return Route(f"{n}.data_", _names(kind, f"{n}.data_"), {f"{n}.other"}, setup=setup)


def dataclass_field(n: str, kind: Kind) -> Route:
    head = ["@dataclasses.dataclass", f"class Batch_{n}:", "    ids: torch.Tensor", "    rest: torch.Tensor"]
    setup = [f"{n} = Batch_{n}({made(kind)}, {made(kind)})"]
    return Route(f"{n}.ids", _names(kind, f"{n}.ids"), {f"{n}.rest"}, head, setup)


def own_property(n: str, kind: Kind) -> Route:
    head = [f"class Kept_{n}:", "    def __init__(self, data):", "        self._data = data",
            "    @property", "    def data(self):", "        return self._data"]  # fmt: skip
    setup = [f"{n} = Kept_{n}({made(kind)})"]
    return Route(f"{n}.data", _names(kind, f"{n}.data", f"{n}._data"), set(), head, setup)


def computing_property(n: str, kind: Kind) -> Route:
    head = [f"class Scaled_{n}:", "    def __init__(self, raw):", "        self.raw = raw",
            "    @property", "    def data(self):", f"        return {computed('self.raw', kind)}"]  # fmt: skip
    setup = [f"{n} = Scaled_{n}({made(kind)})"]
    return Route(f"{n}.data", _names(kind, f"{n}.data"), {f"{n}.raw"}, head, setup)


def called(n: str, kind: Kind) -> Route:
    head = [f"def make_{n}(again=1):", f"    found = {made(kind)}", "    return found"]
    return Route(f"make_{n}()", _names(kind, f"make_{n}()"), {"found"}, head)


def called_with(n: str, kind: Kind) -> Route:
    head = [f"def change_{n}(given):", f"    return {computed('given', kind)}"]
    text = f"change_{n}({n})"
    return Route(text, _names(kind, text), {n, "given"}, head, [f"{n} = {made(kind)}"])


def called_for_the_same(n: str, kind: Kind) -> Route:
    head = [f"def same_{n}(given):", "    return given"]
    text = f"same_{n}({n})"
    return Route(text, _names(kind, text, n), set(), head, [f"{n} = {made(kind)}"])


def element_of_call(n: str, kind: Kind) -> Route:
    head = [f"def both_{n}(given):", f"    return given, {computed('given', kind)}"]
    text = f"both_{n}({n})[1]"
    return Route(text, _names(kind, text), {n, "given"}, head, [f"{n} = {made(kind)}"])


def unpacked(n: str, kind: Kind) -> Route:
    head = [f"def pair_{n}():", f"    return {made(kind)}, {made(kind)}"]
    return Route(n, _names(kind, n), {f"rest_{n}"}, head, [f"rest_{n}, {n} = pair_{n}()"])


def of_module(n: str, kind: Kind) -> Route:
    body = {"float32": "nn.Softplus()", "int64": "nn.ReLU()"}.get(kind.dtype, "torch.logical_not")
    setup = [f"{n} = {made(kind)}", f"body_{n} = {body}"]
    return Route(f"body_{n}({n})", _names(kind, f"body_{n}({n})"), {n}, setup=setup)


def result_of_module(n: str, kind: Kind) -> Route:
    route = of_module(f"in_{n}", kind)
    setup = [*route.setup, f"{n} = {route.expression}"]
    return Route(n, _names(kind, n), {f"in_{n}"}, setup=setup)


def walrus(n: str, kind: Kind) -> Route:
    text = f"{n} := {made(kind)}"
    return Route(f"({text})", _names(kind, n, text, f"({text})"))


def walrus_again(n: str, kind: Kind) -> Route:
    text = f"{n} := {computed(n, kind)}"
    setup = [f"{n} = {made(kind)}", f"was_{n} = {n}"]
    return Route(f"({text})", _names(kind, n, text, f"({text})"), {f"was_{n}"}, setup=setup)


def chosen(n: str, kind: Kind) -> Route:
    text = f"{n} if {n} is not None else not_{n}"
    setup = [f"{n} = {made(kind)}", f"not_{n} = {made(kind)}"]
    return Route(f"({text})", _names(kind, n, text, f"({text})"), {f"not_{n}"}, setup=setup)


def from_closure(n: str, kind: Kind) -> Route:
    head = [f"def closed_{n}():", f"    value = {made(kind)}", f"    other = {made(kind)}",
            "    def get(which=other):", "        return value", "    return get",
            f"get_{n} = closed_{n}()"]  # fmt: skip
    return Route(f"get_{n}()", _names(kind, f"get_{n}()", "value"), {"other", "which"}, head)


def of_global(n: str, kind: Kind) -> Route:
    head = [f"{n.upper()} = {made(kind)}", f"SPARE_{n.upper()} = {made(kind)}"]
    return Route(n.upper(), _names(kind, n.upper()), {f"SPARE_{n.upper()}"}, head)


def of_class(n: str, kind: Kind) -> Route:
    head = [f"class Constants_{n}:", f"    table = {made(kind)}", f"    other = {made(kind)}"]
    return Route(f"Constants_{n}.table", _names(kind, f"Constants_{n}.table"), {f"Constants_{n}.other"}, head)


def by_lambda(n: str, kind: Kind) -> Route:
    setup = [f"{n} = {made(kind)}", f"with_{n} = lambda t: {computed('t', kind)}"]
    return Route(f"with_{n}({n})", _names(kind, f"with_{n}({n})"), {n, "t"}, setup=setup)


def by_partial(n: str, kind: Kind) -> Route:
    setup = [f"{n} = {made(kind)}", f"with_{n} = functools.partial(torch.clone, {n})"]
    return Route(f"with_{n}()", _names(kind, f"with_{n}()"), {n}, setup=setup)


def next_of_generator(n: str, kind: Kind) -> Route:
    head = [f"def stream_{n}():", f"    yield {made(kind)}", f"    yield {made(kind)}"]
    setup = [f"{n} = stream_{n}()", f"before_{n} = next({n})"]
    return Route(f"next({n})", _names(kind, f"next({n})"), {f"before_{n}"}, head, setup)


def by_getattr(n: str, kind: Kind) -> Route:
    route = attribute(n, kind)
    text = f'getattr({n}, "data_")'
    return Route(text, {**route.names, text: kind}, route.decoys, setup=route.setup)


def loop_variable(n: str, kind: Kind) -> Route:
    setup = [f"all_{n} = [{made(kind)}, {made(kind)}]"]
    names = _names(kind, n, f"all_{n}[0]")
    return Route(n, names, {f"all_{n}[1]"}, setup=setup, around=f"for {n} in all_{n}:")


def of_zip(n: str, kind: Kind) -> Route:
    setup = [f"all_{n} = [{made(kind)}]", f"beside_{n} = [{made(kind)}]"]
    around = f"for number, ({n}, other_{n}) in enumerate(zip(all_{n}, beside_{n})):"
    return Route(n, _names(kind, n, f"all_{n}[0]"), {f"other_{n}", f"beside_{n}[0]"}, setup=setup, around=around)


def of_context(n: str, kind: Kind) -> Route:
    head = ["@contextlib.contextmanager", f"def held_{n}():", f"    yield {made(kind)}"]
    return Route(n, _names(kind, n), set(), head, around=f"with held_{n}() as {n}:")


def parameter(n: str, kind: Kind) -> Route:
    head = [f"outer_{n} = {made(kind)}"]
    return Route(n, _names(kind, n, f"outer_{n}"), set(), head, given=[(n, f"outer_{n}")], passed="")


def parameter_changed(n: str, kind: Kind) -> Route:
    head = [f"outer_{n} = {made(kind)}"]
    setup = [f"{n} = {computed(n, kind)}"]
    return Route(n, _names(kind, n), {f"outer_{n}"}, head, setup, given=[(n, f"outer_{n}")])


def parameter_viewed(n: str, kind: Kind) -> Route:
    base = _longer(kind)
    head = [f"outer_{n} = {made(base)}"]
    names = {n: kind, f"outer_{n}": base}
    return Route(n, names, set(), head, [f"{n} = {n}[1:]"], given=[(n, f"outer_{n}")])


def parameter_of_call(n: str, kind: Kind) -> Route:
    head = [f"source_{n} = {made(kind)}", f"def load_{n}(given):", f"    return {computed('given', kind)}"]
    argument = f"load_{n}(source_{n})"
    return Route(n, _names(kind, n, argument), {f"source_{n}", "given"}, head, given=[(n, argument)], passed="")


def parameter_changed_of_call(n: str, kind: Kind) -> Route:
    head = [f"source_{n} = {made(kind)}", f"def load_{n}(given):", f"    return {computed('given', kind)}"]
    argument = f"load_{n}(source_{n})"
    setup = [f"{n} = {computed(n, kind)}"]
    return Route(n, _names(kind, n), {f"source_{n}", "given", argument}, head, setup, given=[(n, argument)])


def part_of_parameter(n: str, kind: Kind) -> Route:
    head = [f'batch_{n} = {{"x": {made(kind)}, "y": {made(kind)}}}']
    names = _names(kind, f'{n}["x"]', f'batch_{n}["x"]', f"batch_{n}['x']")
    decoys = {f'{n}["y"]', f'batch_{n}["y"]'}
    return Route(f'{n}["x"]', names, decoys, head, given=[(n, f"batch_{n}")], passed='["x"]')


ROUTES: tuple[Callable[[str, Kind], Route], ...] = (
    local, local, reassigned, changed_in_place, augmented, copied_before, arithmetic, method, function_of, sliced,
    view_bound, chunked, flattened, element, element_by_variable, of_dict, nested, attribute, dataclass_field,
    own_property, computing_property, called, called_with, called_for_the_same, element_of_call, unpacked, of_module,
    result_of_module, walrus, walrus_again, chosen, from_closure, of_global, of_class, by_lambda, by_partial,
    next_of_generator, by_getattr, loop_variable, of_zip, of_context, parameter, parameter_changed, parameter_viewed,
    parameter_of_call, parameter_changed_of_call, part_of_parameter,
)  # fmt: skip

NAMES = tuple(route for route in ROUTES if route in (
    local, reassigned, changed_in_place, augmented, copied_before, view_bound, element, of_dict, attribute,
    dataclass_field, unpacked, result_of_module, of_global, loop_variable, of_zip, of_context, parameter,
    parameter_changed, parameter_viewed, part_of_parameter, sliced, own_property,
))  # fmt: skip
"""Those whose expression can be changed in place."""
