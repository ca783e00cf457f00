"""Plan models of real sizes for clusters, compare with accelerate's maps, and write docs/reference/plans.md.

python tools/plan_models.py "2 cores" > docs/reference/plans.md
"""

import json
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

SUBJECT = Path(__file__).parents[1] / "examples/planned_models/subject.py"
CASES = (
    ("gpt2-xl", "train", "1*rtx3060-12g,1*rtx3080-10g"),
    ("llama-7b", "train", "4:rtx3090-24g"),
    ("llama-7b", "infer", "2:rtx3080-10g"),
    ("llama-13b", "infer", "2:rtx3090-24g"),
    ("llama-70b", "infer", "4:a100-40g"),
    ("qwen2-7b", "train", "4:rtx3090-24g"),
    ("mistral-7b", "infer", "1*rtx3060-12g,1*rtx3080-10g"),
    ("opt-6.7b", "train", "2:a100-40g"),
    ("falcon-7b", "train", "2:a100-40g"),
    ("gpt-j-6b", "train", "2:a100-40g"),
    ("gpt-neox-20b", "infer", "2:a10-24g"),
    ("mixtral-8x7b", "infer", "3:a100-40g"),
    ("gemma-7b", "infer", "2:rtx3090-24g"),
    ("bloom-7b", "train", "2:a100-40g"),
    ("t5-3b", "train", "2:rtx3090-24g"),
)
"""A model of the subject, what it does, and the GPUs."""

GIB = 1 << 30

HEAD = """\
# Plans for models of real sizes

[examples/planned_models](../../examples/planned_models) makes a model of transformers from its configuration, in
bfloat16, and runs one batch of 512 tokens, or trains it for two steps with AdamW. Its own map is
`device_map="sequential"`: that of accelerate's `infer_auto_device_map` for the memory of the GPUs. `devsan plan`
rehearses it with this map and with the planned one. Each line shows how many GPUs hold something, the peak of the
fullest, and the bytes between GPUs in the whole run, loading included.

`device_map="auto"`, which most programs have, is not in the table. It spreads a model over all GPUs, so that it fits
where `sequential` does not (llama-7b in training on 4:rtx3090-24g), often with lower peaks than the planned map, and
with more transfers; [decision 0020](../decisions/0020-plans.md) has three cases. The rule that gives a quarter more
bytes for emptier GPUs was made after a first run of these models, in which the planned map had the higher peak in
two cases.

{versions}; {date}, {machine}, {minutes} minutes
for all. This page is written by `tools/plan_models.py`.
"""


def plan(case: tuple[str, str, str]) -> dict[str, Any]:
    """Return what `devsan plan --json` says of one case, or the sentence with which it ended."""
    model, task, gpus = case
    words = [sys.executable, "-m", "devsan", "plan", "--json", "--gpus", gpus, str(SUBJECT), model, task]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return json.loads(done.stdout) if done.stdout else {"sentence": done.stderr.strip().rpartition("\n")[2]}


def _cells(tried: dict[str, Any]) -> str:
    if not tried["fits"]:
        return f"no: {tried['reason']} | | "
    peaks = [peak for peak in tried["peaks"].values() if peak]
    moved = tried["transferred"] / (1 << 20)
    return f"on {len(peaks)} | {max(peaks) / GIB:.1f} GiB | {moved:.0f} MiB"


def _is_worse(found: dict[str, Any]) -> bool:
    before, after = found["as_it_is"], found["planned"]
    if not before["fits"]:
        return False
    peaks = [max(tried["peaks"].values()) for tried in (before, after)] if after["fits"] else [0, 1]
    return peaks[1] > peaks[0] or after["transferred"] > before["transferred"]


def main(machine: str) -> None:
    """Print the page."""
    start = time.monotonic()
    with ThreadPoolExecutor(2) as pool:
        every = list(pool.map(plan, CASES))
    minutes = (time.monotonic() - start) / 60
    judged = [found for found in every if "planned" in found]
    fits = [found for found in judged if found["planned"]["fits"]]
    before = [found for found in judged if found["as_it_is"]["fits"]]
    worse = [found for found in judged if _is_worse(found)]
    versions = ", ".join(f"{name} {version(name)}" for name in ("transformers", "accelerate", "torch"))
    print(HEAD.format(versions=versions, date=date.today(), machine=machine, minutes=f"{minutes:.0f}"))
    total = f"{len(fits)} of {len(CASES)} planned maps run without an error"
    print(f"**{total}**; of the maps of `sequential`: {len(before)}.")
    print("Where that of `sequential` fits, the planned one has a higher peak or more transfers in", end=" ")
    print(f"{len(worse)} cases.\n")
    print("| model | | GPUs | sequential | peak | moved | planned | peak | moved |")
    print("|---|---|---|---|---|---|---|---|---|")
    for (model, task, gpus), found in zip(CASES, every, strict=True):
        cells = f"{_cells(found['as_it_is'])} | {_cells(found['planned'])}" if "planned" in found else found["sentence"]
        print(f"| {model} | {task} | {gpus} | {cells} |")


if __name__ == "__main__":
    main(sys.argv[1])
