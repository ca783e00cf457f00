"""DV405: installed packages that do not fit together, by what their own metadata says."""

from __future__ import annotations

from collections.abc import Iterator

from devsan.diagnostics.detectors import own_code
from devsan.doctor.case import Case
from devsan.doctor.findings import Finding

CODE = own_code(__name__)

_BUILT_WITH_TORCH = ("torchvision", "torchaudio")
_COMPILED = ("torchvision", "torchaudio", "xformers", "flash-attn", "vllm", "apex", "mamba-ssm", "causal-conv1d")
_FAMILIES = ("nvidia-nccl-", "nvidia-cudnn-")


def check(case: Case) -> Iterator[Finding]:
    """Yields requirements that are not met, builds for another CUDA, and one library twice."""
    for each in case.facts.unmet:
        torch = each.name == "torch"
        compiled = each.owner in _COMPILED
        evidence = [f"{each.owner} {case.facts.version(each.owner)} says that it needs {each.needs}."]
        if torch and compiled:
            evidence.append("Its compiled part is linked against that torch: operators are missing, or it crashes.")
        found = f"{each.name} {each.found} is installed" if each.found else f"{each.name} is not installed"
        yield Finding(
            CODE, f"{each.owner} needs {each.needs}, and {found}", None, tuple(evidence),
            f'install the {each.owner} of this torch: pip install "{each.owner}" --upgrade' if torch and compiled
            else f'pip install "{each.needs}"',
            severity="error" if torch and compiled else "warning", confidence="certain",
            subject=f"{each.owner} {case.facts.version(each.owner)}",
        )  # fmt: skip
    yield from _builds(case)
    yield from _twice(case)


def _builds(case: Case) -> Iterator[Finding]:
    """torch 2.6.0+cu124 beside torchvision 0.21.0+cpu: the numbers fit and the builds do not."""
    torch = case.facts.version("torch").partition("+")[2]
    for name in _BUILT_WITH_TORCH:
        version = case.facts.version(name)
        build = version.partition("+")[2]
        if torch and build and torch != build and _is_build(torch) and _is_build(build):
            yield Finding(
                CODE, f"{name} is built for {build}, torch for {torch}", None,
                (f"{name} {version} was made with another build of torch: operator torchvision::nms does not exist."
                 if name == "torchvision" else f"{name} {version} was made with another build of torch.",),
                f"install both from one index: pip install torch {name} --index-url https://download.pytorch.org/whl/{torch}",
                severity="error", confidence="likely", subject=f"{name} {version}",
            )  # fmt: skip


def _is_build(text: str) -> bool:
    return text.startswith(("cu", "cpu", "rocm"))


def _twice(case: Case) -> Iterator[Finding]:
    for family in _FAMILIES:
        found = [name for name in case.facts.packages if name.startswith(family)]
        if len(found) > 1:
            own = f"{family}cu{case.facts.torch.cuda.partition('.')[0]}"
            extra = [name for name in found if name != own] if own in found else found[1:]
            yield Finding(
                CODE, f"{' and '.join(found)} are both installed", None,
                ("They install the same library into the same folder, and the one that came last is there.",),
                f"pip uninstall {' '.join(extra)}, then install torch anew", severity="warning", confidence="likely",
                subject=" ".join(found),
            )  # fmt: skip
