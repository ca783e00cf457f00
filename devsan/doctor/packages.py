"""Versions of what is installed, and what each says that it needs; nothing is imported."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from importlib import metadata

from devsan.diagnostics.messages import message

FRAMEWORKS = (
    "torch", "torchvision", "torchaudio", "triton", "transformers", "accelerate", "deepspeed", "peft", "bitsandbytes",
    "lightning", "pytorch-lightning", "diffusers", "trl", "datasets", "tokenizers", "safetensors", "huggingface-hub",
    "sentence-transformers", "autoawq", "auto-gptq", "gptqmodel", "optimum", "xformers", "flash-attn", "vllm",
    "unsloth", "liger-kernel", "mamba-ssm", "causal-conv1d", "apex", "transformer-engine", "torchmetrics", "numpy",
    "pydantic", "ray", "nvidia-nccl-cu11", "nvidia-nccl-cu12", "nvidia-nccl-cu13", "nvidia-cudnn-cu11",
    "nvidia-cudnn-cu12", "nvidia-cudnn-cu13", "devsan",
)  # fmt: skip


@dataclass(frozen=True)
class Unmet:
    """A requirement that is not met.

    Attributes:
        owner: who needs it.
        needs: "torch==2.4.1".
        name: "torch".
        found: the version that is installed; "" where there is none.
    """

    owner: str
    needs: str
    name: str
    found: str


def versions() -> dict[str, str]:
    """Returns the installed ones of `FRAMEWORKS` with their versions."""
    return {name: found for name in FRAMEWORKS if (found := version(name))}


def version(name: str) -> str:
    """Returns the version of a package; "" where it is not installed."""
    distribution = _distribution(name)
    try:
        return (distribution.version if distribution is not None else None) or ""
    except Exception:  # metadata without a version, or cut off
        return "unknown"


def unmet() -> tuple[Unmet, ...]:
    """Returns what the installed frameworks need and do not have, by their own metadata."""
    return tuple(each for name in FRAMEWORKS for each in _unmet_of(name))


def together(names: Iterable[str]) -> str:
    """Returns "torch 2.4.0 and numpy 2.0.0", to stand in a sentence."""
    return reduce(lambda first, last: message("{first} and {last}", first=first, last=last), names)


def _unmet_of(owner: str) -> Iterator[Unmet]:
    distribution = _distribution(owner)
    try:
        needed = distribution.requires if distribution is not None else None
    except Exception:
        return
    if not needed:
        return
    from packaging.requirements import InvalidRequirement, Requirement
    from packaging.version import InvalidVersion

    for text in needed:
        try:
            requirement = Requirement(text)
            if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
                continue
            other = _distribution(requirement.name)
            version = other.version if other is not None else ""
            if version and requirement.specifier.contains(version, prereleases=True):
                continue
        except (InvalidRequirement, InvalidVersion, Exception):  # old metadata holds much that is no requirement
            continue
        if version or requirement.name in FRAMEWORKS:
            yield Unmet(owner, f"{requirement.name}{requirement.specifier}", requirement.name, version or "")


def _distribution(name: str) -> metadata.Distribution | None:
    try:
        return metadata.distribution(name)
    except Exception:  # not installed, or its metadata cannot be read
        return None
