"""JSON with the place of every key and value.

DeepSpeed reads its file with hjson (runtime/config.py), transformers, accelerate and Lightning read it with json. So
what hjson takes beyond JSON - comments, commas too many or too few, words without quotes - is read here too, and told
as a quirk. See docs/decisions/0008-doctor-in-python.md for why this is not a library's.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from json import JSONDecodeError, decoder
from typing import Any, NoReturn

from devsan.diagnostics.diagnostic import Place
from devsan.diagnostics.messages import message
from devsan.doctor.nodes import LAST_COMMA, MAX_DEPTH, Malformed, Member, Node, Quirk

_SPACE = re.compile(r"[ \t\r\n]*")
_COMMENT = re.compile(r"//[^\n]*|#[^\n]*|/\*.*?\*/", re.DOTALL)
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?P<rest>(?:\.\d+)?(?:[eE][-+]?\d+)?)(?=[\s,}\]#/]|$)")
_WORD = re.compile(r"(?:true|false|null|NaN|-?Infinity)(?=[\s,}\]#/]|$)")
_BARE_KEY = re.compile(r"[^\s,:\[\]{}\"'#/]+")
_BARE_TEXT = re.compile(r"[^\s,:\[\]{}\"][^\n]*")
_SINGLE = re.compile(r"'((?:[^'\\\n]|\\.)*)'")
_WORDS: dict[str, Any] = {"true": True, "false": False, "null": None, "NaN": float("nan"),
                          "Infinity": float("inf"), "-Infinity": float("-inf")}  # fmt: skip
_MAX_DIGITS = 4000  # Python refuses to convert longer ones


@dataclass
class _Scanner:
    text: str
    file: str

    def __post_init__(self) -> None:
        self.at = 0
        self.open: list[str] = []  # what ends each object and list that was begun
        self.quirks: list[Quirk] = []
        self._starts = [0, *(match.end() for match in re.finditer("\n", self.text))]

    def document(self) -> Node:
        """Reads one value and nothing after it."""
        if self.text.startswith("\ufeff"):
            self.at = 1
            self._quirk(0, 1, message("a byte order mark"))
        self._skip()
        found = self._value()
        self._skip()
        if self.at < len(self.text):
            self._fail(self.at, message("the end of the file"), self._shown(self.at),
                       message("remove what follows the object"))  # fmt: skip
        return found

    def _value(self) -> Node:
        if self.at >= len(self.text):
            self._fail(self.at, message("a value"), message("the end of the file"))
        character = self.text[self.at]
        if character in "{[":
            self.open.append("}" if character == "{" else "]")
            if len(self.open) > MAX_DEPTH:
                self._fail(self.at, message("at most {n} levels", n=MAX_DEPTH), message("one more"))
            found = self._object() if character == "{" else self._list()
            self.open.pop()
            return found
        start = self.at
        value = self._scalar(character)
        return Node("scalar", value, self._place(start, self.at))

    def _scalar(self, character: str) -> Any:
        start = self.at
        if character == '"':
            return self._string()
        word = _WORD.match(self.text, start)
        if word is not None:
            self.at = word.end()
            return _WORDS[word.group()]
        number = _NUMBER.match(self.text, start)
        if number is not None and len(number.group()) < _MAX_DIGITS:
            self.at = number.end()
            return float(number.group()) if number["rest"] else int(number.group())
        single = _SINGLE.match(self.text, start) if character == "'" else None
        if single is not None:
            self.at = single.end()
            self._quirk(start, self.at, message("single quotes"))
            return single[1]
        bare = _BARE_TEXT.match(self.text, start)
        if bare is None:
            self._fail(start, message("a value"), self._shown(start))
        said = bare.group().rstrip()
        self.at = start + len(said)
        self._quirk(start, self.at, message("an unquoted string"))
        return said

    def _string(self) -> str:
        start = self.at
        try:
            read: tuple[str, int] = decoder.scanstring(self.text, start + 1, True)  # type: ignore[attr-defined]
        except JSONDecodeError as error:
            ends = message("the file ends too early: end the string with a quotation mark, and add the missing {end}",
                           end=self._missing()) if error.msg.startswith("Unterminated") else ""  # fmt: skip
            self._fail(min(error.pos, len(self.text)), message("a quoted string that ends on the same line"),
                       error.msg.lower(), ends)  # fmt: skip
        self.at = read[1]
        return read[0]

    def _object(self) -> Node:
        start = self.at
        self.at += 1
        members: dict[str, Member] = {}
        twice: list[tuple[str, Place]] = []
        while self._next("}", first=not members):
            key_start = self.at
            key = self._key()
            key_place = self._place(key_start, self.at)
            self._skip()
            if self.text[self.at : self.at + 1] != ":":
                self._fail(self.at, message("a colon after {key}", key=repr(key)), self._shown(self.at))
            self.at += 1
            self._skip()
            value = self._value()
            if key in members:
                twice.append((key, key_place))
            members[key] = Member(key_place, value)
        return Node("object", None, self._place(start, self.at), members, twice=tuple(twice))

    def _key(self) -> str:
        if self.text[self.at : self.at + 1] == '"':
            return self._string()
        start = self.at
        single = _SINGLE.match(self.text, start)
        bare = single or _BARE_KEY.match(self.text, start)
        if bare is None:
            self._fail(start, message("a key in double quotes"), self._shown(start))
        self.at = bare.end()
        self._quirk(start, self.at, message("single quotes") if single else message("a key without quotes"))
        return single[1] if single else bare.group()

    def _list(self) -> Node:
        start = self.at
        self.at += 1
        elements: list[Node] = []
        while self._next("]", first=not elements):
            elements.append(self._value())
        return Node("list", None, self._place(start, self.at), elements=tuple(elements))

    def _next(self, end: str, first: bool) -> bool:
        """Goes to the next member or element; past ``end``, if there is none."""
        before = self.at
        self._skip()
        comma = self.at
        if not first and self.text[self.at : self.at + 1] == ",":
            self.at += 1
            self._skip()
            if self.text[self.at : self.at + 1] == end:
                self._quirk(comma, comma + 1, LAST_COMMA)
        elif not first and self.text[self.at : self.at + 1] not in ("", end):
            if "\n" not in self.text[before : self.at]:
                self._fail(self.at, message("a comma or {end}", end=end), self._shown(self.at))
            self._quirk(before - 1, before, message("no comma after this entry"))
        if self.at >= len(self.text):
            self._fail(self.at, end, message("the end of the file"))
        if self.text[self.at] != end:
            return True
        self.at += 1
        return False

    def _skip(self) -> None:
        while True:
            match = _SPACE.match(self.text, self.at)
            self.at = match.end() if match else self.at
            comment = _COMMENT.match(self.text, self.at)
            if comment is None:
                return
            self._quirk(self.at, comment.end(), message("a comment"))
            self.at = comment.end()

    def _quirk(self, start: int, end: int, what: str) -> None:
        self.quirks.append(Quirk(self._place(start, end), what))

    def _shown(self, at: int) -> str:
        return repr(self.text[at : at + 12].split("\n")[0]) if at < len(self.text) else message("the end of the file")

    def _missing(self) -> str:
        return "".join(reversed(self.open))

    def _fail(self, at: int, expected: str, got: str, fix: str = "") -> NoReturn:
        if at >= len(self.text) and not fix:
            fix = self._what_is_missing(expected)
        raise Malformed(self._place(at, at), expected, got, fix)

    def _what_is_missing(self, expected: str) -> str:
        """What to write where the file ends too early."""
        if not self.open:
            return message("write {expected} there", expected=message("an object, {braces}", braces="{ ... }"))
        if expected == self.open[-1]:
            return message("the file ends too early: add the missing {end}", end=self._missing())
        return message("the file ends too early: write the missing value, and {end} behind it", end=self._missing())

    def _place(self, start: int, end: int) -> Place:
        line, end_line = bisect_right(self._starts, start), bisect_right(self._starts, end)
        return Place(
            self.file, line, start - self._starts[line - 1] + 1, end_line, end - self._starts[end_line - 1] + 1
        )


def scan_json(text: str, file: str) -> tuple[Node, tuple[Quirk, ...]]:
    """Returns the value of ``text``, and where it is what hjson reads and json does not.

    Raises:
        Malformed: neither reads it.
    """
    scanner = _Scanner(text, file)
    return scanner.document(), tuple(scanner.quirks)
