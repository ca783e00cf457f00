"""From the words of an error alone to codes: for ``devsan explain "<error>"``.

One sentence may have many causes, which only the run that failed can tell apart. So what is returned is a list, from
three sources: the wordings of the manifests; the diagnosis, of a failure of which nothing is known but its sentence;
and the pages, each of which shows the sentence that its example stops with.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from difflib import SequenceMatcher

from devsan.core_library import core_with_torch
from devsan.diagnosis.build import build
from devsan.diagnosis.cause import explained
from devsan.diagnostics.codes import UNDECIDED, Code, all_codes, find_code
from devsan.introspect.frames.chain import failure_of
from devsan.introspect.frames.error_patterns import Kind

_CODE = re.compile(r"\bDV\d{3}\b")
_SHOWN = re.compile(r"^```text\n(.*?)^```", re.MULTILINE | re.DOTALL)
_CHECKED = re.compile(r" \(when checking argument[^)]*\)")  # the same in every sentence of torch's checks
_MISMATCH = "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cuda:1!"
_WITH_HOST = _MISMATCH.replace("cuda:1", "cpu")
_TWO_DEVICES = "but found at least two devices"
_ONE_OPERAND = re.compile(r"but got \w+ is on (\S+), different from other tensors on (\S+)")
_DEVICES = {"cuda", "cpu", "meta"}
_WORD = re.compile(r"\w+|[^\w\s]")
_TELLING = re.compile(r"[^\W\d]\w{3,}")
_ALIKE = 0.8  # of two sentences: the same but for an argument's name and its method
_KNOWN = 0.6  # of the weight of a sentence's words, to be on a page
_AHEAD = 1.2  # of the page that comes next
_FEWEST = 3
_QUOTED = 6  # words and marks of a sentence that are enough of it


def codes_of(text: str) -> list[Code]:
    """Returns the codes whose error ``text`` is, or holds, the likeliest first; none where no error is known."""
    found = [each for each in _CODE.findall(text) if find_code(each) is not None]
    if not found:
        found = [each for each, code in all_codes().items() if any(wording in text for wording in code.wordings)]
    if not found:
        found = [each for whole in _wholes(text) for each in _codes_of(whole)]
    known = all_codes()
    return [known[each] for each in dict.fromkeys(found)]


def nearest_page(text: str) -> Code | None:
    """Returns the code whose page has the words of ``text``; None where none has, or several."""
    pages = {each: set(_TELLING.findall(code.page().lower())) for each, code in all_codes().items()}
    seen = Counter(word for words in pages.values() for word in words)
    asked = set(_TELLING.findall(text.lower()))
    weights = {word: math.log((1 + len(pages)) / (1 + seen[word])) for word in asked}
    if len(asked) < _FEWEST:
        return None
    scores = sorted((sum(weights[word] for word in asked & words), each) for each, words in pages.items())
    (second, _), (best, code) = scores[-2:]
    return find_code(code) if best >= _KNOWN * sum(weights.values()) and best >= _AHEAD * second else None


def _wholes(text: str) -> tuple[str, ...]:
    """The sentences that were meant: of a mismatch, people quote what is before the devices, or a few words of it."""
    words = _MISMATCH.partition(",")[0]
    quoted = "".join(text.partition(words)[1:]).rstrip(".,!")
    is_cut = quoted != "" and _MISMATCH.startswith(quoted) and not _DEVICES.intersection(_words(quoted))
    if is_cut:
        return (_MISMATCH, _WITH_HOST, text)
    part = text.strip(" .,!").lower()
    meant = tuple(each for each in (_MISMATCH, _WITH_HOST) if part in each.lower())
    return meant if meant and not quoted and len(part.split()) >= _FEWEST else (text,)


def _codes_of(text: str) -> list[str]:
    shown, diagnosed = _shown_by_pages(text), _diagnosed(text)
    found = [each for each in diagnosed if each in shown] + (shown + diagnosed if len(diagnosed) < 2 else [])
    return found + diagnosed + shown


def _shown_by_pages(text: str) -> list[str]:
    lines = [_words(line) for line in text.splitlines() if line.strip()]
    found = []
    for each, code in all_codes().items():
        lines_of_page = [line for block in _SHOWN.findall(code.page()) for line in block.splitlines()]
        if _TWO_DEVICES in text:  # some kernels name an operand instead
            lines_of_page = [_ONE_OPERAND.sub(rf"{_TWO_DEVICES}, \1 and \2!", line) for line in lines_of_page]
        sentences = [_words(line) for line in lines_of_page]
        alike = max((_alike(line, sentence) for line in lines for sentence in sentences if sentence), default=0.0)
        if alike >= _ALIKE:
            found.append((-alike, each))
    return [each for _, each in sorted(found)]


def _alike(line: list[str], sentence: list[str]) -> float:
    """How much of ``sentence`` is in ``line``, which may have more around it. A GPU is not alike a CPU."""
    if _DEVICES.intersection(line) != _DEVICES.intersection(sentence):
        return 0.0
    blocks = SequenceMatcher(None, line, sentence, autojunk=False).get_matching_blocks()
    if len(line) >= _QUOTED and max(block.size for block in blocks) == len(line):
        return 1.0  # a part of it, as people quote it
    first, last = blocks[0].a, max((block.a + block.size for block in blocks), default=0)
    return 2 * sum(block.size for block in blocks) / (len(sentence) + last - first)


def _words(text: str) -> list[str]:
    """The words, without what is another in each program: the numbers of devices, sizes and what is quoted."""
    text = _CHECKED.sub("", re.sub(r"\b(cuda|cpu|meta):\d+\b", r"\1", text))
    return _WORD.findall(re.sub(r"\d+(?:\.\d+)?", "0", re.sub(r"'[^']*'|\"[^\"]*\"|`[^`]*`", "*", text)))


def _diagnosed(text: str) -> list[str]:
    if core_with_torch() is None:
        return []
    error = RuntimeError(text)
    try:
        exec(compile("raise error", "<error>", "exec"), {"error": error})
    except RuntimeError:
        assert error.__traceback__ is not None
        trace = error.__traceback__.tb_next  # nothing of this file is evidence
    failure = failure_of(error, trace)
    if failure is None:
        return []
    report, _ = explained(build(failure), failure)
    if report.code not in ("", UNDECIDED):
        return [report.code]
    candidates = [code for code, _ in report.candidates]
    # Any cause of a mismatch may have an index for its operand.
    mismatch = _WITH_HOST if "(cpu)" in text else _MISMATCH
    return candidates or (_shown_by_pages(mismatch) if failure.sentence.kind is Kind.INDEX else [])
