"""What a rank does beside its work is not the end of it."""

from __future__ import annotations

import pytest

GOES_ON = """\
import os, threading, torch, torch.distributed as dist, devsan
dist.init_process_group("gloo")
rank = dist.get_rank()
torch.cuda.set_device(rank)
x = torch.ones(4, device="cuda")
if rank == 1:
    thread = threading.Thread(target=lambda: [][0])
    thread.start()
    thread.join()
    try:
        x + torch.ones(4)
    except RuntimeError as error:
        print(devsan.explain(error).splitlines()[0], flush=True)
data = torch.utils.data.DataLoader(torch.ones(8, 4), batch_size=4, num_workers=2)
for batch in data:
    x = x + batch.cuda().sum()
dist.barrier()
if rank == 0:
    names = [name for name in os.listdir(os.environ["DEVSAN_JOB"]) if name.endswith(".json")]
    print(sorted(name.partition("-")[0] for name in names if not name[0].isdigit()))  # devsan top reads those
"""


@pytest.mark.long
def test_threads_workers_and_errors_that_are_caught(job):
    """A thread's exception ends the thread, ``devsan.explain`` returns its text, and a worker of a DataLoader, which
    has its rank's environment and its process group, is no rank."""
    job.write("train.py", GOES_ON)
    done = job.devsan("run", "-q", "--gpus", "2", "--", "torchrun", "--nproc-per-node", "2", "train.py")
    assert done.returncode == 0, done.stderr
    title, documents = sorted(done.stdout.splitlines(), key=lambda line: line.startswith("["))
    assert title.startswith("error[DV") and title.endswith("operands of aten::add are on cuda:1 and cpu")
    assert documents == "['rank0', 'rank1']"
    assert "IndexError" in done.stderr
    assert "2 ranks:" not in done.stderr and "error[" not in done.stderr, done.stderr
    assert job.left() == ([], [])


PLAIN = """\
import torch, torch.distributed as dist
dist.init_process_group("gloo")
dist.barrier()
raise ValueError("no rank goes on")
"""


@pytest.mark.long
def test_what_has_nothing_to_do_with_devices_is_left_to_the_tracebacks(job):
    job.write("train.py", PLAIN)
    done = job.devsan("run", "--gpus", "2", "--", "torchrun", "--nproc-per-node", "2", "train.py")
    assert done.returncode == 1
    assert "ValueError: no rank goes on" in done.stderr and "ChildFailedError" in done.stderr
    assert done.stderr.rstrip().endswith("=" * 60), done.stderr
    assert job.left() == ([], [])


FORKS = """\
import os, sys, warnings, torch, torch.distributed as dist
warnings.simplefilter("{filter}")  # behind the imports: what torch's own warn of is not ours
warnings.filterwarnings("ignore", message=".*use of fork", category=DeprecationWarning)  # Python's, of any threads
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
x = torch.ones(4, device="cuda")
dist.all_reduce(x)
for batch in torch.utils.data.DataLoader(torch.ones(8, 4), batch_size=4, num_workers=2):
    x = x + batch.cuda().sum()
for leave in (sys.exit, os._exit):
    child = os.fork()
    if child == 0:
        if os.fork() == 0:  # and what a child forks
            leave(0)
        os.wait()
        leave(0)
    os.waitpid(child, 0)
dist.destroy_process_group()
"""


# A warning that is an error shows as one that is told, unless what lets go of the files swallows it.
@pytest.mark.parametrize("filter", ["default", pytest.param("error", marks=pytest.mark.long)])
def test_children_say_nothing(job, filter):
    """What a fork inherits of DevSan's, open files above all, is let go of without a warning."""
    job.write("train.py", FORKS.format(filter=filter))
    done = job.devsan(
        "run", "-q", "--gpus", "2", "-o", "run.dvs", "--", "torchrun", "--nproc-per-node", "2", "train.py"
    )
    assert done.returncode == 0, done.stderr
    own = ("devsan: the run is in ", "W1", "*****")  # torchrun's word on OMP_NUM_THREADS
    assert [line for line in done.stderr.splitlines() if not line.startswith(own)] == []
    assert job.left() == ([], [])


UNUSED = """\
import os, torch, torch.distributed as dist
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
net = torch.nn.ModuleDict({"used": torch.nn.Linear(4, 4), "idle": torch.nn.Linear(4, 4)}).cuda()
net.forward = lambda x: net["used"](x)
model = torch.nn.parallel.DistributedDataParallel(net)
for _ in range(2):
    model(torch.ones(2, 4, device="cuda")).sum().backward()
"""


@pytest.mark.long
def test_what_is_known_of_the_error_of_all_ranks_is_noted_once(job):
    job.write("train.py", UNUSED)
    done = job.devsan("run", "--gpus", "2", "--", "torchrun", "--nproc-per-node", "2", "train.py")
    assert done.returncode == 1
    assert "Expected to have finished reduction in the prior iteration" in done.stderr
    assert done.stderr.count("note: DistributedDataParallel waits for the gradient of every parameter") == 1
