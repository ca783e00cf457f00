"""Programs drawn by a seed: an operator, the way of each operand to it, the place of its line; or a container."""

from __future__ import annotations

import random

from names import containers, places, routes
from names.operators import OPERATORS
from names.program import HEAD, Kind, Program, Truth

_WORDS = ("hidden", "mask", "x", "w", "state", "labels", "scale", "q", "keys", "h", "batch", "table", "out", "pos")
_DEVICES = (("cuda:0", "cuda:1"), ("cuda:1", "cuda:0"), ("cuda:0", "cpu"), ("cpu", "cuda:0"))
_STATEMENTS = (
    "result = {}", "result = {}", "result = {}", "result = ({}).sum()", "found = [1, {}]",
    "result = [{} for _ in range(2)]", "result = (lambda: {})()", "assert ({}) is not None", "result = dict(value={})",
    "if ({}) is None: pass",
)  # fmt: skip


def program(seed: int) -> Program:
    """Returns the program of ``seed``: one in four is a container of modules."""
    draw = random.Random(seed)
    return containers.program(draw) if draw.random() < 0.25 else _of_operator(draw)


def _of_operator(draw: random.Random) -> Program:
    operator = draw.choice(OPERATORS)
    most, other = draw.choice(_DEVICES)
    apart = draw.choice([number for number, slot in enumerate(operator.slots) if slot.apart])
    words = draw.sample(_WORDS, len(operator.slots))
    found = []
    kinds = []
    for number, slot in enumerate(operator.slots):
        kind = Kind(other if number == apart else most, slot.dtype, slot.shape)
        choice = routes.ROUTES
        if number in operator.primary:  # an assignment to a global in a function would make it the function's own
            choice = tuple(each for each in routes.NAMES if operator.value or each is not routes.of_global)
        choose = draw.choice(choice)
        found.append(choose(words[number], kind))
        found[-1].label = choose.__name__
        kinds.append(kind)
    given = [each for route in found for each in route.given]
    place = draw.choice(places.PLACES + (places.NEED_PARAMETERS if given else ()))
    binds = any(":=" in route.expression for route in found)  # and so may stand in no function of its own
    statement = draw.choice(_STATEMENTS[:1] if binds else _STATEMENTS) if operator.value else "{}"
    texts = []
    for probed in (False, True):
        pieces = [
            f"_see({number}, {route.expression})" if probed and number not in operator.primary else route.expression
            for number, route in enumerate(found)
        ]
        line = statement.replace("{}", operator.text.format(*pieces))
        body = [line for route in found for line in route.setup]
        if probed:
            body += [
                f"_see({number}, {found[number].expression})" for number in operator.primary if not found[number].around
            ]
        depth = 0
        for route in found:
            if route.around:
                body.append("    " * depth + route.around)
                depth += 1
        if probed:
            body += [
                "    " * depth + f"_see({number}, {found[number].expression})"
                for number in operator.primary
                if found[number].around
            ]
        body.append("    " * depth + line)
        head = [line for route in found for line in route.head]
        texts.append("\n".join([HEAD, *head, place(body, given)]) + "\n")
    truths = tuple(Truth(kind, _everywhere(route, given)) for route, kind in zip(found, kinds, strict=True))
    true = {name for truth in truths for name in truth.names}
    decoys = frozenset(name for route in found for name in route.decoys) - true
    label = f"{operator.text} | {', '.join(route.label for route in found)} | {place.__name__} | {statement}"
    return Program("+".join(sorted({route.label for route in found})), label, texts[0], texts[1], truths, decoys)


def _everywhere(route: routes.Route, given: list[tuple[str, str]]) -> dict[str, Kind]:
    """The names of ``route`` with those under which callers pass a parameter on."""
    names = dict(route.names)
    if route.passed is None:
        return names
    number = given.index(route.given[0])
    kind = names[route.expression]
    word = route.given[0][0]
    for text in (f"options['{word}']", f"keywords['{word}']", f"row[{number}]", f"args[{number}]", f"kwargs['{word}']"):
        names[text + route.passed] = names[text + route.passed.replace('"', "'")] = kind
    return names
