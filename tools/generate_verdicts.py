"""Write the table of device checks for the installed torch.

For every ATen operator that has a CUDA kernel: who looks at the devices of its tensors (the check that torchgen
generates, TensorIterator, or the kernel itself) and the name of the CUDA wrapper, which torch's sentence prints.

Source: native_functions.yaml as torchgen ships it, read with torchgen's own parser. The wrapper's name is made as
torchgen/dest/register_dispatch_key.py makes it: `wrapper_CUDA_` and the native name for structured operators,
`wrapper_CUDA_<overload>_` and the C++ name for the others.

Usage: generate_verdicts.py --out FILE
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import torchgen
from torchgen.api import cpp, native
from torchgen.gen import parse_native_yaml
from torchgen.model import DeviceCheckType, DispatchKey, NativeFunction

PACKAGED = Path(torchgen.__file__).parent / "packaged" / "ATen" / "native"


def iterator_operators(text: str) -> set[str]:
    """The operators whose entry says that TensorIterator checks their devices."""
    entries = re.split(r"\n(?=- func: )", text)
    return {
        match[1]
        for entry in entries
        if (match := re.match(r"- func: ([^(]+)\(", entry)) and re.search(r"NoCheck\s*#\s*TensorIterator", entry)
    }


def has_cuda_kernel(function: NativeFunction, cuda: dict[str, bool]) -> bool:
    """Whether the operator, or the out= form that it is a face of, has a CUDA kernel."""
    name = str(function.func.name)
    if name in cuda:
        return True
    return function.structured_delegate is not None and str(function.structured_delegate) in cuda


def row(function: NativeFunction, iterators: set[str]) -> str:
    """One line of the table."""
    name = str(function.func.name)
    if function.device_check is not DeviceCheckType.NoCheck:
        rule = "kGenerated"
    else:
        rule = "kTensorIterator" if name in iterators else "kKernel"
    structured = function.structured or function.structured_delegate is not None
    if structured:
        method = f"wrapper_CUDA_{native.name(function.func)}"
    else:
        method = f"wrapper_CUDA_{function.func.name.overload_name}_{cpp.name(function.func)}"
    return f'{{"aten::{name}", Rule::{rule}, "{method}"}},'


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    out: Path = parser.parse_args().out
    yaml = PACKAGED / "native_functions.yaml"
    parsed = parse_native_yaml(str(yaml), str(PACKAGED / "tags.yaml"))
    cuda = {str(name): True for name in parsed.backend_indices[DispatchKey.CUDA].index}
    iterators = iterator_operators(yaml.read_text(encoding="utf-8"))
    rows = sorted(
        (row(f, iterators) for f in parsed.native_functions if has_cuda_kernel(f, cuda)), key=lambda line: line.encode()
    )
    rows.sort(key=lambda line: line.split('"')[1])
    out.parent.mkdir(parents=True, exist_ok=True)
    text = "\n".join(rows) + "\n"
    if not out.exists() or out.read_text(encoding="utf-8") != text:
        out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
