"""Hollow checkpoints: the header of a file says what is in it, and its data is a hole of the file system.

A hole takes no room, and a library loads the file as it would load any other: device maps, quantization and the memory
of loading are those of the job.
"""

from __future__ import annotations

import atexit
import json
import math
import os
import re
import shutil
import struct
import tempfile
from collections.abc import Iterable, Iterator
from typing import Any

_NAMES = {"float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16", "int64": "I64", "int32": "I32",
          "int16": "I16", "int8": "I8", "uint64": "U64", "uint32": "U32", "uint16": "U16", "uint8": "U8",
          "bool": "BOOL", "float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2"}  # fmt: skip
_DTYPES = {code: name for name, code in _NAMES.items()}

_LONGEST_HEADER = 100 << 20
"""The most that safetensors reads."""

_SHARD = 2 << 30
"""Bytes of a file: each is mapped as a whole, and Linux refuses a mapping that is larger than the machine."""

Described = tuple[str, str, tuple[int, ...]]
"""Of a tensor: name, dtype as torch calls it ("bfloat16"), shape."""


def described(model: Any, dtype: str = "") -> Iterator[Described]:
    """What a checkpoint of the model has; its floating-point numbers are of ``dtype``, or as the model has them."""
    persistent = model.state_dict().keys()
    for name, tensor in (*model.named_parameters(), *model.named_buffers()):
        if name in persistent:
            own = str(tensor.dtype).removeprefix("torch.")
            yield name, dtype if dtype and tensor.is_floating_point() else own, tuple(tensor.shape)


class Checkpoint:
    """Files of safetensors and their index, in a folder that is gone when the process ends.

    Args:
        tensors: what is in it.

    Raises:
        KeyError: safetensors has no such dtype.
        OSError: the file system has no holes, or none so large.
    """

    def __init__(self, tensors: Iterable[Described]) -> None:
        folder = tempfile.mkdtemp(prefix="devsan-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        self.size = 0
        self.files = list[str]()
        places: dict[str, str] = {}
        for shard in _in_shards(tensors):
            name = f"model-{len(self.files) + 1:05}.safetensors"
            self.files.append(os.path.join(folder, name))
            self.size += write_hollow(self.files[-1], shard)
            places.update((tensor, name) for tensor, _, _ in shard)
        self.index = os.path.join(folder, "model.safetensors.index.json")
        with open(self.index, "w") as out:
            json.dump({"metadata": {"total_size": self.size}, "weight_map": places}, out)


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
    bits = re.search(r"\d+", code)
    return math.prod(shape) * (int(bits[0]) // 8 if bits else 1)


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


def read_header(file: str) -> tuple[list[Described], int]:
    """Returns what the header of a file of safetensors describes, and the bytes that the file then has.

    Raises:
        OSError: it cannot be read.
        ValueError: it has no such header.
        KeyError: torch has no such dtype.
    """
    with open(file, "rb") as opened:
        first = opened.read(8)
        length = int.from_bytes(first, "little")
        if len(first) < 8 or length > _LONGEST_HEADER:
            raise ValueError(f"expected a file of safetensors, got {file}")
        header: dict[str, Any] = json.loads(opened.read(length))
    header.pop("__metadata__", None)
    tensors = [(name, _DTYPES[each["dtype"]], tuple(each["shape"])) for name, each in header.items()]
    return tensors, 8 + length + max((each["data_offsets"][1] for each in header.values()), default=0)
