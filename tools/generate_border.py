"""Write what crosses from C++ to Python and to the run files, from the structs and enumerations of core/model/*.h.

record_bindings.inc, record_headers.inc: what core/bindings/records.cpp is made of; the build writes them.
devsan/_core_records.pyi: the types of the records.
devsan/run_files/records.py: from records to plain data and back, by the shapes in tools/border/shapes.py.
docs/reference/run.schema.json: the definitions of the records in it; the others are written by hand.

Usage: generate_border.py --out FOLDER for the build, or generate_border.py --write for what lies in the tree
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from border.bindings import bindings, includes
from border.documents import documents
from border.headers import Model, Unsupported, read_model
from border.schema import schema
from border.shapes import unknown_names
from border.stub import stub

ROOT = Path(__file__).resolve().parent.parent
SCHEMA = "docs/reference/run.schema.json"


def in_the_build(model: Model) -> dict[str, str]:
    return {"record_bindings.inc": bindings(model), "record_headers.inc": includes(model)}


def in_the_tree(model: Model) -> dict[str, str]:
    written = ROOT / SCHEMA
    return {
        "devsan/_core_records.pyi": stub(model),
        "devsan/run_files/records.py": documents(model),
        SCHEMA: schema(model, written.read_text("utf-8")),
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    try:
        model = read_model()
    except Unsupported as error:
        sys.exit(str(error))
    if unknown := sorted(unknown_names(model)):
        sys.exit(f"expected tools/border/shapes.py to name fields of core/model, got {', '.join(unknown)}")
    written = {options.out / name: text for name, text in in_the_build(model).items()} if options.out else {}
    if options.write:
        written |= {ROOT / name: text for name, text in in_the_tree(model).items()}
    for path, text in written.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.is_file() or path.read_text("utf-8") != text:  # what did not change is not compiled again
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
