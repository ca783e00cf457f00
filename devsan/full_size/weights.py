"""Weights that are not there: at full size ``from_pretrained`` of transformers needs the configuration alone.

Where a folder or a cached repository has no weights, a checkpoint takes their place whose header says what the
configuration does, and whose data is a hole of the file system, which takes no room. transformers loads it as it would
load any other: device maps, quantization and the memory of loading are those of the job.
"""

from __future__ import annotations

import atexit
import copy
import errno
import functools
import json
import math
import os
import shutil
import struct
import tempfile
import threading
from collections.abc import Iterable, Iterator
from typing import Any

from devsan.cuda.patches import Patches
from devsan.diagnostics.messages import message
from devsan.render.notice import notice

MODULE = "transformers.modeling_utils"

_RESOLVE = "_get_resolved_checkpoint_files"  # of transformers 4.50 and later
_NAMES = {"float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16", "int64": "I64", "int32": "I32",
          "int16": "I16", "int8": "I8", "uint8": "U8", "bool": "BOOL"}  # fmt: skip

_SHARD = 2 << 30
"""Bytes of a file: each is mapped as a whole, and Linux refuses a mapping that is larger than the machine."""

Described = tuple[str, str, tuple[int, ...]]
"""Of a tensor: name, dtype as torch calls it ("bfloat16"), shape."""

_loading = threading.local()  # .model: class, configuration and source of the innermost from_pretrained


def provide(transformers: Any, patches: Patches) -> None:
    """Has ``from_pretrained`` find a checkpoint where there is none.

    Args:
        transformers: the module ``transformers.modeling_utils``; of a release that is not known it stays as it is.
        patches: what puts it back.
    """
    resolve = getattr(transformers, _RESOLVE, None)
    load = vars(transformers.PreTrainedModel).get("from_pretrained")
    if resolve is None or not isinstance(load, classmethod):
        return

    @functools.wraps(resolve)
    def resolved(*args: Any, **words: Any) -> Any:
        try:
            files, index = resolve(*args, **words)
            missing = next((file for file in files or () if not os.path.isfile(file)), None)
            if missing is None:
                return files, index
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), missing)
        except OSError:
            made = _checkpoint_of(*_loading.model) if getattr(_loading, "model", None) else []
            if not made:
                raise
            return made, None

    @functools.wraps(load.__func__)
    def loaded(cls: Any, source: Any = None, *args: Any, **words: Any) -> Any:
        before, _loading.model = getattr(_loading, "model", None), (cls, words.get("config"), source)
        try:
            return load.__func__(cls, source, *args, **words)
        finally:
            _loading.model = before

    patches.set(transformers, _RESOLVE, resolved)
    patches.set(transformers.PreTrainedModel, "from_pretrained", classmethod(loaded))


def _checkpoint_of(cls: Any, config: Any, source: Any) -> list[str]:
    """The names of files that safetensors reads, with the weights of the model; none where none can be made."""
    import torch

    try:
        if not hasattr(config, "to_dict"):
            config = cls.config_class.from_pretrained(config or source)
        with torch.device("meta"):
            model = cls(copy.deepcopy(config))
        dtype = str(getattr(config, "dtype", None) or torch.float32).removeprefix("torch.")
        folder = tempfile.mkdtemp(prefix="devsan-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        size, files = 0, list[str]()
        for shard in _in_shards(_tensors_of(model, dtype)):
            files.append(os.path.join(folder, f"model-{len(files) + 1:05}.safetensors"))
            size += write_hollow(files[-1], shard)
    except Exception:
        return []
    notice(message("{source} has no weights; a checkpoint of {size} GiB without numbers takes their place",
                   source=source, size=f"{size / 2**30:.1f}"))  # fmt: skip
    return files


def _tensors_of(model: Any, dtype: str) -> Iterable[Described]:
    persistent = model.state_dict().keys()
    for name, tensor in (*model.named_parameters(), *model.named_buffers()):
        if name in persistent:
            own = str(tensor.dtype).removeprefix("torch.")
            yield name, dtype if tensor.is_floating_point() else own, tuple(tensor.shape)


def _in_shards(tensors: Iterable[Described]) -> Iterator[list[Described]]:
    shard: list[Described] = []
    size = 0
    for each in tensors:
        shard.append(each)
        size += _bytes_of(each)
        if size >= _SHARD:
            yield shard
            shard, size = [], 0
    if shard:
        yield shard


def _bytes_of(tensor: Described) -> int:
    _, dtype, shape = tensor
    code = _NAMES[dtype]
    return math.prod(shape) * (1 if code == "BOOL" else int(code.lstrip("BFIU")) // 8)


def write_hollow(file: str, tensors: Iterable[Described]) -> int:
    """Writes a file of safetensors whose data is a hole, and returns the bytes of the data.

    Args:
        file: its name.
        tensors: what is in it.

    Raises:
        KeyError: safetensors has no such dtype.
        OSError: the file system has no holes, or none so large.

    The format is that of https://github.com/huggingface/safetensors#format.
    """
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    end = 0
    for each in tensors:
        name, dtype, shape = each
        begin, end = end, end + _bytes_of(each)
        header[name] = {"dtype": _NAMES[dtype], "shape": shape, "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(file, "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text)
        out.truncate(out.tell() + end)
    return end
