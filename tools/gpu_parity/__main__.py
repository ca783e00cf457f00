"""Compare the emulation with a real GPU: `make gpu-parity`.

Each subject is a list of rows. A row is observed twice, on the GPU and on an emulated one of the same model, in
processes of their own, and every difference is printed. Where there is no GPU, the emulation is compared with what was
recorded on one (tools/gpu_parity/recorded). `--emulated` observes the emulation on both sides, which tries the tool:
there are no differences then.

Exit status: 0 when all agree, 1 when some rows differ, 2 when there is nothing to compare with.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import recording
from sides import PATHS, Observed, Side, environment

sys.path[:0] = map(str, PATHS)
SUBJECTS = ("properties", "device_checks", "operators", "kernels", "setups", "training", "reports")
GPU = """
import json, torch
print(json.dumps([torch.cuda.is_available() and torch.cuda.get_device_name(), torch.__version__]))
"""


def profile_of(name: str) -> str:
    """The profile of the GPU that CUDA calls `name`, empty if there is none."""
    from devsan import profiles

    return next((profile.key for profile in profiles.all_profiles().values() if profile.name == name), "")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make gpu-parity", description=__doc__)
    parser.add_argument("subjects", nargs="*", metavar="SUBJECT", help=f"of {', '.join(SUBJECTS)} (default: all)")
    parser.add_argument("--profile", help="the emulated GPU (default: that of the same name; without one h100-80g)")
    parser.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 2) - 2), help="processes of a side")
    parser.add_argument("--seconds", type=float, default=3600, help="where a subject is cut off (default: %(default)s)")
    parser.add_argument("--only", default="", help="rows whose title matches this regular expression")
    parser.add_argument("--emulated", action="store_true", help="observe the emulation on both sides")
    parser.add_argument(
        "--record", action="store_true", help="keep what was observed on the GPU for machines without one"
    )
    parser.add_argument("--out", type=Path, help="a folder for what was observed, a JSON file for each subject")
    options = parser.parse_args()
    unknown = [name for name in options.subjects if name not in SUBJECTS]
    if unknown:
        parser.error(f"expected subjects of {', '.join(SUBJECTS)}, got {', '.join(unknown)}")
    return options


def observed(subject: str, options: argparse.Namespace, known: Observed | None) -> tuple[Observed, Observed]:
    """What both sides say; the first is `known` where it was recorded."""
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(2) as pool:
        module = importlib.import_module(f"subjects.{subject}")
        if hasattr(module, "prepare"):
            module.prepare(Path(scratch))
        emulated = pool.submit(Side(subject, False, options, Path(scratch)).observed)
        if known is not None:
            real = {title: said for title, said in known.items() if re.search(options.only, title)}
        else:
            real = Side(subject, not options.emulated, options, Path(scratch)).observed()
        return real, emulated.result()


def main() -> int:
    options = parse()
    asked = subprocess.run([sys.executable, "-c", GPU], env=environment(), capture_output=True, text=True, check=True)
    name, version = json.loads(asked.stdout.splitlines()[-1])
    if name and not options.profile:
        options.profile = profile_of(name)
        if not options.profile:
            print(f"gpu-parity: no profile is called {name}; choose one with --profile")
            return 2
    options.profile = options.profile or "h100-80g"
    recorded = None if name or options.emulated else recording.read(options.profile)
    if recorded is None and not name and not options.emulated:
        print(f"gpu-parity: there is no GPU on this machine, and nothing was recorded on {options.profile}")
        return 2
    side = f"{name}, torch {version}" if name else "the emulation"
    if recorded is not None:
        side = f"{recorded.gpu}, torch {recorded.torch}, as recorded"
    wanted = options.subjects or [one for one in SUBJECTS if recorded is None or one in recorded.subjects]
    differing = 0
    for subject in wanted:
        if recorded is not None and subject not in recorded.subjects:
            print(f"gpu-parity: {subject} was not recorded on {options.profile}: it needs the GPU")
            return 2
        begun = time.monotonic()
        real, emulated = observed(subject, options, None if recorded is None else recorded.subjects[subject])
        texts, apart, summary = importlib.import_module(f"subjects.{subject}").compared(real, emulated)
        print("\n".join(texts), flush=True)
        print(
            f"{subject}: {side}, and torch {version} emulated: {summary} ({time.monotonic() - begun:.0f} s)", flush=True
        )
        if options.out is not None:
            options.out.mkdir(parents=True, exist_ok=True)
            kept = {"gpu": name, "torch": version, "real": real, "emulated": emulated}
            (options.out / f"{subject}.json").write_text(json.dumps(kept, indent=0), encoding="utf-8")
        if options.record and name:
            recording.write(options.profile, name, version, subject, real)
        differing += apart
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
