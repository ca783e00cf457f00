"""Who holds the memory of a full GPU, in the report on a terminal.

cuda:1  [hhhhhhhhhhhhhhhhhhhhhhhhhhhhoooottppggw==]  564 MiB of 600 MiB allocated
        h autograd graphs of several passes, o optimizer state, ...
"""

from __future__ import annotations

from collections.abc import Iterator

from devsan.diagnostics.held_memory import HeldMemory
from devsan.render.amounts import plain_amount
from devsan.render.language import Language
from devsan.render.peaks import kind_named
from devsan.render.terminal.bar import REST, split_bar
from devsan.render.terminal.colors import style_of_device
from devsan.render.terminal.text import Line, display_width, wrapped

_MOST, _LEAST = 40, 10  # cells

# A letter a kind, the same in every report; that of its name where no other has it.
_SIGNS = {
    "parameter": "p", "gradient": "g", "optimizer_state": "o", "buffer": "b", "cache": "k", "collected": "l",
    "history": "h", "communication": "c", "activation": "a", "temporary": "t", "data": "d", "workspace": "w",
    "fragmentation": "f", "context": "x", "unknown": "u",
}  # fmt: skip


def memory_lines(held: HeldMemory, say: Language, width: int) -> Iterator[Line]:
    """Yields a bar of the GPU's memory and what its letters mean, in ``width`` columns.

    Kinds that fill no cell are left out: the sentences have all figures.
    """
    head = f"  {held.device}  "
    used, total = plain_amount(held.allocated), plain_amount(held.total)
    told = say("{used} of {total} allocated", used=used, total=total)
    room = width - display_width(f"{head}[]")
    beside = room - display_width(f"  {told}")
    cells = max(_LEAST, min(_MOST, beside if beside >= _LEAST else room))
    signs = {each.kind: _SIGNS[each.kind] for each in held.parts}
    parts = [(signs[each.kind], each.bytes) for each in held.parts]
    shown = split_bar(parts, held.total - held.free, held.total, cells)
    yield [(head, style_of_device(held.device, False)), (f"{shown}  {told}" if beside >= _LEAST else shown, "")]
    below = [] if beside >= _LEAST else [told]
    names = [f"{sign} {say.text(kind_named(kind))}" for kind, sign in signs.items() if sign in shown]
    names.append(f"{REST} {say('what else is taken')}")  # the CUDA context at least
    line = names[0]
    for name in names[1:]:  # a letter stays beside what it means
        if display_width(f"{head}{line}{say(', ')}{name},") > width:
            below.append(line + say(", ").rstrip())
            line = name
        else:
            line += say(", ") + name
    for text in (*below, line):
        yield from ([(" " * len(head), ""), (part, "")] for part in wrapped(text, len(head), width=width))
