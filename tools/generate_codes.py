"""Write what C++ and the documents take from the manifests of the codes, codes/<name>/manifest.toml.

code_names.inc: a constant for each code: `kKvCache` is "DV106".
code_table.inc: code, name, summary and naive fix of each.
causes.inc, rank_causes.inc: DEVSAN_CAUSE(kv_cache) for each code that a file of core/diagnose/causes detects in one
process, or one of core/diagnose/rank_causes in the ranks of a job. A new file is found by its name.
vocabulary.inc: the words of each manifest as arrays: `kv_cache::kNames`.

Usage: generate_codes.py --out FOLDER, or generate_codes.py --index, which writes codes/README.md
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent

GROUPS = {
    "1": "A mismatch in one process",
    "2": "Two owners of placement",
    "3": "Ranks",
    "4": "Environment and configuration",
    "5": "Memory",
    "6": "Silent hazards",
}


def manifests() -> dict[str, dict[str, Any]]:
    """The manifests by name, in the order of their codes."""
    read = {path.parent.name: tomllib.loads(path.read_text("utf-8")) for path in ROOT.glob("codes/*/manifest.toml")}
    return dict(sorted(read.items(), key=lambda each: each[1]["code"]))


def in_camel_case(name: str) -> str:
    """ "kv-cache" -> "KvCache"."""
    return "".join(part.capitalize() for part in name.replace("_", "-").split("-"))


def literal(text: str) -> str:
    """The text as C++ writes it; JSON's escapes are C++'s too."""
    return json.dumps(text, ensure_ascii=False)


def tables(codes: dict[str, dict[str, Any]]) -> dict[str, list[str]]:
    """The lines of each file."""
    names, rows, words = [], [], []
    for name, manifest in codes.items():
        constant = f"k{in_camel_case(name)}"
        names.append(f"inline constexpr std::string_view {constant} = {literal(manifest['code'])};")
        naive_fix = manifest.get("naive_fix", {}).get("en", "")
        rows.append(f"Code{{{constant}, {literal(name)}, {literal(manifest['summary']['en'])}, {literal(naive_fix)}}},")
        if "words" in manifest:
            words.append(f"namespace {name.replace('-', '_')} {{")
            for group, listed in manifest["words"].items():
                array = ", ".join(map(literal, listed))
                words.append(f"inline constexpr std::string_view k{in_camel_case(group)}[] = {{{array}}};")
            words.append("}")
    made = {"code_names.inc": names, "code_table.inc": rows, "vocabulary.inc": words}
    for folder in ("causes", "rank_causes"):
        detected = [name.replace("-", "_") for name in codes]
        known = {path.stem for path in (ROOT / "core" / "diagnose" / folder).glob("*.cpp")}
        if strangers := known - set(detected):
            sys.exit(f"expected each file of core/diagnose/{folder} to be named as a code, got {sorted(strangers)}")
        made[f"{folder}.inc"] = [f"DEVSAN_CAUSE({name})" for name in detected if name in known]
    return made


def index(codes: dict[str, dict[str, Any]]) -> str:
    """codes/README.md."""
    lines = [
        "# Codes",
        "",
        "`devsan explain CODE` prints a page. `tools/generate_codes.py --index` writes this list.",
        "",
    ]
    for digit, title in GROUPS.items():
        rows = [(name, each) for name, each in codes.items() if each["code"][2] == digit]
        if rows:
            lines += [f"## {title}", "", "| code | | |", "|---|---|---|"]
            lines += [
                f"| {each['code']} | [{name}]({name}/page.md) ([中文]({name}/page.zh.md)) | {each['summary']['en']} |"
                for name, each in rows
            ]
            lines.append("")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path)
    parser.add_argument("--index", action="store_true")
    options = parser.parse_args()
    codes = manifests()
    if options.index:
        (ROOT / "codes" / "README.md").write_text(index(codes), encoding="utf-8")
    if options.out is not None:
        options.out.mkdir(parents=True, exist_ok=True)
        for file, lines in tables(codes).items():
            text = "\n".join([*lines, ""])
            path = options.out / file
            if not path.is_file() or path.read_text("utf-8") != text:  # what did not change is not compiled again
                path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
