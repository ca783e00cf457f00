"""DV405: installed packages that do not fit together, by what their own metadata says."""

from __future__ import annotations

from collections.abc import Iterator

from devsan.diagnostics.detectors import own_code
from devsan.diagnostics.diagnostic import Diagnostic
from devsan.diagnostics.messages import message
from devsan.doctor.case import Case
from devsan.doctor.findings import finding
from devsan.doctor.packages import together

CODE = own_code(__name__)

_BUILT_WITH_TORCH = ("torchvision", "torchaudio")
_COMPILED = ("torchvision", "torchaudio", "xformers", "flash-attn", "vllm", "apex", "mamba-ssm", "causal-conv1d")
_FAMILIES = ("nvidia-nccl-", "nvidia-cudnn-")


def check(case: Case) -> Iterator[Diagnostic]:
    """Yields requirements that are not met, builds for another CUDA, and one library twice."""
    for each in case.facts.unmet:
        torch = each.name == "torch"
        compiled = each.owner in _COMPILED
        evidence = [message("{package} declares that it needs {requirement}.", requirement=each.needs,
                            package=f"{each.owner} {case.facts.version(each.owner)}")]  # fmt: skip
        if torch and compiled:
            evidence.append(
                message("Its compiled extension is linked against that torch: operators are missing, or it crashes.")
            )
        found = message("{package} is not installed", package=each.name)
        if each.found:
            found = message("{package} is installed", package=f"{each.name} {each.found}")
        yield finding(
            CODE,
            message("{package} needs {requirement}, but {found}", package=each.owner, requirement=each.needs,
                    found=found),
            None,
            tuple(evidence),
            message('install the {package} that matches this torch: pip install "{package}" --upgrade',
                    package=each.owner)
            if torch and compiled
            else message('pip install "{requirement}"', requirement=each.needs),
            severity="error" if torch and compiled else "warning", confidence="certain",
            subject=f"{each.owner} {case.facts.version(each.owner)}",
        )  # fmt: skip
    yield from _builds(case)
    yield from _twice(case)


def _builds(case: Case) -> Iterator[Diagnostic]:
    """torch 2.6.0+cu124 beside torchvision 0.21.0+cpu: the numbers fit and the builds do not."""
    torch = case.facts.version("torch").partition("+")[2]
    for name in _BUILT_WITH_TORCH:
        version = case.facts.version(name)
        build = version.partition("+")[2]
        if torch and build and torch != build and _is_build(torch) and _is_build(build):
            yield finding(
                CODE,
                message("{package} is built for {build}, torch for {torch_build}", package=name, build=build,
                        torch_build=torch),
                None,
                (message("{package} was built with another build of torch: operator torchvision::nms does not exist.",
                         package=f"{name} {version}") if name == "torchvision"
                 else message("{package} was built with another build of torch.", package=f"{name} {version}"),),
                message("install both from the same index: pip install torch {package} --index-url "
                        "https://download.pytorch.org/whl/{torch_build}",
                        package=name, torch_build=torch),
                severity="error", confidence="likely", subject=f"{name} {version}",
            )  # fmt: skip


def _is_build(text: str) -> bool:
    return text.startswith(("cu", "cpu", "rocm"))


def _twice(case: Case) -> Iterator[Diagnostic]:
    for family in _FAMILIES:
        found = [name for name in case.facts.packages if name.startswith(family)]
        if len(found) > 1:
            own = f"{family}cu{case.facts.torch.cuda.partition('.')[0]}"
            extra = [name for name in found if name != own] if own in found else found[1:]
            yield finding(
                CODE, message("{packages} are both installed", packages=together(found)), None,
                (message("They install the same library into the same folder, and the last one installed overwrites "
                         "the other."),),
                message("pip uninstall {packages}, then reinstall torch", packages=" ".join(extra)),
                severity="warning", confidence="likely", subject=" ".join(found),
            )  # fmt: skip
