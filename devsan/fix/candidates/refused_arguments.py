"""An argument that a wrapper or a loader refuses for this model: it is left out, or made from the model."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from devsan.diagnostics.messages import message
from devsan.fix.calls import keyword, without_keywords
from devsan.fix.change import Change
from devsan.fix.failure import Failure
from devsan.fix.loading import Loading
from devsan.fix.source import Source, source_of

_DOUBT = 4
_OF_ONE_DEVICE = ("device_ids", "output_device")
_INFERRED = "from accelerate import infer_auto_device_map"


def propose(failure: Failure) -> Iterator[Change]:
    """Yields DistributedDataParallel without ``device_ids``, and device maps that are made for the model."""
    sentence = failure.finding["sentence"]
    for frame in failure.own_frames:
        source = source_of(frame["path"])
        call = source.expression_at(frame) if source is not None else None
        if source is None or not isinstance(call, ast.Call):
            continue
        if all(name in sentence for name in _OF_ONE_DEVICE):
            yield from _without(source, call, _OF_ONE_DEVICE)
        if "device_map" in sentence and "does not give any device" in sentence and call.args:
            inferred = Loading(source, call, "").with_map(f"infer_auto_device_map({source.segment(call.args[0])})")
            if inferred is not None:
                text = message("have accelerate make the device map for this model")
                added = () if _INFERRED in source.text else (source.insert_after(source.last_import, [_INFERRED]),)
                yield Change(text, "map", (*added, inferred), doubt=_DOUBT)


def _without(source: Source, call: ast.Call, names: Sequence[str]) -> Iterator[Change]:
    """The call without these keywords, each of which means a module of one device."""
    found = [name for name in names if keyword(call, name) is not None]
    if found:
        text = message("leave out {names}: the module is on several GPUs", names=", ".join(found))
        yield Change(text, "configuration", (without_keywords(source, call, names),), doubt=_DOUBT)
