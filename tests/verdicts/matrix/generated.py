"""What torchgen writes about devices into the wrappers of CUDA's kernels: the oracle's first source.

torchgen's own generator (torchgen/dest/register_dispatch_key.py) is run on its own native_functions.yaml, as
PyTorch's build runs it for CUDA, and its C++ is read for the checks in it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import torchgen
from torchgen.dest import RegisterDispatchKey
from torchgen.gen import get_grouped_native_functions, parse_native_yaml
from torchgen.model import DispatchKey, NativeFunction, NativeFunctionsGroup
from torchgen.selective_build.selector import SelectiveBuilder
from torchgen.utils import Target

PACKAGED = Path(torchgen.__file__).parent / "packaged" / "ATen" / "native"
CHECK = re.compile(r'check_and_update_common_device\(common_device, \w+, "(\w+)", "(\w+)"\)')
KEYS = (DispatchKey.CUDA, DispatchKey.SparseCUDA, DispatchKey.SparseCsrCUDA, DispatchKey.NestedTensorCUDA)


@dataclass(frozen=True)
class Wrapper:
    """A CUDA kernel's wrapper: its name, and the arguments whose devices it compares, in that order."""

    method: str
    checked: tuple[str, ...]
    structured: bool


@cache
def wrappers(key: DispatchKey = DispatchKey.CUDA) -> dict[str, Wrapper]:
    """By operator ("add.Tensor"): the wrapper that torchgen generates for this key; none where there is no kernel."""
    parsed = parse_native_yaml(str(PACKAGED / "native_functions.yaml"), str(PACKAGED / "tags.yaml"))
    index = parsed.backend_indices[key]
    generator = RegisterDispatchKey(
        index,
        Target.ANONYMOUS_DEFINITION,
        SelectiveBuilder.get_nop_selector(),
        rocm=False,
        symint=True,
        class_method_name=None,
        skip_dispatcher_op_registration=False,
    )
    registrar = RegisterDispatchKey(
        index,
        Target.REGISTRATION,
        SelectiveBuilder.get_nop_selector(),
        rocm=False,
        symint=True,
        class_method_name=None,
        skip_dispatcher_op_registration=False,
    )
    found: dict[str, Wrapper] = {}
    for group in get_grouped_native_functions(parsed.native_functions):
        text = "\n".join(generator(group))
        definitions = dict(re.findall(r"\b(wrapper_\w+)\([^;{]*\)\s*\{(.*?)\n\}", text, re.DOTALL))
        structured = isinstance(group, NativeFunctionsGroup) and group.structured and index.has_kernel(group)
        for line in "\n".join(registrar(group)).split(";"):
            match = re.search(r'm\.impl\("([^"]+)",\s*TORCH_FN\((\w+)\)\)', line)
            if match is None:
                continue
            name, method = match.groups()
            checks = CHECK.findall(definitions[method])
            found[name] = Wrapper(method, tuple(argument for _, argument in checks), structured)
            assert all(method == named for named, _ in checks), (name, method, checks)
    return found


@cache
def functions() -> dict[str, NativeFunction]:
    """torchgen's description of every operator, by name."""
    parsed = parse_native_yaml(str(PACKAGED / "native_functions.yaml"), str(PACKAGED / "tags.yaml"))
    return {str(f.func.name): f for f in parsed.native_functions}
