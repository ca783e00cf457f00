"""Runs the trials of one subject on both devices."""

from __future__ import annotations

import time
import zlib
from collections import Counter
from collections.abc import Iterator
from typing import Any

import torch
from torch.utils import _pytree as pytree

from .comparison import Comparison
from .kinds import KINDS, Trial
from .known import read
from .outcome import Outcome, evaluate
from .placing import Placer, tensors
from .report import Report
from .samples import Sample, Subject, error_samples, samples
from .values import crashes, is_close, is_lacked, is_random

CPU, GPU = torch.device("cpu"), torch.device("cuda:1")
# Where the other kinds make no sense: their samples cannot be changed tensor by tensor, or have one type.
FEW = {"nested": ("forward", "backward"), "custom": ("forward", "backward"), "cuda_types": ("forward",)}


def form_of(sample: Sample) -> str:
    """Which operands a sample has, and of what types: a mask or a weight makes another form, a size does not."""

    def kind(leaf: Any) -> Any:
        tensor = isinstance(leaf, torch.Tensor)
        return (leaf.dtype, leaf.layout, leaf.requires_grad) if tensor else type(leaf)

    leaves, structure = pytree.tree_flatten(sample.tree)
    return repr((structure, [kind(leaf) for leaf in leaves]))


def limited(subject: Subject, limit: float) -> Iterator[tuple[str, int, Trial]]:
    """The trials of a subject, with the kind and the number of the sample.

    Caps do not hold for the first sample of a form: torch's lists often end with the rarest operands.
    """
    torch.manual_seed(zlib.crc32(str(subject).encode()))
    seen: Counter[str] = Counter()
    forms: set[str] = set()
    for index, sample in enumerate(samples(subject)):
        form = form_of(sample)
        new = limit > 0 and form not in forms
        forms.add(form)
        for kind in KINDS:
            if kind.name not in FEW.get(subject.database, (kind.name,)):
                continue
            below = seen[kind.name] < max(1, kind.cap * limit)
            if (below or new) and not crashes(subject, kind.name):
                for trial in kind.trials(subject, sample):
                    seen[kind.name] += 1
                    yield kind.name, index, trial
    if subject.database == "op_db" and subject.dtype == torch.float32:
        for index, sample in enumerate(error_samples(subject)):
            yield "errors", index, Trial(sample, sample.call)


def placed(trial: Trial, device: torch.device) -> Any:
    return Placer(device).tree(trial.sample.tree, trial.change)


def run(trial: Trial, device: torch.device) -> Outcome:
    tree = placed(trial, device)
    if device.type == "cuda" and not tensors(tree):
        with device:
            return evaluate(trial.call, tree, trial.order)
    return evaluate(trial.call, tree, trial.order)


def differences(subject: Subject, kind: str, trial: Trial) -> tuple[list[str], Outcome, Outcome]:
    expected = run(trial, CPU)
    got = run(trial, GPU)
    sample = trial.sample
    random, close = sample.random or is_random(subject, kind), sample.close or is_close(subject)
    comparison = Comparison(expected, got, GPU, random, close)
    return list(comparison.differences()), expected, got


def judge(subject: Subject, limit: float) -> Report:
    report = Report(str(subject))
    start = time.process_time()
    if any(entry.once and entry.covers(str(subject), "*") for entry in read()):
        limit = 0
    try:
        for kind, index, trial in limited(subject, limit):
            found, expected, got = differences(subject, kind, trial)
            if is_lacked(expected) and got.error is None:
                report.lacked[kind] += 1
            elif found:
                report.failing.append((kind, index, [difference[:400] for difference in found[:6]]))
            else:
                report.agreeing[kind] += 1
                report.refused[kind] += expected.error is not None
    except Exception as error:  # a sample could not be made or moved
        report.failing.append(("samples", -1, [f"{type(error).__name__}: {str(error)[:400]}"]))
    report.seconds = time.process_time() - start
    return report
