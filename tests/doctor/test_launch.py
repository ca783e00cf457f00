"""Launch commands, read as their launchers read them."""

from __future__ import annotations

import shlex

import pytest

from devsan.doctor.launch import read_launch


@pytest.mark.parametrize(
    ("command", "launcher", "ranks", "per_node", "script"),
    [
        ("torchrun --nproc_per_node=4 train.py --deepspeed ds.json", "torchrun", 4, 4, "train.py"),
        ("torchrun --nproc-per-node 4 --nnodes 2 --node-rank 0 train.py", "torchrun", 8, 4, "train.py"),
        ("torchrun --standalone --nproc_per_node gpu train.py", "torchrun", 3, -1, "train.py"),
        ("torchrun --nnodes=1:4 --nproc_per_node=8 train.py", "torchrun", 32, 8, "train.py"),
        ("torchrun train.py", "torchrun", 1, 1, "train.py"),
        ("torchrun --nproc_per 2 --nnode 2 train.py", "torchrun", 4, 2, "train.py"),  # argparse takes beginnings
        ("accelerate launch --num_proc 2 train.py", "accelerate", 0, 0, "train.py"),  # but not for accelerate
        ("torchrun --nproc_per_node 2 -m pkg.train --x 1", "torchrun", 2, 2, ""),
        ("python -m torch.distributed.run --nproc_per_node=2 train.py", "torchrun", 2, 2, "train.py"),
        (
            "python3.11 -u -m torch.distributed.launch --use_env --nproc_per_node=2 train.py",
            "torchrun",
            2,
            2,
            "train.py",
        ),
        ("deepspeed train.py --deepspeed_config ds.json", "deepspeed", 3, -1, "train.py"),
        ("deepspeed --num_gpus=2 train.py", "deepspeed", 2, 2, "train.py"),
        ("deepspeed --include localhost:0,2 train.py", "deepspeed", 2, 2, "train.py"),
        ("deepspeed --include a:0,1@b:0,1 --master_port 1 train.py", "deepspeed", 4, 2, "train.py"),
        ("deepspeed --hostfile hosts train.py", "deepspeed", 0, 0, "train.py"),
        ("accelerate launch --num_processes 8 --num_machines 2 train.py", "accelerate", 8, 4, "train.py"),
        ("accelerate launch --multi_gpu --config_file a.yaml train.py --lr 1", "accelerate", 0, 0, "train.py"),
        ("python -m accelerate.commands.launch --num_processes 2 train.py", "accelerate", 2, 2, "train.py"),
        ("mpirun -np 4 -x NCCL_DEBUG python train.py", "mpirun", 4, 4, "train.py"),
        ("srun --ntasks=8 --nodes=2 python -u train.py", "srun", 8, 4, "train.py"),
        ("python train.py", "python", 1, 1, "train.py"),
        ("CUDA_VISIBLE_DEVICES=0 python -u train.py -v", "python", 1, 1, "train.py"),
        ("devsan run --gpus 4 -- torchrun --nproc_per_node=4 train.py", "torchrun", 4, 4, "train.py"),
        ("bash train.sh", "bash", 0, 0, "train.sh"),
    ],
)
def test_who_starts_how_many_of_what(command, launcher, ranks, per_node, script):
    launch = read_launch(shlex.split(command), {}, 3)
    assert (launch.launcher, launch.ranks, launch.per_node, launch.script) == (launcher, ranks, per_node, script)


def test_what_the_script_is_given():
    launch = read_launch(shlex.split("torchrun t.py --bf16 --lr 1e-5 --deepspeed=ds.json --per-device 4 pos"), {})
    assert launch.script_options() == {"bf16": "True", "lr": "1e-5", "deepspeed": "ds.json", "per_device": "4"}


def test_the_environment():
    launch = read_launch(["env", "CUDA_VISIBLE_DEVICES=1,2", "torchrun", "t.py"], {"CUDA_VISIBLE_DEVICES": "0"})
    assert launch.visible == "1,2"
    inherited = {"CUDA_VISIBLE_DEVICES": "0"}
    assert read_launch(["env", "-u", "CUDA_VISIBLE_DEVICES", "torchrun", "t.py"], inherited).visible is None
    assert read_launch(["env", "--unset=A", "-i", "B=1", "torchrun", "t.py"], inherited).visible is None
    kept = read_launch(["env", "-C", "/tmp", "--", "A=1", "torchrun", "t.py"], inherited)
    assert (kept.visible, kept.launcher, kept.environment) == ("0", "torchrun", {"A": "1"})
    for command, visible in (
        ("deepspeed t.py", "7"), ("deepspeed --num_gpus 2 t.py", "0,1"), ("deepspeed --include h:1,3 t.py", "1,3"),
        ("deepspeed --num_nodes 2 t.py", None), ("deepspeed --include a:0@b:1 t.py", None), ("torchrun t.py", "7"),
        ("accelerate launch --gpu_ids 2,3 t.py", "2,3"), ("accelerate launch --gpu_ids all t.py", "7"),
    ):  # fmt: skip
        assert read_launch(shlex.split(command), {"CUDA_VISIBLE_DEVICES": "7"}).visible == visible
    launched = read_launch([], {"WORLD_SIZE": "4", "LOCAL_WORLD_SIZE": "2"})
    assert (launched.ranks, launched.per_node, launched.launcher) == (4, 2, "")


@pytest.mark.parametrize("command", [
    ["torchrun"], ["accelerate"], ["env"], ["--x"], ["python", "-m"], ["deepspeed", "--include"],
                                     ["srun", "-n", "x"], ["A=1"], ["devsan", "run", "--"], [""],
                                     ["torchrun", "--"]])  # fmt: skip
def test_half_a_command_is_read_as_far_as_it_goes(command):
    assert read_launch(command, {}, None).command == tuple(command)
