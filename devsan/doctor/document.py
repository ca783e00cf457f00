"""A configuration file: what it says, where, and whose it is."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Literal

from devsan.diagnostics.diagnostic import Place
from devsan.diagnostics.messages import message
from devsan.doctor.json_scanner import scan_json
from devsan.doctor.nodes import Malformed, Member, Node, Quirk
from devsan.doctor.yaml_reader import read_yaml

Kind = Literal["deepspeed", "accelerate", "fsdp", "unknown"]

MAX_BYTES = 4 << 20
"""The longest configurations of the libraries' own examples have 10 KB."""

# Each of them is enough to tell whose file it is; names that more than one library uses are not among them.
_OF_ACCELERATE = {"compute_environment", "distributed_type", "num_processes", "downcast_bf16", "main_training_function"}
_OF_DEEPSPEED = {"zero_optimization", "train_batch_size", "train_micro_batch_size_per_gpu", "gradient_clipping",
                 "fp16", "bf16", "zero_allow_untested_optimizer", "steps_per_print"}  # fmt: skip
_OF_FSDP = {"transformer_layer_cls_to_wrap", "fsdp_transformer_layer_cls_to_wrap", "fsdp_version", "min_num_params",
            "fsdp_min_num_params", "auto_wrap_policy", "fsdp_auto_wrap_policy", "reshard_after_forward",
            "backward_prefetch", "cpu_ram_efficient_loading", "sync_module_states", "xla_fsdp_v2"}  # fmt: skip


@dataclass(frozen=True)
class Document:
    """A file.

    Attributes:
        file: as it was named.
        kind: whose configuration it is.
        root: what it says; None where it could not be read.
        quirks: what not every reader of such a file takes.
        error: why it could not be read.
        text: of the file.
        yaml: it is read as YAML.
    """

    file: str
    kind: Kind
    root: Node | None
    quirks: tuple[Quirk, ...] = ()
    error: Malformed | None = None
    text: str = ""
    yaml: bool = False

    def at(self, path: str) -> Member | None:
        """Returns the member that a path with dots leads to, or None."""
        return self.root.at(path) if self.root is not None else None


def read_document(file: str, kind: Kind | None = None) -> Document:
    """Reads ``file``. A file that cannot be read is a document with an error.

    Args:
        file: JSON (``.json``, ``.hjson``) or YAML (``.yaml``, ``.yml``).
        kind: where it is known, from how a launch command names the file.
    """
    # accelerate reads as YAML whatever does not end in .json (commands/config/config_args.py).
    document = _read(file, file.lower().endswith((".yaml", ".yml")) or (kind == "accelerate" and ".json" not in file))
    if document.root is None:
        return replace(document, kind=kind or document.kind)
    return replace(document, kind=kind or kind_of(document.root))


def _read(file: str, as_yaml: bool) -> Document:
    place = Place(file)
    try:
        if not os.path.isfile(file):
            got = message("a folder") if os.path.isdir(file) else message("no such file")
            return Document(file, "unknown", None, error=Malformed(place, message("a configuration file"), got))
        with open(file, "rb") as stream:
            data = stream.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise Malformed(
                place, message("a configuration of at most {n} MiB", n=MAX_BYTES >> 20), message("a larger file")
            )
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        return Document(
            file,
            "unknown",
            None,
            error=Malformed(place, "UTF-8", message("a byte that is not UTF-8 at offset {n}", n=error.start)),
        )
    except OSError as error:
        return Document(
            file, "unknown", None, error=Malformed(place, message("a file that can be read"), str(error.strerror))
        )
    except Malformed as error:
        return Document(file, "unknown", None, error=error)
    return parse_document(file, text, as_yaml)


def parse_document(file: str, text: str, as_yaml: bool) -> Document:
    """Returns what ``text`` says, as if it stood in ``file``; its kind is not known."""
    try:
        if as_yaml:
            return Document(file, "unknown", read_yaml(text, file), text=text, yaml=True)
        root, quirks = scan_json(text, file)
        if root.kind != "object":
            raise Malformed(root.place, message("an object, {braces}", braces="{ ... }"), root.written())
    except Malformed as error:
        return Document(file, "unknown", None, error=error, text=text, yaml=as_yaml)
    return Document(file, "unknown", root, quirks, text=text)


def known_keys() -> frozenset[str]:
    """Returns the keys by which a configuration is recognized."""
    return frozenset(_OF_ACCELERATE | _OF_DEEPSPEED | _OF_FSDP)


def kind_of(root: Node) -> Kind:
    """Returns whose configuration it is, by its keys."""
    keys = set(root.members)
    if keys & _OF_ACCELERATE:
        return "accelerate"
    if keys & _OF_DEEPSPEED:
        return "deepspeed"
    return "fsdp" if keys & _OF_FSDP else "unknown"
