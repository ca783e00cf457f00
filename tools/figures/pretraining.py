"""Predict the memory of torchtitan's pretraining of Llama 3.1 8B, beside what it measured on eight H100 of 96 GB.

python tools/figures/pretraining.py FOLDER

FOLDER holds github.com/pytorch/torchtitan at commit 9dec370, of the end of 2024, when its table 1 was measured
(benchmarks/llama3_h100_202412_torchtitan.md: FSDP, a batch of 2 for each GPU, selective activation checkpointing). Its
own train.py runs in eight ranks at full size. Only the texts and the tokenizer are replaced, which are not here: random
tokens from the tokenizer's vocabulary.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

MEASURED_GIB = 82.4
_SETTINGS = {"training.batch_size": "2", "training.steps": "4", "metrics.log_freq": "1"}
_RANK = """
import importlib, runpy, sys, types
from unittest import mock
import torch

def batches(name, path, tokenizer, batch_size, seq_len, *ranks):
    while True:
        tokens = torch.randint(tokenizer.n_words, (batch_size, seq_len + 1))
        yield tokens[:, :-1], tokens[:, 1:]

sys.path.insert(0, {folder!r})
data = types.ModuleType("torchtitan.datasets")
data.build_hf_data_loader = batches
data.build_tokenizer = lambda *_: types.SimpleNamespace(n_words=128256)
sys.modules["torchtitan.datasets"] = data
sys.modules["torch.utils.tensorboard"] = mock.MagicMock()  # off here, and imported all the same
# A norm that is not used here is written in Triton, which torch's build for the CPU lacks.
sys.modules |= {{"triton": mock.MagicMock(), "triton.language": mock.MagicMock()}}
importlib.import_module("torchtitan.models.norms")
del sys.modules["triton"], sys.modules["triton.language"]
# Torch of that time put flash attention, whose results the checkpoints keep, before cuDNN's (pytorch/pytorch#138522).
torch.backends.cuda.enable_cudnn_sdp(False)
runpy.run_path({train!r}, run_name="__main__")
"""


def main(folder: Path) -> int:
    """Print the memory that torchtitan logs, predicted and measured, in GiB."""
    train = folder / "train.py"
    if not train.is_file():
        print(f"expected a folder with torchtitan's train.py, got {folder}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as scratch:
        program = Path(scratch) / "rank.py"
        program.write_text(_RANK.format(folder=str(folder.resolve()), train=str(train.resolve())), encoding="utf-8")
        preset = (folder / "train_configs" / "llama3_8b.toml").read_text(encoding="utf-8")
        configuration = Path(scratch) / "llama3_8b.toml"
        configuration.write_text(
            re.sub("(enable_(profiling|tensorboard)) = true", r"\1 = false", preset), encoding="utf-8"
        )
        words = [f"--job.config_file={configuration}", f"--job.dump_folder={scratch}"]
        words += [f"--{name}={value}" for name, value in _SETTINGS.items()]
        done = subprocess.run(
            [sys.executable, "-m", "devsan", "run", "--gpus", "8:h100-80g", "--memory", "95GiB", "--full-size", "--",
             "torchrun", "--nproc-per-node", "8", str(program), *words],
            cwd=folder, capture_output=True, text=True, check=False,
        )  # fmt: skip
    logged = re.findall(r"memory: +([\d.]+)GiB", done.stdout + done.stderr)
    if not logged:
        print(
            f"expected torchtitan to log its memory, got\n{done.stdout[-2000:]}{done.stderr[-4000:]}", file=sys.stderr
        )
        return 1
    predicted = max(map(float, logged))
    print("| set-up | predicted | measured | difference |\n| --- | ---: | ---: | ---: |")
    print(
        f"| Llama 3.1 8B, FSDP on 8 GPUs, 2 x 8192 | {predicted:.2f} | {MEASURED_GIB:.1f} "
        f"| {predicted / MEASURED_GIB - 1:+.1%} |"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
