"""DV422: imports of a script that stop it as it starts: of a package, a module or a name that is not installed."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from devsan.diagnostics.detectors import own_code
from devsan.diagnostics.diagnostic import Diagnostic
from devsan.diagnostics.messages import Message, message
from devsan.doctor.case import Case
from devsan.doctor.findings import finding
from devsan.doctor.imports import Import
from devsan.doctor.installed import Installed
from devsan.doctor.packages import version
from devsan.spelling import nearest

CODE = own_code(__name__)

_INSTEAD = {
    "peft.prepare_model_for_int8_training": message("import prepare_model_for_kbit_training"),
    "transformers.AdamW": message("import AdamW from torch.optim"),
    "transformers.AutoModelForVision2Seq": message("import AutoModelForImageTextToText"),
    "transformers.AutoModelWithLMHead": message("import AutoModelForCausalLM, AutoModelForMaskedLM or "
                                                "AutoModelForSeq2SeqLM"),
    "transformers.deepspeed": message("import it from transformers.integrations"),
}  # fmt: skip
"""What stands for what is gone."""

_DISTRIBUTIONS = {"PIL": "pillow", "cv2": "opencv-python", "sklearn": "scikit-learn", "skimage": "scikit-image",
                  "yaml": "pyyaml", "bs4": "beautifulsoup4", "dotenv": "python-dotenv"}  # fmt: skip

_BUILT_FOR_TORCH = ("torchvision", "torchaudio", "xformers", "flash_attn")
"""Packages that are built for one release of torch: another build replaces torch, or does not load."""

_COMPARED = (
    "accelerate", "bitsandbytes", "datasets", "deepspeed", "diffusers", "lightning", "peft", "pytorch_lightning",
    "transformers", "trl",
)  # fmt: skip
"""The libraries whose modules and names are compared: those whose releases drop names that scripts import."""


def check(case: Case) -> Iterator[Diagnostic]:
    """Yields what a script imports whatever happens, and what the environment does not have."""
    installed = case.facts.installed
    if installed is None:
        return
    for script in case.scripts:
        said: set[str] = set()
        for each in script.imports.needed:
            package = each.module.partition(".")[0]
            if package in said or package in sys.stdlib_module_names:
                continue
            if not installed.has(package):
                if not script.imports.finds_more and not _is_beside(script.file, package):
                    said.add(package)
                    yield _missing(each, package)
            elif package in _COMPARED:
                yield from _gone(installed, each, package)


def _missing(each: Import, package: str) -> Diagnostic:
    return finding(
        CODE, message("{package} is not installed", package=package), each.place,
        (message("The script stops as it starts: ModuleNotFoundError."),),
        _install(package), severity="error", confidence="likely",
    )  # fmt: skip


def _install(package: str) -> Message:
    if package in _BUILT_FOR_TORCH:
        return message("install the build of {package} that belongs to torch {version}", package=package,
                       version=version("torch"))  # fmt: skip
    name = _DISTRIBUTIONS.get(package, package.replace("_", "-"))
    return message("install it in the environment of the job: pip install {name}", name=name)


def _gone(installed: Installed, each: Import, package: str) -> Iterator[Diagnostic]:
    if installed.lacks_module(each.module):
        title = message("{library} {version} has no module {name}", library=package, version=version(package),
                        name=each.module)  # fmt: skip
        stops = message("The script stops as it starts: ModuleNotFoundError.")
    elif each.name and each.name != "*" and installed.lacks(each.module, each.name):
        title = message("{library} {version} has no {name}", library=package, version=version(package),
                        name=f"{each.module}.{each.name}")  # fmt: skip
        stops = message("The script stops as it starts: ImportError.")
    else:
        return
    yield finding(CODE, title, each.place, (stops,), _instead(installed, each, package), severity="error",
                  confidence="certain")  # fmt: skip


def _instead(installed: Installed, each: Import, package: str) -> Message:
    for name in (f"{each.module}.{each.name}", each.module):
        if name in _INSTEAD:
            return _INSTEAD[name]
    module = installed.module(each.module)
    near = nearest(each.name, filter(str.isidentifier, module.names), alike=0.9) if module is not None else None
    if near:
        return message("write {correction}", correction=near)
    return message("import what stands for it in {version}, or install the release that the script was written for",
                   version=f"{package} {version(package)}")  # fmt: skip


def _is_beside(file: str, package: str) -> bool:
    """Whether the package is a module of the script's own: beside it, or in the folder of the job."""
    return any((folder / package).is_dir() or any(folder.glob(f"{package}.*"))
               for folder in (Path(file).parent, Path.cwd()))  # fmt: skip
