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
from torchgen.gen import ParsedYaml, get_grouped_native_functions, parse_native_yaml
from torchgen.model import BackendIndex, DispatchKey, NativeFunction, NativeFunctionsGroup
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
def yaml() -> ParsedYaml:
    """native_functions.yaml of the installed torch, parsed."""
    return parse_native_yaml(str(PACKAGED / "native_functions.yaml"), str(PACKAGED / "tags.yaml"))


def generator_for(index: BackendIndex, target: Target) -> RegisterDispatchKey:
    """torchgen's generator, as PyTorch's build sets it up for the kernels of a key."""
    return RegisterDispatchKey(
        index,
        target,
        SelectiveBuilder.get_nop_selector(),
        rocm=False,
        symint=True,
        class_method_name=None,
        skip_dispatcher_op_registration=False,
    )


@cache
def wrappers(key: DispatchKey = DispatchKey.CUDA) -> dict[str, Wrapper]:
    """By operator ("add.Tensor"): the wrapper that torchgen generates for this key; none where there is no kernel."""
    parsed = yaml()
    index = parsed.backend_indices[key]
    generator, registrar = (
        generator_for(index, target) for target in (Target.ANONYMOUS_DEFINITION, Target.REGISTRATION)
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
    return {str(f.func.name): f for f in yaml().native_functions}


@cache
def has_kernel(name: str, key: DispatchKey) -> bool:
    """Whether an operator, or the out= form that it is a face of, has a kernel for that key."""
    function = functions()[name]
    index = yaml().backend_indices[key]
    delegate = functions().get(str(function.structured_delegate))
    return index.has_kernel(function) or (delegate is not None and index.has_kernel(delegate))


@cache
def is_composite(name: str) -> bool:
    """Whether an operator is made of others for a backend that has no kernel of its own."""
    function = functions()[name]
    return function.has_composite_kernel or function.has_composite_explicit_autograd_non_functional_kernel


def is_missing_on_cuda(name: str) -> bool:
    """Whether CUDA cannot run an operator on strided tensors: the dispatcher says so, whatever the devices are."""
    return not is_composite(name) and not has_kernel(name, DispatchKey.CUDA)
