"""The versions of CUDA and its libraries that torch tells while GPUs are emulated."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import warnings
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest
import torch

from devsan import emulate
from devsan.cuda.build import build_for
from devsan.doctor.torch_facts import ask_torch
from devsan.profiles import find_profile

Run = Callable[..., "CompletedProcess[str]"]

HAS_CUDA = torch.version.cuda is not None
pretended = pytest.mark.skipif(HAS_CUDA, reason="a build of torch with CUDA tells its own versions")


def told() -> tuple[object, ...]:
    """Whatever tells a version; what is not there is None."""
    return (
        torch.version.cuda, torch.version.hip, torch.backends.cudnn.version(), torch.backends.cudnn.is_available(),
        torch.backends.cusparselt.version(), torch.backends.cuda.is_built(), getattr(torch._C, "_cudnn", None),
        getattr(torch._C, "_nccl_version", None), getattr(torch._C, "_cuda_getCompiledVersion", None),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("release", "cuda", "cudnn", "nccl"),
    [
        ("2.11.0+cpu", "13.0", (9, 19, 0), (2, 28, 9)),
        ("2.13.1", "13.0", (9, 20, 0), (2, 29, 7)),
        ("2.15.0a0+git1", "13.2", (9, 26, 0), (2, 30, 7)),
        ("2.4.0", "13.0", (9, 19, 0), (2, 28, 9)),
        ("2.40.0.dev1", "13.2", (9, 26, 0), (2, 30, 7)),
    ],
)
def test_the_build_of_a_release(release: str, cuda: str, cudnn: object, nccl: object) -> None:
    build = build_for(release, [find_profile("h100-80g").device(0)])
    assert (build.cuda, build.cudnn, build.nccl) == (cuda, cudnn, nccl)


@pytest.mark.parametrize("profile", ["v100-16g", "t4-16g", "a100-80g", "rtx5090-32g"])
def test_every_gpu_has_kernels_and_no_warning(profile: str) -> None:
    with warnings.catch_warnings(), emulate(gpus=2, profile=profile):
        warnings.simplefilter("error")
        torch.cuda.init()
        capability = torch.cuda.get_device_capability()
        assert "sm_{}{}".format(*capability) in torch.cuda.get_arch_list()
        if not HAS_CUDA:
            assert torch.version.cuda is not None
            assert (torch.version.cuda == "12.6") == (capability < (7, 5))


@pretended
def test_versions_agree_and_go_with_the_emulation() -> None:
    before = told()
    with emulate(gpus=2):
        assert isinstance(torch.version.cuda, str) and torch.version.hip is None
        major, minor = map(int, torch.version.cuda.split("."))
        assert torch._C._cuda_getCompiledVersion() == 1000 * major + 10 * minor
        assert torch.backends.cudnn.is_available() and torch.backends.cuda.is_built()
        assert torch.backends.cudnn.version() == torch._C._cudnn.getVersionInt() > 90000
        assert torch.cuda.nccl.version() == build_for(torch.__version__, ()).nccl
        assert torch.distributed.ProcessGroupNCCL.get_build_nccl_version() == torch.cuda.nccl.version()
    assert told() == before


NOTHING = {"cusparselt.get_max_alg_id"}  # torch knows none for cuSPARSELt 0.8


@pretended
@pytest.mark.parametrize(
    "library", [m.name for m in pkgutil.iter_modules(torch.backends.__path__) if m.name[:2] == "cu"]
)
def test_no_question_about_a_library_is_answered_with_none(library: str) -> None:
    with emulate(gpus=1):
        module = importlib.import_module(f"torch.backends.{library}")
        functions = {name: value for name, value in inspect.getmembers(module, inspect.isfunction) if name[0] != "_"}
        asked = 0
        for name, function in functions.items():
            required = [p for p in inspect.signature(function).parameters.values() if p.default is p.empty]
            if required or f"{library}.{name}" in NOTHING or name in ("flags", "sdp_kernel", "set_flags"):
                continue
            assert function() is not None, name
            asked += 1
        assert asked >= 1


@pretended
def test_scripts_that_read_versions_go_on(run: Run) -> None:
    lines = run("""
        import devsan
        devsan.emulate(gpus=1).start()
        import torch
        from torch.utils import collect_env
        info = collect_env.get_env_info()
        print(info.cuda_compiled_version == torch.version.cuda, info.is_cuda_available)
        print(int(torch.version.cuda.split(".")[0]) >= 12, torch.backends.cudnn.version() // 10000)
    """).stdout.splitlines()
    assert lines == ["True True", "True 9"]


@pretended
def test_the_doctor_sees_the_real_torch() -> None:
    with emulate(gpus=1):
        torch_facts = ask_torch(120)
    assert (torch_facts.state, torch_facts.cuda, torch_facts.cudnn, torch_facts.devices) == ("ok", "", "", 0)


@pretended
def test_bitsandbytes_keeps_its_library_for_the_cpu(run: Run, tmp_path: Path) -> None:
    package = tmp_path / "bitsandbytes"
    package.mkdir()
    (package / "__init__.py").write_text("from bitsandbytes.cuda_specs import get_cuda_specs\n")
    (package / "cuda_specs.py").write_text(
        "import torch\ndef get_cuda_specs():\n    return torch.version.cuda if torch.cuda.is_available() else None\n"
    )
    lines = run("""
        import devsan
        with devsan.emulate(gpus=1):
            import bitsandbytes
            print(bitsandbytes.get_cuda_specs())
    """).stdout.splitlines()
    assert lines == ["None"]
