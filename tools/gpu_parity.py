"""Compare the emulation's device checks with a real GPU's: the half of the matrix that needs one GPU and the CPU.

The calls and the arrangements are those of tests/device_checks/matrix. Each is run twice, in two processes: on
the real cuda:0, and on an emulated one. Every difference is printed.

Exit status: 0 when all agree, 1 when some do not, 2 when there is no GPU.
Usage: gpu_parity.py [--most N] [--record FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests" / "device_checks"))


def run_calls(samples: Path, out: Path, emulated: bool) -> None:
    """Runs every arrangement of one GPU, in this process, and writes what torch said."""
    import torch
    from matrix.arrangements import arrangements
    from matrix.outcomes import outcome
    from matrix.samples import load

    if emulated:
        from devsan import emulate

        emulate(gpus=1).__enter__()
    said = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, call in load(samples).items():
            rows = []
            for arrangement in arrangements(call):
                if arrangement.one_gpu:
                    operand = call.operands[arrangement.operand].name
                    rows.append([f"{operand}: {arrangement.title}", outcome(call, arrangement)])
            said[name] = rows
    name = torch.cuda.get_device_name(0)
    out.write_text(json.dumps({"gpu": name, "torch": str(torch.__version__), "said": said}), encoding="utf-8")
    os._exit(0)  # an illegal access in a kernel would be raised again by whatever runs at exit


def child(role: str, samples: Path, out: Path) -> dict[str, object]:
    environment = {**os.environ, "DEVSAN_AUTOLOAD": "0"}
    subprocess.run(
        [sys.executable, __file__, "--role", role, "--samples", samples, "--out", out], env=environment, check=True
    )
    found: dict[str, object] = json.loads(out.read_text(encoding="utf-8"))
    return found


def compare(real: dict[str, list[list[str]]], emulated: dict[str, list[list[str]]]) -> tuple[int, list[str]]:
    """How many arrangements there are, and a text for each that differs in what is said about devices."""
    from matrix.outcomes import DEVICES

    total, texts = 0, []
    for name, rows in real.items():
        for (title, on_gpu), (_, on_emulation) in zip(rows, emulated[name], strict=True):
            total += 1
            about_devices = DEVICES.search(on_gpu) or DEVICES.search(on_emulation)
            if about_devices and on_gpu != on_emulation:
                texts.append(
                    f"aten::{name}, {title}\n  GPU:       {on_gpu or 'accepted'}\n"
                    f"  emulation: {on_emulation or 'accepted'}"
                )
    return total, texts


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--most", type=int, default=6, help="how many of torch's samples to run for each of its entries"
    )
    parser.add_argument("--record", type=Path, help="a page whose last section is replaced by the result")
    parser.add_argument("--role", choices=["real", "emulated"], help=argparse.SUPPRESS)
    parser.add_argument("--samples", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.role is not None:
        run_calls(options.samples, options.out, options.role == "emulated")
    import torch

    if not torch.cuda.is_available():
        print("gpu-parity needs a CUDA build of torch and one GPU, and there is none on this machine.")
        return 2
    from matrix.samples import samples, save

    with tempfile.TemporaryDirectory() as folder:
        calls = Path(folder) / "samples.pt"
        save(samples(options.most), calls)
        real = child("real", calls, Path(folder) / "real.json")
        emulated = child("emulated", calls, Path(folder) / "emulated.json")
    total, differences = compare(real["said"], emulated["said"])  # type: ignore[arg-type]
    print("\n".join(differences))
    summary = f"torch {real['torch']}, {real['gpu']}: {total} calls, {len(differences)} differ"
    print(summary)
    if options.record is not None:
        page = options.record.read_text(encoding="utf-8")
        heading = "## Against a real GPU\n"
        kept = page[: page.index(heading) + len(heading)]
        options.record.write_text("\n".join([kept, summary + ".", *differences, ""]), encoding="utf-8")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
