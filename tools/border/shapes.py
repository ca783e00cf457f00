"""How run files and the documents of ranks hold the records: all of their fields, but for what is listed here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from border.headers import Field, Model, Record


@dataclass(frozen=True)
class Shape:
    """How documents hold one record.

    Attributes:
        name: of its definition in docs/reference/run.schema.json; "" where it has none of its own.
        without: fields that stay out.
        names: fields that have another name in documents.
        properties: properties that are written beside the fields.
        by_hand: Python for what is no plain field, by its name in documents; the schema of it is written by hand.
        beside: what documents hold in the same place without the record's help.
        late: fields that documents of this version may lack.
        reads, writes: whether a record is made from a document, and a document from a record.
    """

    name: str = ""
    without: frozenset[str] = frozenset()
    names: dict[str, str] = field(default_factory=dict)
    properties: tuple[str, ...] = ()
    by_hand: dict[str, str] = field(default_factory=dict)
    beside: frozenset[str] = frozenset()
    late: frozenset[str] = frozenset()
    reads: bool = False
    writes: bool = True


SHAPES = {
    "Owner": Shape("owner", reads=True),
    "Event": Shape(
        "event",
        without=frozenset({"sequence", "step"}),
        names={"stack": "frames"},
        properties=("site",),
        by_hand={"sentence": "sentence_of(event)"},
        reads=True,
    ),
    "Operand": Shape(
        "operand",
        without=frozenset(
            {
                "beside",
                "beside_device",
                "registered",
                "is_leaf",
                "kept_as",
                "made_of",
                "ignored_at",
                "override_at",
                "device_there",
                "member",
                "member_of",
                "member_home",
                "member_given",
                "given",
                "given_in",
                "asked",
            },
        ),
        late=frozenset({"output_of"}),
    ),
    "Failure": Shape(
        "finding",
        without=frozenset({"figures", "step", "around", "call"}),
        names={"frames": "stack"},
        late=frozenset({"memory"}),
    ),
    "MemoryHolder": Shape("memory_holder", without=frozenset({"placement"})),
    "MemoryPart": Shape("memory_part"),
    "GpuRoom": Shape("gpu_room"),
    "HeldMemory": Shape("held_memory"),
    "PeakMemory": Shape("peak_memory", without=frozenset({"placement"})),
    "ModuleTensor": Shape("module_tensor", without=frozenset({"is_persistent"})),
    "Hook": Shape(
        "hook",
        without=frozenset({"io_same_device", "skip_keys"}),
        by_hand={"owner": "hook.owner.name"},
    ),
    "Module": Shape("module", without=frozenset({"is_container", "no_split"})),
    "MapEntry": Shape("map_entry", reads=True),
    "Model": Shape(
        "model", without=frozenset({"is_object", "mapped", "skip_keys", "no_split"}), beside=frozenset({"finding"})
    ),
    "Finding": Shape(
        "finding",
        # What is said of it is a Diagnostic, which devsan/diagnostics/codec.py writes.
        without=frozenset(
            {"sites", "code", "severity", "confidence", "evidence", "fixes", "naive_fix", "candidates"},
        ),
        names={"operands": "involved"},
        beside=frozenset(
            {
                "code",
                "headline",
                "severity",
                "confidence",
                "source",
                "sites",
                "see_also",
                "subject",
                "rank",
                "rows",
                "placed",
                "evidence",
                "candidates",
                "fixes",
                "naive_fix",
                "notes",
                "printed",
                "time",
                "count",
                "also_at",
            },
        ),
    ),
    "RankTensor": Shape(reads=True, writes=False),
    "RankModel": Shape(reads=True, writes=False),
    "RankMemory": Shape(reads=True, writes=False),
    "Collective": Shape(late=frozenset({"through", "condition_at"}), reads=True, writes=False),
}


def entries(record: Record) -> Iterator[tuple[str, Field]]:
    """Yields what documents hold of a record, with its name there; those by hand are not among them."""
    shape = SHAPES[record.name]
    for each in record.fields:
        name = shape.names.get(each.name, each.name)
        if each.name not in shape.without and name not in shape.by_hand:
            yield name, each
    for each in record.properties:
        if each.name in shape.properties:
            yield each.name, each


def unknown_names(model: Model) -> Iterator[str]:
    """Yields the names in SHAPES that no record has."""
    for name, shape in SHAPES.items():
        record = model.records.get(name)
        if record is None:
            yield name
            continue
        known = {each.name for each in (*record.fields, *record.properties)}
        for each in sorted({*shape.without, *shape.names, *shape.properties, *shape.late} - known):
            yield f"{name}::{each}"
