"""Write docs/reference/transformers-models.md from what the sweep of examples/transformers_models came to.

devsan sweep examples/transformers_models/sweep.toml --fix --sample 12 --format json -o models.json
python tools/transformers_models.py models.json "2 cores" > docs/reference/transformers-models.md

Several documents may be given, of parts of the sweep and of its fixes.
"""

import json
import re
import sys
from collections import Counter, defaultdict
from datetime import date
from importlib.metadata import version
from pathlib import Path

GPUS = ("2", "3", "4")
_ALONE = "the whole model is on one GPU"
_NO_MODEL = "it is no model that is loaded by itself"
_SORTS = (
    ("a library is missing", "pip install|ImportError|requires the|No module named"),
    ("an input is not known, or a processor makes it", "missing|unexpected keyword|None|specify|expected at least"),
    ("the configuration needs more than its defaults", "Validation|config|out_(features|indices)"),
    ("shapes do not fit the configuration or the inputs",
     "size|shape|[Dd]imension|split|index|channels|divisible|unpack|empty sequence"),
)  # fmt: skip


def _statuses(found: dict) -> set[str]:
    return {found[each]["status"] if each in found else "not run" for each in GPUS}


def main(paths: list[str], machine: str) -> None:
    """Print the page."""
    documents = [json.loads(Path(path).read_text(encoding="utf-8")) for path in paths]
    groups = {group["id"]: group for document in documents for group in document["groups"] if not group["fix"]}
    groups |= {group["id"]: group for document in documents for group in document["groups"] if group["fix"]}
    models = defaultdict(dict)
    for document in documents:
        for cell in document["cells"]:
            models[cell["values"]["model"]][cell["values"]["gpus"]] = cell
    every = len(models)
    models = {name: found for name, found in models.items() if "not run" not in _statuses(found)}
    swept = len(models)
    models = {name: found for name, found in models.items() if not _says(found, _NO_MODEL)}
    skipped = {name: found for name, found in models.items() if _statuses(found) == {"skipped"}}
    judged = {name: found for name, found in models.items() if name not in skipped}
    failing = {name: found for name, found in judged.items() if not _statuses(found) <= {"passed", "skipped"}}
    alone = {name for name, found in skipped.items() if _says(found, _ALONE)}
    print(_head(machine))
    swept_all = f"All {every} classes that transformers exports have run."
    print(swept_all if swept == every else f"Of {every} classes that transformers exports {swept} have run so far.")
    print(
        f"{swept - len(models)} are no models of their own. Of the other {len(models)} {len(judged)} were judged, and"
    )
    print(f"**{len(failing)} of {len(judged)} fail** on 2, 3 or 4 GPUs. {len(skipped)} were not judged:")
    print(f"{len(skipped) - len(alone)} fail on one GPU, too, and {len(alone)} are as a whole on one GPU.\n")
    print("| | passed | failed | error | stopped or killed | not judged |\n|---|---|---|---|---|---|")
    for each in GPUS:
        counts = Counter(found[each]["status"] for found in models.values())
        ended = counts["stopped"] + counts["killed"]
        row = (f"{each} GPUs", counts["passed"], counts["failed"], counts["error"], ended, counts["skipped"])
        print("| " + " | ".join(map(str, row)) + " |")
    _print_causes(failing, groups)
    _print_unjudged({name: found for name, found in skipped.items() if name not in alone})
    _print_fixes([group for group in groups.values() if group["fix"]])
    _print_failing(failing, groups)


def _says(found: dict, reason: str) -> bool:
    return any(reason in found[each]["reason"] for each in GPUS)


def _head(machine: str) -> str:
    return f"""\
# Model classes of transformers with device_map="auto"

[examples/transformers_models](../../examples/transformers_models) builds a tiny random model of a class of
transformers, loads it with `device_map="auto"` on GPUs with uneven memory, and runs forward, with labels where the
class takes them, and backward. `devsan sweep` does so on 2, 3 and 4 emulated GPUs, and on one GPU first: a class that
fails there is not judged. transformers {version("transformers")}, accelerate {version("accelerate")}, torch
{version("torch")}; {date.today()}, {machine}. This page is written by `tools/transformers_models.py`.
"""


def _print_causes(failing: dict, groups: dict) -> None:
    """Print how many classes and groups each cause has."""
    classes, members = defaultdict(set), defaultdict(set)
    for name, found in failing.items():
        for each in GPUS:
            if found[each]["group"] in groups:
                group = groups[found[each]["group"]]
                cause = f"{group['code']} {group['name']}".strip() or group["status"]
                classes[cause].add(name)
                members[cause].add(group["id"])
    print(f"\n## Causes\n\n{sum(map(len, members.values()))} groups: each is one place to change.\n")
    print("| cause | classes | groups |\n|---|---|---|")
    for cause in sorted(classes, key=lambda each: -len(classes[each])):
        print(f"| {cause} | {len(classes[cause])} | {len(members[cause])} |")


def _print_unjudged(skipped: dict) -> None:
    """Print why classes fail on one GPU."""
    why = Counter()
    for found in skipped.values():
        reason = found[GPUS[0]]["reason"]
        why[next((sort for sort, pattern in _SORTS if re.search(pattern, reason)), "anything else")] += 1
    print(
        "\n## Why classes were not judged\n\n"
        "The small configuration is made from the defaults of its class, the inputs by names.\n"
    )
    print("| on one GPU | classes |\n|---|---|")
    for sort, count in why.most_common():
        print(f"| {sort} | {count} |")


def _print_fixes(groups: list[dict]) -> None:
    """Print what --fix found for the groups that it was run for."""
    if not groups:
        return
    fixed = [group for group in groups if group["fix"]["result"]["status"] == "fixed"]
    patched = [group for group in groups if group["fix"]["result"]["patch"] is not None]
    checks = [check for group in groups for check in group["fix"]["checks"] + group["fix"]["patch_checks"]]
    held = sum(check["status"] == "verified" for check in checks)
    print(f"\n## Fixes\n\nFor {len(groups)} groups `--fix` looked for a fix: {len(fixed)} have a")
    print(f"verified one, {len(patched)} a verified patch for the library.")
    if checks:
        print(f"Tried on further cells of their groups, {held} of {len(checks)} hold.")
    print()
    print("| place | cause | in the user's script | in the library | further cells |\n|---|---|---|---|---|")
    for group in sorted(groups, key=lambda each: each["place"]):
        fix = group["fix"]
        verified = [each for each in fix["result"]["fixes"] if each["status"] == "verified"]
        own = next(("; ".join(each["texts"]) for each in verified if each["is_own"]), "")
        library = next(("; ".join(each["texts"]) for each in verified if not each["is_own"]), "")
        tried = fix["checks"] + fix["patch_checks"]
        told = f"{sum(each['status'] == 'verified' for each in tried)} of {len(tried)}" if tried else ""
        print(f"| {_short(group['place'])} | {group['code']} | {own or 'none'} | {library or 'none'} | {told} |")


def _print_failing(failing: dict, groups: dict) -> None:
    """Print each class that fails."""
    print("\n## Classes that fail\n\n| class | GPUs | cause | place |\n|---|---|---|---|")
    for name, found in sorted(failing.items()):
        bad = [each for each in GPUS if found[each]["status"] not in ("passed", "skipped")]
        group = groups.get(found[bad[0]]["group"], {"code": "", "status": found[bad[0]]["status"], "place": ""})
        print(f"| {name} | {', '.join(bad)} | {group['code'] or group['status']} | {_short(group['place'])} |")


def _short(place: str) -> str:
    return place.removeprefix("transformers/").removeprefix("models/")


if __name__ == "__main__":
    main(sys.argv[1:-1], sys.argv[-1])
