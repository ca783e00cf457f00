"""Imports that stop a script as it starts: of packages, modules and names that are not installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from devsan.doctor.installed import Installed
from devsan.doctor.packages import version


@pytest.fixture
def installed(empty):
    """A set-up with the libraries of this environment."""
    empty.installed = Installed()
    return empty


def told(setup):
    return [(str(each.title), each.fixes[0].text) for each in setup.findings() if each.code == "DV422"]


@pytest.mark.parametrize(
    ("script", "title", "fix"),
    [
        ("from transformers import AdamW", "transformers {} has no transformers.AdamW",
         "import AdamW from torch.optim"),
        ("from transformers import DataCollatorWithPading",
         "transformers {} has no transformers.DataCollatorWithPading", "write DataCollatorWithPadding"),
        ("from transformers.deepspeed import HfDeepSpeedConfig", "transformers {} has no module transformers.deepspeed",
         "import it from transformers.integrations"),
        ("import transformers.modeling_tf_utils", "transformers {} has no module transformers.modeling_tf_utils",
         "import what stands for it in transformers {}, or install the release that the script was written for"),
        ("import no_such_package.deep", "no_such_package is not installed",
         "install it in the environment of the job: pip install no-such-package"),
    ],
)  # fmt: skip
def test_what_is_not_there(installed, script, title, fix):
    release = version("transformers")
    installed.write("train.py", script + "\n")
    assert told(installed) == [(title.format(release), fix.format(release))]


def test_a_package_is_told_once(installed):
    installed.write("train.py", "import no_such_package\nfrom no_such_package import a, b\n")
    assert [title for title, _ in told(installed)] == ["no_such_package is not installed"]


@pytest.mark.parametrize(
    "script",
    [
        "import os, torch\nfrom transformers import (AutoModelForCausalLM, LlamaForCausalLM, Trainer,\n"
        "    ViTImageProcessorFast, DataCollatorWithPadding, get_scheduler, set_seed)",
        "from transformers.models.llama.modeling_llama import LlamaDecoderLayer",
        "from transformers.models import llama\nfrom transformers.utils import logging, is_torch_available",
        "from accelerate import Accelerator, infer_auto_device_map\nfrom accelerate.utils import set_seed",
        "from peft import LoraConfig, get_peft_model\nfrom lightning.pytorch.callbacks import ModelCheckpoint",
        "import deepspeed\nfrom deepspeed.ops.adam import DeepSpeedCPUAdam\nfrom deepspeed import zero, comm",
        "try:\n    import no_such_package\nexcept ImportError:\n    no_such_package = None",
        "def late():\n    import no_such_package",
        "import sys\nsys.path.append('..')\nimport no_such_package",
        "import helpers, own_package.part",
        "from . import no_such_package\nfrom .no_such_package import a",
    ],
)
def test_what_is_there_or_need_not_be(installed, script):
    (installed.folder / "helpers.py").write_text("")
    (installed.folder / "own_package").mkdir()
    installed.write("train.py", script + "\n")
    assert told(installed) == []


@pytest.mark.parametrize(
    ("source", "judged"),
    [
        ("a = 1\nfrom .more import *\n", True),
        ("globals().update(a=1)\n", False),
        ("def __getattr__(name): ...\n", False),
        ("from elsewhere import *\n", False),
        ("names = ['AdamW']\n", False),
        ("(\n", False),
    ],
)
def test_a_module_that_may_make_the_name_is_not_judged(tmp_path: Path, installed, source, judged):
    (tmp_path / "__init__.py").write_text(source)
    (tmp_path / "more.py").write_text("b = 2\n")
    installed.installed = Installed(lambda name: [tmp_path] if name == "transformers" else ())
    installed.write("train.py", "from transformers import AdamW\n")
    assert bool(told(installed)) == judged


def test_of_another_machine_nothing_is_known(empty):
    empty.write("train.py", "import no_such_package\n")
    assert told(empty) == []
