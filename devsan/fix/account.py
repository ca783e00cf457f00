"""From the experiments to their result: what each came to, in sentences, and which fix is the best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from devsan.diagnostics.codes import UNDECIDED, name_of
from devsan.diagnostics.messages import Message, message, plural
from devsan.errors import DevsanError
from devsan.fix.candidates import KINDS
from devsan.fix.change import COPIES, DRAWS, TRAINS, Change, applied
from devsan.fix.experiment import Outcome
from devsan.fix.failure import is_own
from devsan.fix.outcome import is_by_luck
from devsan.fix.patch import FilePatch, patches
from devsan.fix.result import STATUSES, Cost, FixResult, TriedFix, UpstreamPatch
from devsan.fix.search import Search
from devsan.fix.trial import Trial
from devsan.fix.working_tree import WorkingTree
from devsan.render.amounts import plain_amount
from devsan.render.unified_diff import replaced

Plain = Mapping[str, Any]

_OF_STEPS = ("loss", "gradients", "weights")


def result_of(found: Search, command: Sequence[str], directory: str) -> FixResult:
    """Returns the result of ``found``.

    Args:
        found: a search that has ended, or was stopped.
        command: what was to be fixed, as it was typed.
        directory: where it ran.
    """
    failing = found.failing or found.first
    findings = list(failing.findings) if failing is not None else []
    tree = WorkingTree.around(directory)
    first = findings[0] if findings else None
    tried = [_tried(trial, first, tree) for trial in found.trials]
    tried += [_described((change,), "offered", tree) for change in found.untried]
    fixes = tuple(sorted(tried, key=_rank))
    verified = [fix for fix in fixes if fix.status == "verified"]
    patch = next((_patch(fix, first, tree) for fix in verified if not fix.is_own and first is not None), None)
    ended = failing is not None and failing.ended and not findings
    return FixResult(
        "fixed" if verified else "nothing to fix" if ended else "not fixed", tuple(command), directory,
        None if failing is None or failing.reported is None else _decided(failing.reported, fixes),
        tuple(dict.fromkeys((_where(each), each["headline"]) for each in findings[1:])),
        fixes, patch, next((str(fix.reason) for fix in fixes if fix.status == "unverified"), ""),
        "" if findings or ended or failing is None else _failed(failing) if failing.timed_out else failing.failure,
        found.experiments, found.seconds, found.difference, failing is not None and failing.timed_out and not findings,
    )  # fmt: skip


def patches_of(fix: TriedFix | None, found: Search) -> list[FilePatch]:
    """Returns what ``fix`` writes. ``found`` is the search that it came of."""
    trial = next((each for each in found.trials if fix is not None and _texts(each.changes) == fix.texts), None)
    return [] if trial is None else patches(_changed(trial.changes))


def _changed(changes: Sequence[Change]) -> dict[str, str]:
    return applied(changes)


def _texts(changes: Sequence[Change]) -> tuple[str, ...]:
    return tuple(change.text for change in changes)


def _described(changes: Sequence[Change], status: Any, tree: WorkingTree, **known: Any) -> TriedFix:
    try:
        diff = tree.diff(patches(_changed(changes)))
    except DevsanError:  # it did not fit
        diff = ""
    lines = sum(max(len(each.before), len(each.after)) for each in replaced(diff))
    edits = tuple(edit for change in changes for edit in change.edits)
    return TriedFix(
        status, _texts(changes), tuple(dict.fromkeys(change.kind for change in changes)),
        _codes(changes), edits, diff, lines,
        all(is_own(edit.place.path or edit.place.file) for edit in edits if edit.place.file.endswith(".py")), **known,
    )  # fmt: skip


def _codes(changes: Sequence[Change]) -> tuple[str, ...]:
    """The codes of the causes that propose them; none where none proposes the first: others mend what fails next."""
    codes = [change.code for change in changes if change.code]
    return tuple(dict.fromkeys(codes)) if changes and changes[0].code else ()


def _tried(trial: Trial, first: Plain | None, tree: WorkingTree) -> TriedFix:
    outcome, comparison = trial.outcome, trial.comparison
    cost = cost_of(outcome) if outcome is not None and outcome.ended else None
    naive = first is not None and len(trial.changes) == 1 and _is_naive(trial.changes[0], first)
    evidence: list[str] = []
    reason: str = ""
    if cost is not None:
        evidence.append(message("the program runs to its end"))
        if comparison is not None and comparison.equal:
            what = _compared(comparison.compared, cost.steps)
            if trial.altered == DRAWS:
                evidence.append(message("equal to one device with the same random numbers: {what}", what=what))
            elif trial.altered == COPIES:
                evidence.append(
                    message("equal to one device with this change, which copies or shares a tensor: {what}", what=what)
                )
            elif trial.altered == TRAINS:
                evidence.append(
                    message("equal to one device with this change, which trains more parameters: {what}", what=what)
                )
            else:
                evidence.append(message("equal to one device: {what}", what=what))
        evidence.append(cost_in_words(cost))
        if trial.crosses:
            evidence.append(message("a rank holds memory of the GPU of another rank"))
        if trial.vacated:
            evidence.append(
                message("little or nothing of the model is left on {devices}", devices=", ".join(trial.vacated))
            )
    if trial.status == "rejected" and comparison is not None:
        reason = message("it computes something else: {difference}", difference=comparison.difference)
    elif trial.status == "unverified":
        reason = message("as on one device the program does not end: there is nothing to compare with")
        if comparison is not None and comparison.impossible:
            reason = comparison.impossible
    elif trial.status == "same":
        reason = message("the same failure")
    elif trial.status == "other" and outcome is not None and outcome.only_warns:
        reason = message("leaves {place}: {what}", place=_where(outcome.findings[0]),
                         what=outcome.findings[0]["headline"])  # fmt: skip
    elif trial.status == "other" and outcome is not None:
        reason = message("fails at {place}: {what}", place=_where(outcome.findings[0]),
                         what=outcome.findings[0]["headline"])  # fmt: skip
    elif trial.status == "failed":
        reason = _failed(outcome)
    return _described(trial.changes, trial.status, tree, is_naive=naive, evidence=tuple(evidence), reason=reason,
                      cost=cost, crosses=trial.crosses, vacated=trial.vacated)  # fmt: skip


def _failed(outcome: Outcome | None) -> str:
    if outcome is None:
        return message("it does not fit the source")
    if outcome.timed_out:
        return message("stopped after {seconds} s", seconds=f"{outcome.seconds:.0f}")
    return message("ends with {error}", error=outcome.error or str(outcome.exit_code))


def _rank(fix: TriedFix) -> tuple[int, bool, bool, int, int, int]:
    """The best place first: the user's own files, each rank on its own GPU, the fewest lines, the least traffic."""
    kind = max((KINDS.index(kind) if kind in KINDS else len(KINDS) for kind in fix.kinds), default=0)
    moved = fix.cost.transferred_in_all if fix.cost else 0
    return (STATUSES.index(fix.status), not fix.is_own, fix.crosses or bool(fix.vacated), fix.lines, moved, kind)


def _is_naive(change: Change, first: Plain) -> bool:
    """Whether it only appends ``.to(device)`` to operands where the operation failed."""
    site = first["sites"][0] if first["sites"] else None
    return site is not None and all(
        (edit.place.path or edit.place.file, edit.place.line) == (site["path"], site["line"])
        and edit.after.startswith((f"{edit.before}.to(", f"({edit.before}).to("))
        for edit in change.edits
    )


def cost_of(outcome: Outcome) -> Cost:
    """Returns what a run took: of transfers between GPUs those of a step, where what comes back does so in every step.

    What comes from the host is the same with every fix, and most of it is the loading of weights.
    """
    steps = max((sum(event["kind"] == "loss" for event in events) for events in outcome.numbers.values()), default=0)
    between = [place for place in outcome.places if "cpu" not in (place["from"], place["to"])]
    coming_back = [place for place in between if place["times"] > 1]
    per_step = steps > 1 and bool(coming_back) and all(place["times"] >= steps for place in coming_back)
    per, counted = (steps, coming_back) if per_step else (1, between)
    times, size = (sum(place[key] // per for place in counted) for key in ("times", "bytes"))
    in_all = sum(place["bytes"] for place in between)
    return Cost(steps, times, size, dict(outcome.peaks), outcome.seconds, per_step, in_all)


def cost_in_words(cost: Cost) -> Message:
    """Returns transfers and peaks as one sentence."""
    size = plain_amount(cost.transferred)
    if cost.per_step:
        moved = plural("{n} transfer between GPUs per step, {size}", "{n} transfers between GPUs per step, {size}",
                       cost.transfers, size=size)  # fmt: skip
    else:
        moved = plural("{n} transfer between GPUs, {size}", "{n} transfers between GPUs, {size}", cost.transfers,
                       size=size)  # fmt: skip
    if cost.transfers == 0:
        moved = message("no transfers between GPUs")
    peaks = ", ".join(f"{device} {plain_amount(size)}" for device, size in sorted(cost.peaks.items()) if size)
    return message("{moved}; peak {peaks}", moved=moved, peaks=peaks) if peaks else moved


def _compared(compared: Mapping[str, int], steps: int) -> Message:
    """What was found equal: "losses, gradients and weights of 20 steps, 2 outputs"."""
    words = {"loss": message("losses"), "gradients": message("gradients"), "weights": message("weights")}
    trained = [words[kind] for kind in _OF_STEPS if compared.get(kind)]
    parts = []
    if trained:
        parts.append(plural("{what} of {n} step", "{what} of {n} steps", max(steps, 1), what=_listed(trained)))
    if compared.get("output"):
        parts.append(plural("{n} output", "{n} outputs", compared["output"]))
    if compared.get("state"):
        parts.append(plural("{n} final value", "{n} final values", compared["state"]))
    if compared.get("value") and not parts:
        parts.append(plural("{n} value that is read", "{n} values that are read", compared["value"]))
    if compared.get("call"):
        parts.append(plural("the result of {n} call", "the results of {n} calls", compared["call"]))
    return _listed(parts)


def _listed(parts: Sequence[Message]) -> Message:
    if len(parts) == 1:
        return parts[0]
    made = message("{first} and {last}", first=parts[-2], last=parts[-1])
    for part in parts[-3::-1]:
        made = message("{first}, {rest}", first=part, rest=made)
    return made


def _decided(finding: Plain, fixes: Sequence[TriedFix]) -> dict[str, Any]:
    """The failure with the cause that the experiments decided, and without the fixes that were tried.

    The best verified fix decides if it mends one cause alone: what runs with a key that has the device in it failed for
    the key. Undecided it stays where the verified fixes are of several causes, or of none.
    """
    made = {**finding, "severity": "warning" if is_by_luck(finding) else "error"}
    tried = {fix.texts[-1] for fix in fixes if fix.texts and fix.status != "offered"}
    verified = [fix for fix in fixes if fix.status == "verified"]
    if verified:
        made |= {"fixes": [], "naive_fix": ""}
    else:
        made["fixes"] = [fix for fix in finding["fixes"] if fix["text"] not in tried]
    deciding = verified if finding["code"] == UNDECIDED else verified[:1]
    named = {code for fix in deciding for code in fix.codes}
    if len(named) == 1 and finding["code"] not in named:
        [code] = named
        seen = [each for each in finding["evidence"] if each.startswith(f"{code}: ")]
        shown = [getattr(each, "arguments", {}).get("sentence", each) for each in seen]
        fix = next(fix for fix in verified if code in fix.codes)
        proof = message("With the change of this cause the program runs to its end and computes the same: {change}.",
                        change=fix.texts[0])  # fmt: skip
        # The title was the other cause's.
        made |= {"code": code, "name": name_of(code), "confidence": "certain", "candidates": [],
                 "title": finding["headline"], "evidence": shown or [proof]}  # fmt: skip
    return made


def _patch(fix: TriedFix, finding: Plain | None, tree: WorkingTree) -> UpstreamPatch:
    """The patch for the maintainers, in English whatever the reader's language is."""
    texts = [str(text).replace("`", "") for text in fix.texts]
    subject = "; ".join(texts)
    why = [f"{finding['headline']}: {finding['sentence']}" if finding is not None else ""]
    why.append(f"With this change {'; '.join(map(str, fix.evidence))}.")
    return UpstreamPatch("\n\n".join([subject[:1].upper() + subject[1:], *(each for each in why if each)]), fix.diff)


def _where(finding: Plain) -> str:
    site = finding["sites"][0] if finding["sites"] else None
    return ":".join(str(site[key]) for key in ("file", "line", "column") if site[key]) if site else ""
