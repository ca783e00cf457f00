"""Sentences for people: kept as template and arguments, put into words where they are printed.

The template is English, and it is the sentence's id in the catalogs, as gettext has it. core/model/message.h is the
same in C++, see NOTE [Messages] there; what the core says arrives as ``Message``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any


class Message(str):
    """A sentence: in English, as which it reads, and as the template that it was made from.

    Attributes:
        id: the template, "{name} is on {device}"; "" where there is none: a name, a number, a piece of source.
        plural: the template for other numbers than one; "" where the number does not matter.
        n: the number that decides between the two.
        arguments: what fills the slots, by name; may be messages themselves.
    """

    id: str
    plural: str
    n: int
    arguments: dict[str, str]
    __slots__ = ("arguments", "id", "n", "plural")

    def __new__(
        cls, text: str, id: str = "", arguments: Mapping[str, str] | None = None, plural: str = "", n: int = 0
    ) -> Message:  # fmt: skip
        """Makes a message of all its parts; ``message`` and ``plural`` fill the template themselves."""
        made = super().__new__(cls, text)
        made.id, made.plural, made.n, made.arguments = id, plural, n, dict(arguments or {})
        return made

    def __reduce__(self) -> tuple[type[Message], tuple[Any, ...]]:
        return Message, (str(self), self.id, self.arguments, self.plural, self.n)


def message(template: str, **arguments: object) -> Message:
    """Returns a sentence.

    Args:
        template: English, a literal; ``tools/messages.py`` finds it by this call.
        **arguments: what fills its slots: messages, or what is the same in every language.
    """
    words = {name: each if isinstance(each, str) else str(each) for name, each in arguments.items()}
    return Message(template.format_map(words), template, words)


def plural(one: str, many: str, n: int, **arguments: object) -> Message:
    """Returns a sentence about a number of things: ``one`` is the template for 1, ``many`` for others; {n} is ``n``."""
    words = {"n": str(n), **{name: each if isinstance(each, str) else str(each) for name, each in arguments.items()}}
    return Message((one if n == 1 else many).format_map(words), one, words, many, n)


def with_arguments(text: Message, change: Callable[[str], str]) -> Message:
    """Returns ``text`` with each of its arguments that is no message itself, at any depth, as ``change`` returns it."""
    if not text.id:
        return text
    arguments = {
        name: with_arguments(each, change) if isinstance(each, Message) and each.id else change(each)
        for name, each in text.arguments.items()
    }
    template = text.plural if text.plural and text.n != 1 else text.id
    return Message(template.format_map(arguments), text.id, arguments, text.plural, text.n)


def table_of(value: Any) -> dict[str, Any]:
    """Returns the messages in nested objects and lists, by their English texts, for a record to keep."""
    found: dict[str, Any] = {}
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, Message):
            if each.id and str(each) not in found:
                made: dict[str, Any] = {"id": each.id, "arguments": dict(each.arguments)}
                if each.plural:
                    made |= {"plural": each.plural, "n": each.n}
                found[str(each)] = made
                waiting += each.arguments.values()
        elif isinstance(each, Mapping):
            waiting += each.values()
        elif isinstance(each, (list, tuple)):
            waiting += each
    return found


def with_messages(value: Any, table: Mapping[str, Any]) -> Any:
    """Returns what was recorded with its texts as messages again: the inverse of ``table_of``."""
    if isinstance(value, str):
        plain = table.get(value)
        if plain is None:
            return value
        arguments = {name: with_messages(each, table) for name, each in plain["arguments"].items()}
        return Message(value, plain["id"], arguments, plain.get("plural", ""), plain.get("n", 0))
    if isinstance(value, Mapping):
        return {name: with_messages(each, table) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [with_messages(each, table) for each in value]
    return value


def recorded(record: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a record as JSON keeps it: with the table of its messages under "messages"."""
    table = table_of(record)
    return {**record, "messages": table} if table else dict(record)


def restored(record: Mapping[str, Any]) -> dict[str, Any]:
    """Returns what ``recorded`` was given."""
    read = {name: each for name, each in record.items() if name != "messages"}
    table = record.get("messages")
    return with_messages(read, table) if isinstance(table, Mapping) else read
