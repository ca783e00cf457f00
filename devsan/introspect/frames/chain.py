"""Which of the exceptions that hang together holds the refusal: libraries wrap torch's error in their own."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from types import TracebackType

from devsan import core
from devsan.introspect.frames.error_match import Sentence, recognize
from devsan.introspect.frames.error_patterns import Kind

_BOOKS = "__devsan_books__"


@dataclass(frozen=True)
class Failure:
    """A refusal and what is known of it.

    Attributes:
        message: the whole text of the exception.
        sentence: the refusal in it.
        trace: where it was raised.
        outer: where the exception that was not caught was raised; the same one unless it was wrapped.
        refusal: the core's facts (``devsan._core.Refusal``), None when the core did not refuse it.
        error: the exception that holds it; None where there is none, or not yet.
    """

    message: str
    sentence: Sentence
    trace: TracebackType | None
    outer: TracebackType | None
    refusal: core.Refusal | None = None
    error: BaseException | None = None

    def is_new_to(self, book: str) -> bool:
        """Returns whether ``book`` is asked to count this failure for the first time.

        The exception itself remembers it: a table of exceptions would keep the tensors in their frames alive.
        """
        if self.error is None:
            return True
        books: set[str] = vars(self.error).setdefault(_BOOKS, set())
        is_new = book not in books
        books.add(book)
        return is_new


def failure_of(error: BaseException, trace: TracebackType | None) -> Failure | None:
    """Returns the refusal behind ``error``, the innermost exception that holds the same sentence; None without one."""
    found: Failure | None = None
    for link in links_of(error):
        try:
            message = str(link)
        except Exception:  # a library's own __str__
            continue
        refusal = _refusal_in(message)
        sentence = recognize(message if refusal is None else refusal.message)
        if sentence is None and refusal is not None:  # torch's words changed; what the core knows still holds
            sentence = Sentence(Kind.MIXED, refusal.message.splitlines()[0])
        if sentence is None or (found is not None and found.sentence.text != sentence.text):
            continue
        own = trace if link is error else link.__traceback__
        found = Failure(message, sentence, own or (found.trace if found else None), trace, refusal, link)
    return found


def links_of(error: BaseException) -> Iterator[BaseException]:
    """Yields ``error``, then what it was raised from and the members of groups, each once."""
    waiting, seen = [error], set()
    while waiting:
        link = waiting.pop(0)
        if id(link) in seen:
            continue
        seen.add(id(link))
        yield link
        members = getattr(link, "exceptions", ())  # ExceptionGroup, from Python 3.11 on
        if isinstance(members, (list, tuple)):
            waiting.extend(member for member in members if isinstance(member, BaseException))
        inner = link.__cause__ or (None if link.__suppress_context__ else link.__context__)
        if inner is not None:
            waiting.append(inner)


def _refusal_in(message: str) -> core.Refusal | None:
    loaded = "devsan._core" in sys.modules  # never loaded for the report's sake: it may be for another torch
    return core.refusal_in(message) if loaded and core.is_here() else None
