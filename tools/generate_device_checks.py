"""Write the tables of device checks for the installed torch.

device_check_table.inc: for every ATen operator with a CUDA kernel, who looks at the devices of its tensors (the check
that torchgen generates, TensorIterator, or the kernel itself), the name of the CUDA wrapper, which torch's sentence
prints, and how many 0-dim CPU operands need no look.

device_check_table_<key>.inc: the same for sparse and nested tensors.

meta_functions.inc and meta_headers.inc: torch's own meta function for every structured operator without a generated
check, in which TensorIterator's checks stand, and for those in the table of dtypes, whose sizes are checked first.

Source: native_functions.yaml as torchgen ships it, read with torchgen's own parser. The wrapper's name is made as
torchgen/dest/register_dispatch_key.py makes it: `wrapper_CUDA_` and the native name for structured operators,
`wrapper_CUDA_<overload>_` and the C++ name for the others.

Usage: generate_device_checks.py --out FILE (the table; the others are written beside it)
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable
from pathlib import Path

import torch_facts

torch_facts.see_installed_packages()

import torchgen
from torchgen.api import cpp, native
from torchgen.api.types import CppSignatureGroup
from torchgen.context import native_function_manager
from torchgen.gen import parse_native_yaml
from torchgen.model import Argument, DeviceCheckType, DispatchKey, NativeFunction

PACKAGED = Path(torchgen.__file__).parent / "packaged" / "ATen" / "native"
DTYPES = (Path(__file__).parent.parent / "core" / "guard" / "dtype_check.cpp").read_text(encoding="utf-8")


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


def tensors(arguments: Iterable[Argument]) -> int:
    """How many tensors the arguments take; a list counts for two."""
    return sum(2 if a.type.is_list_like() else 1 for a in arguments if a.type.is_tensor_like())


def is_structured(function: NativeFunction) -> bool:
    """Whether torchgen writes the kernel's wrapper around a meta function."""
    return function.structured or function.structured_delegate is not None


def row(function: NativeFunction, iterators: set[str], key: DispatchKey = DispatchKey.CUDA) -> str:
    """One line of the table of a key."""
    name = str(function.func.name)
    checked = function.device_check is not DeviceCheckType.NoCheck
    unchecked = "kTensorIterator" if name in iterators else "kKernel"
    rule = "kGenerated" if checked else unchecked
    # TensorIterator takes one CPU scalar in the operators of two operands; the others are asked (guard/meta_functions).
    dense = key is DispatchKey.CUDA
    free = 1 if dense and rule == "kTensorIterator" and tensors(function.func.arguments.flat_non_out) == 2 else 0
    if dense and is_structured(function):
        method = f"wrapper_{key}_{native.name(function.func)}"
    else:
        method = f"wrapper_{key}_{function.func.name.overload_name}_{cpp.name(function.func)}"
    return f'{{"aten::{name}", Rule::{rule}, "{method}", {free}}},'


def is_dtype_checked(function: NativeFunction) -> bool:
    """Whether the operator is in the table of dtypes; its forms have one row."""
    return f'"aten::{str(function.func.name.name).removesuffix("_")}"' in DTYPES


def meta_function(function: NativeFunction) -> str | None:
    """The line for the operator's meta function, where that compares the devices or comes before a check of dtypes."""
    several = tensors(function.func.arguments.flat_all) > 1
    compares = function.device_check is DeviceCheckType.NoCheck and several
    if not is_structured(function) or not (compares or is_dtype_checked(function)):
        return None
    with native_function_manager(function):
        group = CppSignatureGroup.from_native_function(function, method=False, fallback_binding=False)
        signature = group.most_faithful_signature()
        types = ", ".join(argument.nctype.cpp_type() for argument in signature.arguments())
        returned = cpp.returns_type(function.func.returns, symint=False).cpp_type()
    return f'DEVSAN_META("aten::{function.func.name}", ({returned}), {signature.name()}, ({types}))'


def write(path: Path, lines: Iterable[str]) -> None:
    """Writes the lines, unless the file has them already."""
    text = "\n".join(lines) + "\n"
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    out: Path = parser.parse_args().out
    yaml = PACKAGED / "native_functions.yaml"
    parsed = parse_native_yaml(str(yaml), str(PACKAGED / "tags.yaml"))
    cuda = {str(name): True for name in parsed.backend_indices[DispatchKey.CUDA].index}
    iterators = iterator_operators(yaml.read_text(encoding="utf-8"))
    on_cuda = [f for f in parsed.native_functions if has_cuda_kernel(f, cuda)]
    rows = [row(f, iterators) for f in on_cuda]
    functions = [line for f in on_cuda if (line := meta_function(f)) is not None]
    headers = {f"#include <ATen/ops/{f.root_name}_meta_dispatch.h>" for f in on_cuda if meta_function(f) is not None}
    out.parent.mkdir(parents=True, exist_ok=True)
    by_name = lambda line: line.split('"')[1]  # noqa: E731
    write(out, sorted(rows, key=by_name))
    for key in (DispatchKey.SparseCUDA, DispatchKey.SparseCsrCUDA, DispatchKey.NestedTensorCUDA):
        of_key = [f for f in parsed.native_functions if parsed.backend_indices[key].has_kernel(f)]
        lines = sorted((row(f, iterators, key) for f in of_key), key=by_name)
        write(out.with_name(f"device_check_table_{key.name.lower()}.inc"), lines)
    write(out.with_name("meta_functions.inc"), sorted(functions, key=by_name))
    write(out.with_name("meta_headers.inc"), sorted(headers))


if __name__ == "__main__":
    main()
