"""Run the tests of accelerate, PEFT, Lightning and PyTorch on emulated GPUs, and compare with the plain CPU.

    tools/suites.sh                                                       every suite that there is a checkout for
    tools/suites.sh accelerate --file test_hooks.py
    tools/suites.sh torch --checkout torch=<folder> --file nn/test_pooling.py --every 4

The files are other people's: they are read from a checkout, or from the source archive of the installed version on
PyPI, and none is kept here. A failure that is known stands with its reason in tools/suites/known/<suite>.txt; one that
a plain CPU has with the same sentence is the environment's. The exit code is 1 if a failure is neither.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import os
import sys
from pathlib import Path

from checkout import NoCheckout, find, installed
from comparison import COUNTS, Verdict, count, run_file
from known import Unreadable, read_known
from session import Session
from suite import KNOWN, SUITES, Suite


def main() -> int:
    """Returns 0, 1 if a failure is new, or 2 if a suite that was asked for by name cannot be run."""
    options = _parser().parse_args()
    given = dict(each.partition("=")[::2] for each in options.checkout)
    if given.keys() - SUITES:
        options.parser.error(f"--checkout: expected a name of {', '.join(SUITES)}, got {min(given.keys() - SUITES)}")
    code = 0
    for name in options.suites or SUITES:
        suite = SUITES[name]
        try:
            folder = find(suite, Path(given[name]) if name in given else _beside(name), options.folder)
            code = max(code, _run(suite, folder, options))
        except (NoCheckout, Unreadable) as error:
            print(f"suites: {error}", file=sys.stderr)
            code = 2 if options.suites or isinstance(error, Unreadable) else code
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "tools/suites.sh", None, __doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("suites", nargs="*", metavar="suite", help=f"of {', '.join(SUITES)} (default: all)")
    place = "where its sources lie; SUITES=<folder> in the environment names the folder of such folders"
    parser.add_argument("--checkout", action="append", default=[], metavar="SUITE=FOLDER", help=place)
    parser.add_argument("--file", action="append", help="only this file of the tests' folder; may be repeated")
    parser.add_argument("--every", type=int, default=1, help="run only every N-th test of a file")
    parser.add_argument("--jobs", type=int, default=2, help="files at once")
    parser.add_argument("--limit", type=float, default=120, help="seconds for one test")
    parser.add_argument("--gpus", default="2", help="as in devsan run")
    parser.add_argument("--memory", default="4GiB", help="as in devsan run; tests that need more skip themselves")
    parser.add_argument("--folder", type=Path, default=Path("build/suites"), help="where archives are unpacked")
    parser.add_argument("--known", type=Path, default=KNOWN, help="folder of the known failures, <suite>.txt")
    parser.add_argument("--list", type=Path, help="write every failure, with its error, to this file")
    parser.set_defaults(parser=parser)
    return parser


def _beside(name: str) -> Path | None:
    folder = Path(os.environ.get("SUITES", "")) / name
    return folder if os.environ.get("SUITES") and folder.is_dir() else None


def _run(suite: Suite, folder: Path, options: argparse.Namespace) -> int:
    """Runs a suite and prints a table in Markdown, as docs/reference/suites.md has it."""
    packages = options.folder.resolve() / "packages"
    session = Session(suite, folder, options.gpus, options.memory, options.limit, options.every,
                      packages if packages.is_dir() else None)  # fmt: skip
    known = read_known(options.known / f"{suite.name}.txt")
    print(f"\n{suite.distribution} {installed(suite)}, {folder.name}\n\n| file | {' | '.join(COUNTS)} |")
    print(f"| --- {'| ---: ' * len(COUNTS)}|", flush=True)
    every: list[Verdict] = []
    files = options.file or suite.files
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for file, verdicts in zip(files, pool.map(lambda file: run_file(session, file, known), files), strict=True):
            print(f"| {file} | {' | '.join(map(str, count(verdicts)))} |", flush=True)
            every += verdicts
    print(f"| together | {' | '.join(map(str, count(every)))} |", flush=True)
    new = [each for each in every if each.mark == "new"]
    for each in new:
        print(f"new: {each.outcome.outcome} {each.test}  {each.outcome.text[:200]}", flush=True)
    if options.list:
        with options.list.open("a") as stream:
            for each in every:
                if each.mark not in ("passed", "skipped"):
                    stream.write(f"{each.mark} {each.outcome.outcome} {each.test}  {each.outcome.text}\n")
    return 1 if new else 0


if __name__ == "__main__":
    sys.exit(main())
