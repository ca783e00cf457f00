"""From a failure to what its report says."""

from __future__ import annotations

import ast
import dis
import os
from collections.abc import Sequence

from devsan.diagnosis.source import label_at, shown_path, site_at, site_in_text
from devsan.diagnosis.titles import title_of
from devsan.diagnostics.diagnostic import Diagnostic, Label, Operand, Place
from devsan.introspect.frames.chain import Failure
from devsan.introspect.frames.error_match import Sentence
from devsan.introspect.frames.error_patterns import Kind
from devsan.introspect.frames.expressions import Expression
from devsan.introspect.frames.frames import Frame, Whose, frames_of_failure
from devsan.introspect.frames.operands import operands_in, operands_of_refusal, worth_showing
from devsan.introspect.frames.places import DEVSAN, PYTHON, package_of
from devsan.introspect.frames.subjects import Subject, device_count, generator_in, ordinal_in
from devsan.introspect.frames.tensors import is_tensor, plain_attributes
from devsan.introspect.frames.tracking import Tracked, site_of
from devsan.introspect.models.modules import qualified_name
from devsan.introspect.models.producers import made_by_module
from devsan.introspect.provenance.dropped import dropped_of
from devsan.introspect.provenance.reader import ProvenanceReader

_WITH_OPERANDS = frozenset({Kind.MIXED, Kind.INDEX, Kind.NUMPY, Kind.HOST, Kind.META, Kind.MODULE})
_CALLED = "called from here"


def build(failure: Failure) -> Diagnostic:
    """Returns what can be told about ``failure``. Reads frames and the attributes of tensors, runs nothing."""
    with plain_attributes():
        frames = frames_of_failure(failure)
        sentence = failure.sentence
        within = site_in_text(failure.message)
        if within is not None:  # the frames that matter ran in another thread or process and are gone
            return _from_text(failure, frames, within)
        if not frames:
            return _report(failure, (), (), operands_of_refusal(failure))
        place = site_of(frames)
        if sentence.kind in (Kind.ORDINAL, Kind.GENERATOR):
            return _with_subjects(failure, frames, place)
        operands = operands_in(failure, frames, place) if sentence.kind in _WITH_OPERANDS else []
        return _with_operands(failure, frames, place, operands)


def _with_operands(failure: Failure, frames: list[Frame], place: int, operands: list[Tracked]) -> Diagnostic:
    shown = worth_showing(operands, place, failure.sentence)
    sites = [_site(frames[place], shown, place, failure.sentence)]
    caller = _caller(frames, place)
    if caller is not None:
        sites.append(_site(frames[caller], shown, caller, failure.sentence, note=_CALLED))
    rest = []
    notes = []
    for operand in shown:
        name = operand.at[place].text(frames[place]) if place in operand.at else None
        qualified = qualified_name(operand.value, frames)
        role = operand.role or (failure.sentence.argument if operand.offending else None)
        notes.append(dropped_of(name or qualified or role or "an operand", _number_of(operand)))
        if name is None and (qualified or role or operand.at):
            rest.append(
                Operand(
                    qualified or role,
                    operand.placement,
                    operand.offending,
                    None if qualified else _innermost_name(operand, frames),
                )
            )
        elif name is not None and qualified not in (None, name):
            rest.append(Operand(name, operand.placement, operand.offending, qualified))
    return _report(failure, sites, rest, operands, frames[place], notes)


def _number_of(operand: Tracked) -> int:
    """The number of the placement that an operand carries; 0 where nothing says it."""
    number = ProvenanceReader().origin_of(operand.value)[0] if is_tensor(operand.value) else 0
    return number or operand.origin[0]


def _site(frame: Frame, operands: list[Tracked], place: int, sentence: Sentence, note: str = "") -> Place:
    labels: dict[tuple[int, int, int], Label] = {}
    for operand in operands:
        expression = operand.at.get(place)
        if expression is None:
            continue
        text = _text(operand, expression, place, frame, sentence)
        label = label_at(frame, expression.node, (text,), operand.offending)
        if label is None:
            continue
        where = (label.line, label.start, label.end)
        before = labels.get(where)
        texts = (*before.texts, text) if before is not None else (text,)
        labels[where] = Label(*where, texts, operand.offending or (before is not None and before.offending))
    return site_at(frame, list(labels.values()) or _whole(frame, offending=not note), note)


def _text(operand: Tracked, expression: Expression, place: int, frame: Frame, sentence: Sentence) -> str:
    """Returns a label's words: what is meant if the piece of source does not say it, where it is, torch's name."""
    placement = operand.placement_at(place, frame)
    text = str(placement) if placement is not None else "device not known"
    written = frame.segment(expression.node)
    if expression.path:
        has_name = isinstance(expression.node, (ast.Name, ast.Attribute, ast.Subscript))
        written = expression.text(frame) if has_name else str(operand.role)
        text = f"{written}  {text}"
    name = None if expression.path else operand.parameter
    if operand.offending and sentence.argument is not None:  # torch's sentence must be found again in the labels
        name = sentence.argument + "".join((operand.role or "").partition("[")[1:])
    same_element = name is not None and "[" in name and written.endswith(name[name.index("[") :])
    if name is None or same_element or written == name or written.endswith(f".{name}"):
        return text
    return f"{text}  ({name})"


def _whole(frame: Frame, offending: bool = True) -> list[Label]:
    """The failing expression itself is underlined when nothing in it is."""
    label = label_at(frame, frame.node, offending=offending) if isinstance(frame.node, ast.expr) else None
    return [] if label is None else [label]


def _caller(frames: list[Frame], place: int) -> int | None:
    """The program's own frame that led into a library, when the failing frame is the library's."""
    if frames[place].whose is Whose.PROGRAM:
        return None
    own = [number for number in range(place) if frames[number].whose is Whose.PROGRAM]
    return own[-1] if own else None


def _innermost_name(operand: Tracked, frames: list[Frame]) -> str | None:
    made_by = made_by_module(operand, frames)
    if made_by:
        return f"the output of {made_by}"
    for place in sorted(operand.at, reverse=True):
        return f"{operand.at[place].text(frames[place])} in {shown_path(frames[place].file)}:{frames[place].line}"
    return None


def _with_subjects(failure: Failure, frames: list[Frame], place: int) -> Diagnostic:
    frame, sentence = frames[place], failure.sentence
    subjects: list[Subject] = []
    count = None
    if sentence.kind is Kind.ORDINAL:
        count = device_count()
        subject = ordinal_in(frame, count)
        subjects = [subject] if subject is not None else []
    else:
        subjects = generator_in(frame, sentence.devices[-1], sentence.devices[0])
    found = [label_at(frame, subject.expression.node, (subject.device,), subject.offending) for subject in subjects]
    labels = [label for label in found if label is not None]
    sites = [site_at(frame, labels or _whole(frame))]
    caller = _caller(frames, place)
    if caller is not None:
        sites.append(site_at(frames[caller], note=_CALLED))
    devices = [subject.device for subject in subjects] if sentence.kind is Kind.ORDINAL else list(sentence.devices)
    title = title_of(sentence, None, devices, frame, count)
    return Diagnostic(title=title, sentence=sentence.text, sites=tuple(sites), rank=_rank())


def _from_text(failure: Failure, frames: list[Frame], within: Place) -> Diagnostic:
    sites = [within]
    own = [frame for frame in frames if frame.whose is Whose.PROGRAM]
    if own:
        sites.append(site_at(own[-1], note=_CALLED))
    operands = operands_of_refusal(failure)
    shown = worth_showing(operands, None, failure.sentence)
    rest = [Operand(operand.role, operand.placement, operand.offending) for operand in shown]
    return _report(failure, sites, rest, operands)


def _report(
    failure: Failure, sites: Sequence[Place], rest: Sequence[Operand], operands: list[Tracked],
    frame: Frame | None = None, notes: Sequence[str] = (),
) -> Diagnostic:  # fmt: skip
    sentence = failure.sentence
    placed = [(operand.offending, operand.placement.device) for operand in operands if operand.placement is not None]
    devices = list(
        dict.fromkeys(
            device for offending in (False, True) for is_offending, device in placed if is_offending is offending
        )
    )
    if len(devices) < 2 or sentence.kind not in (Kind.MIXED, Kind.INDEX):
        devices = list(sentence.devices)
    op = str(failure.refusal.op).split(".")[0] if failure.refusal is not None else sentence.op
    title = title_of(sentence, op, devices, frame, None)
    return Diagnostic(
        title=title, sentence=sentence.text, source=_source(failure), sites=tuple(sites), operands=tuple(rest),
        notes=tuple(note for note in notes if note), rank=_rank(),
    )  # fmt: skip


def _source(failure: Failure) -> str:
    """Returns whose words the sentence is: a library's that raises it itself, or else torch's."""
    if failure.sentence.speaker or failure.refusal is not None:
        return failure.sentence.speaker or "torch"
    trace = failure.trace
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return "torch"
    code = trace.tb_frame.f_code
    raises = dis.opname[code.co_code[trace.tb_lasti]] == "RAISE_VARARGS"  # else C++ does, below the frame
    package = package_of(code.co_filename) if raises else "torch"
    return package if package not in ("", PYTHON, DEVSAN) else "torch"


def _rank() -> str | None:
    """Returns this process's rank when it is one of several."""
    return os.environ.get("RANK") if os.environ.get("WORLD_SIZE", "1") not in ("", "1") else None
