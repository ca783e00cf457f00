"""More than one process: forks, spawned children, data loaders, and tensors that travel between them."""

from __future__ import annotations

from collections.abc import Callable
from subprocess import CompletedProcess

import pytest

Run = Callable[..., "CompletedProcess[str]"]

FORK = """
    import os, sys
    from devsan import emulate
    emulate(gpus=2).start()
    import torch
    {before}
    child = os.fork()
    if child == 0:
        try:
            print(torch.cuda._is_in_bad_fork(), torch.cuda.is_initialized())
            print(torch.ones(2, device="cuda:1").sum().item())
        except RuntimeError as error:
            print(error)
        print(torch.ones(2).sum().item())
        sys.stdout.flush()
        os._exit(0)
    os.waitpid(child, 0)
    print(torch.ones(3, device="cuda:1").sum().item())
"""
BAD_FORK = (
    "Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use the 'spawn' start "
    "method"
)


@pytest.mark.parametrize("before", ["torch.ones(1, device='cuda')", "torch.cuda.init()", "torch.cuda.is_available()"])
def test_a_fork_after_the_first_use_is_a_bad_one(run: Run, before: str) -> None:
    assert run(FORK.format(before=before)).stdout.splitlines() == ["True False", BAD_FORK, "2.0", "3.0"]


@pytest.mark.parametrize("before", ["pass", "torch.cuda.device_count()", "torch.manual_seed(1)"])
def test_a_fork_before_the_first_use_is_a_good_one(run: Run, before: str) -> None:
    assert run(FORK.format(before=before)).stdout.splitlines() == ["False False", "2.0", "2.0", "3.0"]


def test_a_child_may_end_an_emulation_and_start_its_own(run: Run) -> None:
    lines = run(
        """
        import os, sys
        from devsan import emulate
        emulation = emulate(gpus=2).start()
        import torch
        torch.ones(1, device="cuda")
        child = os.fork()
        if child == 0:
            emulation.stop()
            with emulate(gpus=3):
                print(torch.ones(2, device="cuda:2").sum().item())
            sys.stdout.flush()
            os._exit(0)
        print(os.waitpid(child, 0)[1], torch.ones(3, device="cuda:1").sum().item())
    """,
        afresh=True,
    ).stdout.splitlines()
    assert lines == ["2.0", "0 3.0"]


SHARE = """
    import torch
    import torch.multiprocessing as mp
    from devsan import emulate
    emulate(gpus=3).start()

    def work(given, results, done):
        tensor, view, parameter, empty, same = given.get()
        print(tensor.device, tensor.tolist(), view.tolist(), flush=True)
        print(type(parameter).__name__, parameter.requires_grad, parameter.device, flush=True)
        print(empty.shape, empty.device, same.data_ptr() == tensor.data_ptr(), flush=True)
        print(torch.cuda.memory_allocated(1), flush=True)
        tensor.add_(10)
        results.put(torch.ones(3, device="cuda:2"))
        done.wait()

    if __name__ == "__main__":
        context = mp.get_context("spawn")
        given, results, done = context.Queue(), context.Queue(), context.Event()
        child = context.Process(target=work, args=(given, results, done))
        child.start()
        tensor = torch.arange(4.0, device="cuda:1")
        before = torch.cuda.memory_allocated(1)
        parameter = torch.nn.Parameter(torch.ones(2, device="cuda:0"))
        given.put((tensor, tensor[2:], parameter, torch.empty(0, device="cuda:2"), tensor))
        received = results.get()
        print(received.device, received.tolist(), tensor.tolist(), flush=True)
        assert torch.cuda.memory_allocated(1) == before
        tensor.untyped_storage().resize_(64)
        print(tensor.tolist(), flush=True)
        done.set()
        child.join()
        print(child.exitcode)
"""


def test_tensors_travel_between_spawned_processes(run: Run) -> None:
    assert run(SHARE).stdout.splitlines() == [
        "cuda:1 [0.0, 1.0, 2.0, 3.0] [2.0, 3.0]",
        "Parameter True cuda:0",
        "torch.Size([0]) cuda:2 True",
        "0",
        "cuda:2 [1.0, 1.0, 1.0] [10.0, 11.0, 12.0, 13.0]",
        "[10.0, 11.0, 12.0, 13.0]",
        "0",
    ]


@pytest.mark.long
def test_spawn_with_arguments(run: Run) -> None:
    lines = run("""
        import torch
        import torch.multiprocessing as mp
        from devsan import emulate
        emulate(gpus=2).start()

        def work(rank, model, total):
            torch.cuda.set_device(rank)
            total[rank] = model(torch.ones(1, 3, device="cuda:1")).sum()

        if __name__ == "__main__":
            model = torch.nn.Linear(3, 1, bias=False).cuda(1)
            torch.nn.init.ones_(model.weight)
            model.share_memory()
            total = torch.zeros(2, device="cuda:1")
            mp.spawn(work, args=(model, total), nprocs=2)
            print(total.tolist())
    """).stdout.splitlines()
    assert lines == ["[3.0, 3.0]"]


EVERY_CHANNEL = """
    import faulthandler
    import torch
    import torch.multiprocessing as mp
    from devsan import emulate
    emulate(gpus=2).start()

    METHOD = {method!r}

    def make():
        return torch.full((3,), 5.0, device="cuda:1")

    def double(tensor):
        tensor.mul_(2)

    def serve(receive, send, done):
        send(make())  # before anything is received: the memory is this child's
        double(receive())
        send(None)
        done.wait()

    def by_queue(given, results, done):
        serve(given.get, results.put, done)

    def by_pipe(end, done):
        serve(end.recv, end.send, done)

    def by_rank(rank, given, results, done):
        by_queue(given, results, done)

    def start(kind):
        done = context.Event()
        if kind == "Pipe":
            here, there = context.Pipe()
            child, receive, send = context.Process(target=by_pipe, args=(there, done)), here.recv, here.send
        else:
            maker = context.Queue if kind == "Queue" else context.SimpleQueue
            given, results = maker(), maker()
            receive, send = results.get, given.put
            if kind == "spawn":
                arguments = (given, results, done)
                return mp.start_processes(by_rank, arguments, join=False, start_method=METHOD), receive, send, done
            child = context.Process(target=by_queue, args=(given, results, done))
        child.start()
        return child, receive, send, done

    def show(kind, tensor, received):
        print(kind, tensor.device, tensor.tolist(), received.device, received.tolist(), flush=True)

    if __name__ == "__main__":
        faulthandler.dump_traceback_later(120, exit=True)
        context = mp.get_context(METHOD)
        pool = context.Pool(1)
        started = {{kind: start(kind) for kind in ("Queue", "SimpleQueue", "Pipe", "spawn")}}
        for kind, (child, receive, send, done) in started.items():
            received, tensor = receive(), torch.ones(2, device="cuda:0")
            send(tensor)
            receive()
            show(kind, tensor, received)
            done.set()
            if kind == "spawn":
                print(child.join(30))
            else:
                child.join(30)
                print(child.exitcode)
        received, tensor = pool.apply(make), torch.ones(2, device="cuda:0")
        pool.apply(double, (tensor,))
        show("Pool", tensor, received)
        pool.close()
        pool.join()
"""


# Children of a forkserver inherit nothing, as those that are spawned.
@pytest.mark.parametrize(
    "method", ["fork", *(pytest.param(each, marks=pytest.mark.long) for each in ("spawn", "forkserver"))]
)
def test_tensors_travel_both_ways_and_the_children_end(run: Run, method: str) -> None:
    traveled = "cuda:0 [2.0, 2.0] cuda:1 [5.0, 5.0, 5.0]"
    assert run(EVERY_CHANNEL.format(method=method)).stdout.splitlines() == [
        f"Queue {traveled}", "0", f"SimpleQueue {traveled}", "0", f"Pipe {traveled}", "0",
        f"spawn {traveled}", "True", f"Pool {traveled}",
    ]  # fmt: skip


def test_a_process_keeps_what_its_own_children_inherit(run: Run) -> None:
    lines = run("""
        import os, torch
        from devsan import emulate
        emulate(gpus=1).start()
        ours, theirs = os.pipe()
        os.set_inheritable(theirs, True)
        torch.ones(2, device="cuda").untyped_storage()._share_cuda_()
        print(os.get_inheritable(theirs), os.get_inheritable(ours))
        os.close(theirs)
        print(os.read(ours, 1))
    """).stdout.splitlines()
    assert lines == ["True False", "b''"]


LOADER = """
    import torch
    from torch.utils.data import DataLoader, TensorDataset
    from devsan import emulate
    emulate(gpus=2).start()

    if __name__ == "__main__":
        {before}
        data = TensorDataset(torch.arange(12.0).view(6, 2), torch.arange(6))
        loader = DataLoader(
            data, batch_size=3, num_workers={workers}, pin_memory=True, multiprocessing_context={context!r}
        )
        for epoch in range(2):
            for inputs, targets in loader:
                assert inputs.is_pinned() and targets.is_pinned()
                inputs, targets = inputs.to("cuda:1", non_blocking=True), targets.cuda(1, non_blocking=True)
                print(inputs.sum().item(), targets.device)
"""


# Workers that are not forked import torch, which takes seconds, and inherit nothing of what was before.
@pytest.mark.parametrize(
    ("context", "before"),
    [
        ("fork", "pass"),
        ("fork", "torch.ones(1, device='cuda')"),
        ("spawn", "torch.ones(1, device='cuda')"),
        pytest.param("spawn", "pass", marks=pytest.mark.long),
        pytest.param("forkserver", "pass", marks=pytest.mark.long),
        pytest.param("forkserver", "torch.ones(1, device='cuda')", marks=pytest.mark.long),
    ],
)
def test_data_loaders(run: Run, context: str, before: str) -> None:
    workers = 2 if context == "fork" else 1
    lines = run(LOADER.format(context=context, before=before, workers=workers)).stdout.splitlines()
    assert lines == ["15.0 cuda:1", "51.0 cuda:1"] * 2


def test_a_worker_that_uses_a_gpu_dies_as_on_a_real_one(run: Run) -> None:
    result = run(
        """
        import torch
        from torch.utils.data import DataLoader, Dataset
        from devsan import emulate
        emulate(gpus=1).start()

        class OnGpu(Dataset):
            def __len__(self):
                return 2
            def __getitem__(self, index):
                return torch.ones(1, device="cuda") * index

        torch.ones(1).cuda()
        next(iter(DataLoader(OnGpu(), num_workers=1)))
        """,
        check=False,
    )
    assert BAD_FORK in result.stderr


def test_nothing_is_left_in_shared_memory(run: Run) -> None:
    lines = run("""
        import os, torch
        from devsan import emulate
        emulate(gpus=1).start()
        tensor = torch.ones(5000, device="cuda")
        storage = tensor.untyped_storage()
        handle = storage._share_cuda_()[1]
        assert storage._share_cuda_()[1] == handle
        again = torch.UntypedStorage._new_shared_cuda(0, handle, storage.nbytes(), 0, b"", 0, b"", False)
        print(again.device, again.data_ptr() != storage.data_ptr(), again.tolist() == storage.tolist())
        storage._share_cuda_()
        torch.UntypedStorage._new_shared_cuda(0, handle, storage.nbytes(), 0, b"", 0, b"", False)
        again = torch.UntypedStorage._new_shared_cuda(0, handle, storage.nbytes(), 0, b"", 0, b"", False)
        import pickle
        name = pickle.loads(handle)[1].decode()
        print(os.path.exists("/dev/shm" + name))
        del again, storage, tensor
        import time
        for attempt in range(100):
            if not os.path.exists("/dev/shm" + name):
                break
            time.sleep(0.05)
        print(os.path.exists("/dev/shm" + name), torch.cuda.memory_allocated())
    """).stdout.splitlines()
    assert lines == ["cuda:0 True True", "True", "False 0"]


@pytest.mark.long
def test_children_drop_what_they_inherit_while_threads_allocate(run: Run) -> None:
    lines = run("""
        import gc, os, sys, threading
        from devsan import emulate
        emulate(gpus=2).start()
        import torch

        stop = threading.Event()

        def allocate(device):
            while not stop.is_set():
                torch.empty(1000, device=device)
                torch.empty(100, pin_memory=True)

        threads = [threading.Thread(target=allocate, args=(f"cuda:{n % 2}",)) for n in range(4)]
        [thread.start() for thread in threads]
        codes = []
        for _ in range(20):
            tensors = [torch.ones(10, device="cuda:1"), torch.ones(10, pin_memory=True)]
            child = os.fork()
            if child == 0:
                del tensors
                gc.collect()
                os._exit(7)
            codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        stop.set()
        [thread.join() for thread in threads]
        print(codes == [7] * 20)
    """).stdout.splitlines()
    assert lines == ["True"]
