"""``devsan doctor`` as a command, in processes of its own, over a made-up nvidia-smi and torch."""

from __future__ import annotations

import getpass
import json
import os
import platform
import re
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]

CONFIGURATION: dict[str, Any] = {
    "train_micro_batch_size_per_gpu": "auto",
    "train_batch_size": "auto",
    "gradient_accumulation_steps": "auto",
    "bf16": {"enabled": "auto"},
    "zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu"}},
}
SCRIPT = """\
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

arguments = TrainingArguments("out", deepspeed="ds_config.json", bf16=True)
Trainer(AutoModelForCausalLM.from_pretrained("gpt2"), arguments).train()
"""
SMI = """#!/bin/sh
case $1 in
  --query*) printf '0, GPU-aaaa, NVIDIA A100, 00000000:07:00.0, 81920, 3, 8.0, 560.35.03\\n'
            printf '1, GPU-bbbb, NVIDIA A100, 00000000:0F:00.0, 81920, 3, 8.0, 560.35.03\\n';;
  topo) printf '\\tGPU0\\tGPU1\\nGPU0\\t X \\tNV12\\nGPU1\\tNV12\\t X \\n';;
  *) printf '| Driver Version: 560.35.03  CUDA Version: 12.6 |\\n';;
esac
"""
TORCH = """
import os
from types import SimpleNamespace as N
open(os.environ["FAKE_LOG"], "a").write("imported\\n")
__version__ = "2.13.0"
version = N(cuda="12.6", hip=None)
_C = N(_cuda_getArchFlags=lambda: "sm_80 sm_90", _cuda_init=lambda: None)
cuda = N(is_available=lambda: True, device_count=lambda: 2, nccl=N(version=lambda: (2, 27, 5)))
backends = N(cudnn=N(version=lambda: 91002))
"""
NO_NETWORK = """
import socket, sys
def refuse(*words, **named):
    sys.stderr.write("A SOCKET WAS OPENED")
    raise OSError("no network")
socket.socket = refuse
socket.getaddrinfo = refuse
"""
LAUNCH = ("--", "torchrun", "--nproc_per_node=2", "train.py")


@pytest.fixture
def doctor(front):
    """Runs ``devsan doctor`` where two GPUs and a torch that fits them are."""
    for name, text in (("torch/__init__.py", TORCH), ("torch/version.py", "__version__ = '2.13.0'\ncuda = '12.6'\n"),
                       ("sitecustomize.py", NO_NETWORK)):  # fmt: skip
        front.write(f"packages/{name}", text)
    tool = front.folder / front.write("bin/nvidia-smi", SMI)
    tool.chmod(tool.stat().st_mode | stat.S_IXUSR)
    front.environment.update(
        PYTHONPATH=f"{ROOT}{os.pathsep}{front.folder / 'packages'}",
        PATH=f"{front.folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
    )
    for name in ("CUDA_VISIBLE_DEVICES", "WORLD_SIZE", "RANK", "LOCAL_RANK", "LD_LIBRARY_PATH"):
        front.environment.pop(name, None)

    def write(change: dict[str, Any]) -> None:
        front.write("ds_config.json", json.dumps({**CONFIGURATION, **change}, indent=2))

    front.configuration = write
    write({})
    front.write("train.py", SCRIPT)
    return front


def files(folder: Path) -> dict[str, tuple[int, int]]:
    return {str(path): (path.stat().st_mtime_ns, path.stat().st_size) for path in sorted(folder.rglob("*"))
            if path.name != "fake.log"}  # fmt: skip


def test_a_set_up_that_works(doctor):
    before = files(doctor.folder)
    done = doctor.devsan("doctor", "ds_config.json", *LAUNCH)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    said = re.sub(" +", " ", done.stdout)
    for line in ("driver NVIDIA 560.35.03 (CUDA 12.6)\n",
                 "cuda:1 GPU 1 NVIDIA A100 80 GiB 8.0 GPU-bbbb 00000000:0F:00.0\n",
                 "torch 2.13.0 (CUDA 12.6), NCCL 2.27.5", "(torchrun, 2 ranks)", "nothing is wrong"):  # fmt: skip
        assert line in said
    assert files(doctor.folder) == before  # it changes nothing


def test_a_finding_is_shown_where_it_is(doctor):
    doctor.configuration({"train_batch_size": 63})
    done = doctor.devsan("doctor", "--no-facts", "ds_config.json", *LAUNCH)
    assert done.returncode == 1
    assert done.stdout.startswith(
        "\nerror[DV416]: train_batch_size is 63, but the Trainer computes 8 * 1 * 2 ranks = 16\n"
        "  --> ds_config.json:3:23\n"
        "   |\n"
        ' 3 |   "train_batch_size": 63,\n'
        "   |                       ^^\n"
        "   |\n"
    )
    assert "more: devsan explain DV416" in done.stdout
    assert done.stdout.endswith("devsan doctor: 1 error\n")


def test_the_files_that_the_launch_names_are_read(doctor):
    doctor.configuration({"train_batch_size": 63})
    assert "DV416" in doctor.devsan("doctor", *LAUNCH).stdout
    done = doctor.devsan("doctor", "--", "torchrun", "train.py", "--deepspeed", "none.json")
    assert done.returncode == 1
    assert "none.json" in done.stdout and "there is no such file" in done.stdout


def test_json(doctor):
    doctor.configuration({"zero_optimization": {"stage": 2, "offload_param": {"device": "cpu"}}})
    done = doctor.devsan("doctor", "--format", "json", "ds_config.json", *LAUNCH)
    assert done.returncode == 1
    said = json.loads(done.stdout)
    assert (said["format"], said["version"]) == ("devsan-doctor", 2)
    [finding] = said["findings"]
    assert (finding["code"], finding["name"]) == ("DV411", "offload-and-stage")
    [site] = finding["sites"]
    assert (site["file"], site["line"], site["column"]) == ("ds_config.json", 11, 17)
    assert site["labels"] == [{"line": 11, "column": 17, "end_column": 22, "texts": [], "offending": True}]
    assert finding["evidence"] and finding["fixes"][0]["text"]
    assert said["facts"]["driver"]["gpus"][1]["uuid"] == "GPU-bbbb"
    assert said["facts"]["visible"] == [0, 1]


def test_sarif(doctor):
    pydantic_sarif = pytest.importorskip("pydantic_sarif.model", reason="its classes are the standard's schema")
    doctor.configuration({"train_batch_size": 63})
    launch = ("--", "torchrun", "--nproc_per_node=3", "train.py")
    done = doctor.devsan("doctor", "--format", "sarif", "ds_config.json", *launch)
    log = json.loads(done.stdout)
    pydantic_sarif.StaticAnalysisResultsFormatSarifVersion210JsonSchema.model_validate(log)
    results = {result["ruleId"]: result for result in log["runs"][0]["results"]}
    assert set(results) == {"DV407", "DV416"}
    location = results["DV416"]["locations"][0]["physicalLocation"]
    assert location["artifactLocation"] == {"uri": "ds_config.json", "uriBaseId": "%SRCROOT%"}
    assert location["region"]["startLine"] == 3
    [logical] = results["DV407"]["locations"]
    assert logical["logicalLocations"][0]["fullyQualifiedName"] == "torchrun --nproc_per_node=3 train.py"


def test_github(doctor):
    doctor.configuration({"train_batch_size": 63})
    done = doctor.devsan("doctor", "--format", "github", "ds_config.json", *LAUNCH)
    assert done.returncode == 1
    assert done.stdout.startswith(
        "::error file=ds_config.json,line=3,endLine=3,col=23,endColumn=24,title=DV416 trainer-and-configuration::"
        "train_batch_size is 63, but the Trainer computes 8 * 1 * 2 ranks = 16%0A"
    )
    assert done.stdout.count("\n") == 1


def test_redacted_output_says_nothing_about_whose_machine_it_is(doctor):
    done = doctor.devsan("doctor", "--redact", "ds_config.json", *LAUNCH, MASTER_ADDR="10.1.2.3", HOME="/home/somebody",
                         NCCL_TOPO_FILE="/home/somebody/secret/topo.xml", HF_TOKEN="hf_x",
                         NCCL_API_KEY="k")  # fmt: skip
    assert done.stdout.lstrip("\n").startswith("```text\n")
    assert done.stdout.endswith("```\n")
    assert "MASTER_ADDR=ADDRESS" in done.stdout
    for secret in ("somebody", "10.1.2.3", "hf_x", "NCCL_API_KEY", str(doctor.folder), platform.node(), sys.executable):
        assert secret not in done.stdout, secret
    user = getpass.getuser()
    assert len(user) < 2 or f" {user} " not in done.stdout


def test_fast_is_silent_where_nothing_is_wrong_and_imports_no_torch(doctor):
    done = doctor.devsan("doctor", "--fast", "ds_config.json", *LAUNCH)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert doctor.log() == []
    done = doctor.devsan("doctor", "--fast", *LAUNCH, CUDA_VISIBLE_DEVICES="1")
    assert done.returncode == 1
    assert "error[DV407]: 2 ranks on this machine, but 1 of its GPUs is visible" in done.stdout


def test_chinese(doctor):
    doctor.configuration({"train_batch_size": 63, "fp16": {"enabled": True}, "bf16": {"enabled": True}})
    done = doctor.devsan("doctor", "--no-facts", "--lang", "zh", "ds_config.json", *LAUNCH)
    assert done.returncode == 1
    assert "错误[DV416]: train_batch_size 是 63" in done.stdout
    assert "建议: " in done.stdout and "详情: devsan explain DV416" in done.stdout


@pytest.mark.parametrize(
    ("torch", "sentence"),
    [
        ("raise ImportError('libtorch_cuda.so: undefined symbol: ncclCommResume')", "undefined symbol: ncclCommResume"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "import torch is killed by SIGSEGV"),
    ],
)
def test_a_broken_torch_is_a_finding(doctor, torch, sentence):
    doctor.write("packages/torch/__init__.py", torch)
    done = doctor.devsan("doctor", "ds_config.json", *LAUNCH)
    assert done.returncode == 1
    assert "error[DV402]: import torch fails" in done.stdout
    assert sentence in done.stdout


def test_a_broken_driver_is_a_finding(doctor):
    doctor.write("bin/nvidia-smi", "#!/bin/sh\nexit 9\n")
    done = doctor.devsan("doctor", "--fast", "ds_config.json", *LAUNCH)
    assert done.returncode == 1
    assert "error[DV403]: nvidia-smi fails" in done.stdout


def test_a_driver_that_is_slow_does_not_hold_a_launch_up(doctor):
    doctor.write("bin/nvidia-smi", "#!/bin/sh\nsleep 30\n")
    done = doctor.devsan("doctor", "--fast", "ds_config.json", *LAUNCH)
    assert done.returncode == 0
    assert "note[DV403]: nvidia-smi does not respond" in done.stdout


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["ds_config.txt"], "expected JSON, YAML, a Python file or a folder, got 'ds_config.txt'"),
        (["trian.py"], "expected a Python file that exists, got 'trian.py'"),
        (["ds_config.json", "--"], "expected a launch command after --, got nothing"),
        (["--fix"], "expected files, folders or a launch command to fix, got none"),
        (["--no-machine"], "expected files, folders or a launch command to check, got none"),
        (["--json"], "expected an option that devsan doctor --help shows, got '--json'; did you mean --format json?"),
        (["--lang", "fr"], "expected lang to be en or zh"),
        (["--format", "json", "--diff"], "not allowed with argument"),
        (["--format", "jsn"], "a format (terminal, json, sarif, github), got 'jsn'; did you mean --format json?"),
    ],
)
def test_what_it_does_not_understand(doctor, words, sentence):
    done = doctor.devsan("doctor", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert sentence in done.stderr


def test_it_stays_light(doctor):
    program = (
        "import sys; from devsan.cli.main import main; code = main(['doctor', '--fast', 'ds_config.json'])\n"
        "print(code, sorted({'torch', 'rich', 'libcst', 'numpy', 'transformers', 'jinja2'} & set(sys.modules)))"
    )
    done = doctor.python("-c", program)
    assert done.stdout == "0 []\n", done.stdout + done.stderr


MAPPED = """\
import torch
from transformers import AutoModelForCausalLM

model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen-7B-Chat", device_map="auto")
state = torch.load("state.pt")
"""


def test_source_is_checked_beside_the_configuration(doctor):
    # Qwen 920: each rank builds a map over all GPUs
    doctor.write("train.py", MAPPED)
    done = doctor.devsan("doctor", "--no-facts", "train.py", "--", "torchrun", "--nproc_per_node=2", "train.py")
    assert done.returncode == 1
    assert "DV204" in done.stdout and "train.py:4" in done.stdout
    done = doctor.devsan("doctor", "--no-facts", "train.py", "--", "python", "train.py")
    assert "DV204" not in done.stdout


def test_a_script_that_cannot_be_read_is_told_and_hides_nothing(doctor):
    doctor.configuration({"zero_optimization": {"stage": 7}})
    doctor.write("train.py", "def (:\n")
    done = doctor.devsan("doctor", "--no-facts", "ds_config.json", "train.py")
    assert done.returncode == 1
    assert "DV410" in done.stdout
    assert "train.py" in done.stderr


def test_the_guide_shows_what_is_printed(front):
    guide = (ROOT / "docs/guide/doctor.md").read_text(encoding="utf-8")
    texts = re.findall(r"^```text\n(.*?)^```$", guide, re.DOTALL | re.MULTILINE)
    [shown] = [text for text in texts if "[DV413]" in text]
    front.write("ds_config.json", json.dumps({"train_batch_size": 64, "train_micro_batch_size_per_gpu": 4,
                                              "gradient_accumulation_steps": 8}, indent=2))  # fmt: skip
    front.environment["PYTHONPATH"] = str(ROOT)
    words = ("--no-machine", "ds_config.json", "--", "torchrun", "--nproc_per_node=4", "train.py")
    assert front.devsan("doctor", *words).stdout == f"\n{shown}"


def test_fix_renames_an_argument_of_a_script_and_tells_what_is_left(doctor):
    doctor.write("packages/transformers/__init__.py", "from .training_args import TrainingArguments\n")
    doctor.write(
        "packages/transformers/training_args.py",
        "from dataclasses import dataclass\n\n"
        "@dataclass\nclass TrainingArguments:\n    output_dir: str\n"
        "    eval_strategy: str = 'no'\n    warmup_steps: float = 0\n",
    )
    doctor.write(
        "args.py",
        "from transformers import TrainingArguments\n\n"
        'arguments = TrainingArguments("out", evaluation_strategy="steps", warmup_ratio=0.1)\n',
    )
    assert '+arguments = TrainingArguments("out", eval_strategy="steps", warmup' in doctor.devsan(
        "doctor", "--diff", "args.py"
    ).stdout  # fmt: skip
    done = doctor.devsan("doctor", "--fix", "args.py")
    assert done.returncode == 1
    assert 'TrainingArguments("out", eval_strategy="steps"' in (doctor.folder / "args.py").read_text()
    assert "has no argument warmup_ratio" in done.stdout and "evaluation_strategy" not in done.stdout
