"""Tensors that came from outside of the program: from a loader of data, from a checkpoint."""

from __future__ import annotations

import ast

from devsan import core
from devsan.introspect.frames.scopes import Spot
from devsan.introspect.provenance.living import Living
from devsan.introspect.source.sources import expression, functions_in, statements_of, tree_at


def loader_event(iterated: ast.AST, spot: Spot, living: Living) -> list[core.Event]:
    """Returns the event of a DataLoader when a loop over ``iterated`` runs over one; else nothing."""
    here = spot
    for _ in range(4):
        kinds = {base.__name__ for base in type(here.value(iterated)).__mro__}
        called = iterated.func if isinstance(iterated, ast.Call) else None
        name = getattr(called, "attr", getattr(called, "id", ""))
        if "DataLoader" in kinds or name == "DataLoader":
            place = living.place(iterated, here)
            owner = core.Owner(name="DataLoader", mechanism="DataLoader", where=place)
            kind = core.EventKind.LOADED
            return [core.Event(kind=kind, device="cpu", op="DataLoader", owner=owner, stack=[place])]
        if name in ("enumerate", "iter", "tqdm", "next", "zip", "islice") and isinstance(iterated, ast.Call):
            iterated = iterated.args[0] if iterated.args else iterated
            continue
        given = here.last_given(ast.unparse(iterated)) if isinstance(iterated, ast.Name) else None
        if given is None:
            return []
        iterated, here = given[0], here.before(given[0])
    return []


def is_reader(call: ast.Call) -> bool:
    """Returns whether ``call`` reads a checkpoint."""
    function = call.func
    if isinstance(function, ast.Attribute):
        return function.attr == "load_file" or (
            function.attr == "load" and getattr(function.value, "id", "") == "torch"
        )
    return getattr(function, "id", "") == "load_file"


def checkpoint_event(call: ast.Call, spot: Spot, device: str, living: Living) -> list[core.Event]:
    """Returns the event of ``torch.load`` or of safetensors' ``load_file``; nothing if it surely loads elsewhere."""
    given = {word.arg: word.value for word in call.keywords}
    where = given.get("map_location", given.get("device"))
    if where is not None and is_away(ast.unparse(where), spot, device):
        return []
    stack = living.stack(call, spot)
    setting = "" if where is None else f"map_location={ast.unparse(where)}"
    owner = core.Owner(name="torch.load", mechanism="torch.load", setting=setting, where=stack[0])
    return [core.Event(kind=core.EventKind.LOADED, device=device, op="torch.load", owner=owner,
                            stack=stack)]  # fmt: skip


def only_checkpoint(spot: Spot, device: str, living: Living) -> list[core.Event]:
    """Returns the event of the only checkpoint that the file of ``spot`` reads to ``device``; or nothing."""
    whole = tree_at(spot.file)
    places = [("<module>", whole), *functions_in(whole)] if whole is not None else []
    found = [(function, tree, node) for function, tree in places for node in statements_of(tree)
             if isinstance(node, ast.Call) and is_reader(node)]  # fmt: skip
    if len(found) != 1:
        return []
    function, tree, node = found[0]
    return checkpoint_event(node, Spot(spot.file, function, tree, node.lineno, globals=spot.globals), device, living)


def is_away(device: str | None, spot: Spot, wanted: str) -> bool:
    """Returns whether a call that is given ``device`` surely puts its result on another device than ``wanted``."""
    if device is None:
        return wanted != "cpu" and not wanted.startswith("cuda")
    value = spot.value(expression(device))
    text = value if isinstance(value, str) else str(value) if type(value).__name__ == "device" else None
    if text is None and type(value) is int:
        text = f"cuda:{value}"
    if text is None:
        return False
    return text.split(":")[0] != wanted.split(":")[0] or (":" in text and text != wanted)
