"""Options of a launcher that the installed one refuses."""

from __future__ import annotations

import pytest

from devsan.doctor.installed import Installed


@pytest.fixture
def here(empty):
    empty.installed = Installed()
    (empty.folder / "train.py").write_text("print(1)\n")
    return empty


def told(setup):
    return [(str(each.title), each.fixes[0].text) for each in setup.findings()]


@pytest.mark.parametrize(
    ("launch", "title", "fix"),
    [
        ("torchrun --nproc_per_node=abc train.py",
         "--nproc_per_node is abc, expected an integer or one of auto, cpu, gpu, xpu",
         "write an integer or one of auto, cpu, gpu, xpu"),
        ("torchrun --nproc-per-node gpus train.py",
         "--nproc-per-node is gpus, expected an integer or one of auto, cpu, gpu, xpu", "write gpu"),
        ("torchrun --nnodes=two train.py", "--nnodes is two, expected an integer or MIN:MAX",
         "write an integer or MIN:MAX"),
        ("torchrun --node_rank a --nproc_per_node=2 train.py", "--node_rank is a, expected an integer",
         "write an integer"),
        ("torchrun --max-restart 1.5 train.py", "--max-restart is 1.5, expected an integer", "write an integer"),
        ("torchrun --start_method spwan train.py", "--start_method is spwan, expected one of spawn, fork, forkserver",
         "write spawn"),
        ("torchrun --nproc_per_nod2=2 train.py", "torchrun has no option --nproc_per_nod2",
         "write --nproc_per_node"),
        ("torchrun --nproc_per_gpu 4 train.py", "torchrun has no option --nproc_per_gpu", "write --nproc_per_node"),
        ("deepspeed --num_gpus two train.py", "--num_gpus is two, expected an integer", "write an integer"),
        ("deepspeed --num_gpus=2 --include localhost:0,1 train.py", "deepspeed refuses --num_gpus beside --include",
         "leave out --num_gpus"),
        ("accelerate launch --mixed_precision bf61 train.py",
         "--mixed_precision is bf61, expected one of no, fp16, bf16, fp8", "write bf16"),
        ("accelerate launch --num-processes x train.py", "--num-processes is x, expected an integer",
         "write an integer"),
        ("accelerate launch --num_process 2 train.py", "accelerate has no option --num_process",
         "write --num_processes"),
    ],
)  # fmt: skip
def test_what_the_launcher_refuses(here, launch, title, fix):
    here.launch = launch
    assert told(here) == [(title, fix)]


@pytest.mark.parametrize(
    "launch",
    [
        "deepspeed --num_gpus -1 --include localhost:0,1 train.py",
        "torchrun --nproc_per_node=gpu train.py", "torchrun --nproc-per-node auto --standalone train.py",
        "torchrun --nproc_per_node=npu train.py", "torchrun --nnodes 1:2 --nproc_per=2 -t 3 -r 3 train.py",
        "torchrun --rdzv-backend=c10d --rdzv-endpoint a:1 --rdzv-id 7 --nproc_per_node=2 --nnodes=2 train.py",
        "python -m torch.distributed.launch --use_env --nproc_per_node=2 train.py",
        "deepspeed --num_gpus 2 --master_port 29501 -q --no_local_rank --enable_each_rank_log logs train.py --lr x",
        "deepspeed --num_accelerators=2 train.py",
        "accelerate launch --num_processes=2 --dynamo_backend inductor --dynamo_use_dynamic --multi_gpu train.py",
        "accelerate launch --config-file none.yaml --use_fsdp --fsdp_min_num_params 2000 --fsdp_version 2 train.py",
        "accelerate launch --mixed-precision=bf16 --cpu --num_cpu_threads_per_process 4 -m train",
    ],
)  # fmt: skip
def test_what_it_takes(here, launch):
    here.launch = launch
    assert [title for title, _ in told(here) if "none.yaml" not in title and "no such file" not in title] == []


def test_nothing_is_read_of_a_launcher_that_is_not_installed(here):
    here.installed = Installed(lambda name: None)
    here.launch = "torchrun --nproc_per_node=abc train.py"
    assert told(here) == []


def test_an_option_behind_the_script_that_does_not_read_it(here):
    here.launch = "torchrun train.py --nproc_per_node 2"
    assert told(here) == [("--nproc_per_node comes after train.py and is passed to it, not to torchrun",
                           "write --nproc_per_node before train.py")]  # fmt: skip


@pytest.mark.parametrize("source", ["parser.add_argument('--nnodes')\n", "parser.add_argument('--nproc-per-node')\n",
                                    "import options\n"])  # fmt: skip
def test_an_option_behind_the_script_that_may_read_it(here, source):
    (here.folder / "options.py").write_text("")
    (here.folder / "train.py").write_text(source)
    here.launch = "torchrun train.py --nnodes 2" if "nnodes" in source else "torchrun train.py --nproc_per_node 2"
    assert told(here) == []
