"""What a color means on a terminal: one thing.

Red is what is wrong, yellow a warning, green what is well or mends it. A device has a color of its own wherever it is
named, as in the HTML report; which operand is in the wrong place is told by weight and by the shape of its underline.
Heads are bold, what holds a report together is dim.
"""

from __future__ import annotations

import re

from devsan.render.terminal.text import Line

# SGR parameters: 1 is bold, 2 dim, 4 underlined, 31 red, 32 green, 33 yellow
_STYLES = {"error": "1;31", "warning": "1;33", "title": "1", "note": "1", "help": "1;32", "good": "32", "frame": "2",
           "removed": "31", "added": "32", "removed part": "4;31", "added part": "1;4;32", "": ""}  # fmt: skip

# Of xterm's 256 colors those next to the colors of devices in render/html/colors.css.
_GPUS = (32, 172, 36, 169, 74, 166, 142, 98)
_HOST = 245

_DEVICE = re.compile(r"(?<![\w./-])(?:cuda:(?P<index>\d+)|cpu)(?![\w:(])")
_NAMES_DEVICES = ("", "title")  # the styles of words in which a device has its color


def style_of_device(text: str, is_wrong: bool) -> str:
    """Returns the style of what is on the device that ``text`` names first, "title" or none where it names none.

    Args:
        text: "cuda:1  float32[3,4]".
        is_wrong: whether it is in the wrong place.
    """
    found = _DEVICE.search(text)
    if found is None:
        return "title" if is_wrong else ""
    return f"{'wrong' if is_wrong else 'right'} {found[0]}"


def colored(line: Line) -> str:
    """Returns ``line`` with its colors. By hand: importing rich takes a fifth of the report's first 100 ms."""
    return "".join(_colored(text, style) for text, style in line if text)


def _colored(text: str, style: str) -> str:
    weight, _, device = style.partition(" ")
    if weight in ("wrong", "right"):
        return _in(text, _color_of(device, weight == "wrong"))
    codes = _STYLES[style]
    if style not in _NAMES_DEVICES:
        return _in(text, codes)
    pieces, at = [], 0
    for found in _DEVICE.finditer(text):
        pieces += [_in(text[at : found.start()], codes), _in(found[0], _color_of(found[0], bool(codes)))]
        at = found.end()
    return "".join([*pieces, _in(text[at:], codes)])


def _color_of(device: str, is_bold: bool) -> str:
    index = device.partition(":")[2]
    color = _GPUS[int(index) % len(_GPUS)] if index else _HOST
    return f"{'1;' if is_bold else ''}38;5;{color}"


def _in(text: str, codes: str) -> str:
    return f"\x1b[{codes}m{text}\x1b[0m" if codes and text else text
