"""No report names a tensor that never reached the operator, and none leaves out a name that the source has.

Programs are drawn by seeds (names/programs.py), so that their true operands are known without DevSan. A drawn part is
run by default; the whole, with its figures by class of program:

    python tests/python/introspect/test_names.py 0 500
"""

from __future__ import annotations

import gc
import sys
import tempfile
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # for the package `names`

from names.check import CheckResult, check
from names.program import Program
from names.programs import program

import devsan
from devsan.diagnosis import cause

DRAWN = range(1000, 1024)
MOST_UNNAMED = 0.03


def verdicts(seeds: range, folder: Path) -> Iterator[tuple[int, Program, CheckResult]]:
    """Yields what is wrong with the reports on the programs of ``seeds``."""
    with devsan.emulate(gpus=2), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in seeds:
            gc.collect()  # another program's models are no part of this one
            made = program(seed)
            yield seed, made, check(made, folder, seed)


@pytest.mark.long
def test_no_report_names_what_never_reached_the_operator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(cause, "_SECONDS", 60.0)  # of a busy machine
    found = list(verdicts(DRAWN, tmp_path))
    checked = [each for each in found if not each[2].skipped]
    assert len(checked) >= 0.9 * len(found)
    wrong = [f"{seed}: {made.label}: {text}" for seed, made, result in checked for text in result.wrong]
    assert not wrong
    led_back = [f"{seed}: {made.label}: {text}" for seed, made, result in checked for text in result.led_back]
    assert not led_back
    unnamed = [f"{seed}: {made.label}: {text}" for seed, made, result in checked for text in result.unnamed]
    assert len(unnamed) <= max(1, MOST_UNNAMED * sum(result.named for *_, result in checked)), unnamed


def main(first: int, count: int) -> None:
    """Prints the figures of ``count`` programs, from the seed ``first`` on."""
    cause._SECONDS = 60.0
    figures: dict[str, Counter[str]] = defaultdict(Counter)
    with tempfile.TemporaryDirectory() as folder:
        for seed, made, result in verdicts(range(first, first + count), Path(folder)):
            if result.skipped:
                figures["all"]["skipped"] += 1
                continue
            for text in (*result.wrong, *result.unnamed, *result.led_back):
                print(f"{seed}: {made.label}: {text}", flush=True)
            for name in ("all", *made.family.split("+")):
                figures[name].update(
                    programs=1, wrong=bool(result.wrong), named=result.named, unnamed=len(result.unnamed),
                    edits=result.edits, mended=result.fixed, led_back=len(result.led_back),
                )  # fmt: skip
            if figures["all"]["programs"] % 25 == 0:
                print(dict(figures["all"]), flush=True)
    for name, counts in sorted(figures.items()):
        print(f"{name:32}" + "".join(f"  {word} {number}" for word, number in counts.items()))


if __name__ == "__main__":
    main(*(int(word) for word in sys.argv[1:3])) if sys.argv[2:] else main(0, 500)
