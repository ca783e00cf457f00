"""Programs that run in the right order by luck. The two places are marked: ``# first`` and ``# second``.

Each is a shape that public threads about streams know. A function's default arguments are its tensors.
"""

from __future__ import annotations

import io
import threading

import numpy as np
import torch


def main() -> torch.cuda.Stream:
    return torch.cuda.current_stream()


def ordered_side() -> torch.cuda.Stream:
    """A stream that starts after what was done so far."""
    side = torch.cuda.Stream()
    side.wait_stream(main())
    return side


# Tensors of a GPU


def side_result_read_early():
    x = torch.ones(8, device="cuda")
    side = ordered_side()
    with torch.cuda.stream(side):
        y = x * 2  # first
    return y + 1  # second


def side_reads_too_early():
    side = torch.cuda.Stream()
    x = torch.ones(8, device="cuda")  # first
    with torch.cuda.stream(side):
        y = x * 2  # second
    main().wait_stream(side)
    return y


def side_still_reads():
    x = torch.ones(8, device="cuda")
    side = ordered_side()
    with torch.cuda.stream(side):
        y = x * 2  # first
    x.zero_()  # second
    main().wait_stream(side)
    return y


def two_writers():
    x = torch.ones(8, device="cuda")
    side = ordered_side()
    with torch.cuda.stream(side):
        x.mul_(2)  # first
    x.add_(1)  # second


def two_side_streams():
    x = torch.ones(8, device="cuda")
    one, two = ordered_side(), ordered_side()
    with torch.cuda.stream(one):
        y = x * 2  # first
    with torch.cuda.stream(two):
        z = y + 1  # second
    main().wait_stream(two)
    return z


def upload_read_early():
    host = torch.ones(8).pin_memory()
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        x = host.to("cuda", non_blocking=True)  # first
    return x * 2  # second


def upload_into_buffer_in_use():
    host = torch.ones(8).pin_memory()
    buffer = torch.zeros(8, device="cuda")
    side = ordered_side()
    y = buffer * 2  # first
    with torch.cuda.stream(side):
        buffer.copy_(host, non_blocking=True)  # second
    main().wait_stream(side)
    return y


def wait_before_the_work():
    x = torch.ones(8, device="cuda")
    side = ordered_side()
    main().wait_stream(side)
    with torch.cuda.stream(side):
        y = x * 2  # first
    return y + 1  # second


def event_recorded_too_early():
    x = torch.ones(8, device="cuda")
    side, event = ordered_side(), torch.cuda.Event()
    with torch.cuda.stream(side):
        event.record()
        y = x * 2  # first
    event.wait()
    return y + 1  # second


def event_waited_for_before_recorded():
    x = torch.ones(8, device="cuda")
    side, event = ordered_side(), torch.cuda.Event()
    event.wait()
    with torch.cuda.stream(side):
        y = x * 2  # first
        event.record()
    return y + 1  # second


def event_recorded_on_the_wrong_stream():
    x = torch.ones(8, device="cuda")
    side, event = ordered_side(), torch.cuda.Event()
    with torch.cuda.stream(side):
        y = x * 2  # first
    event.record()
    event.wait()
    return y + 1  # second


def event_of_another_round():
    side, event = torch.cuda.Stream(), torch.cuda.Event()
    buffer = torch.zeros(8, device="cuda")
    side.wait_stream(main())
    for step in range(2):
        with torch.cuda.stream(side):
            buffer.add_(step)  # first
            if step == 0:
                event.record()
        if step == 1:
            event.wait()
            buffer.sum()  # second


def waiting_the_wrong_way():
    x = torch.ones(8, device="cuda")
    side = ordered_side()
    with torch.cuda.stream(side):
        y = x * 2  # first
    side.wait_stream(main())
    return y + 1  # second


def context_left_early():
    x = torch.ones(8, device="cuda")
    side = ordered_side()
    with torch.cuda.stream(side):
        y = x * 2  # first
    y.mul_(3)  # second
    main().wait_stream(side)


def one_of_two_streams_is_waited_for():
    x = torch.ones(8, device="cuda")
    one, two = ordered_side(), ordered_side()
    with torch.cuda.stream(one):
        y = x * 2
    with torch.cuda.stream(two):
        z = x * 3  # first
    main().wait_stream(one)
    return y + z  # second


def slices_that_overlap():
    x = torch.zeros(16, device="cuda")
    side = ordered_side()
    with torch.cuda.stream(side):
        x[:8].add_(1)  # first
    x[7:].add_(1)  # second


def view_of_what_is_written():
    x = torch.zeros(4, 4, device="cuda")
    view = x.t()
    side = ordered_side()
    with torch.cuda.stream(side):
        x.add_(1)  # first
    return view * 2  # second


def foreach_on_a_side_stream():
    parameters = [torch.ones(4, device="cuda") for _ in range(3)]
    side = ordered_side()
    with torch.cuda.stream(side):
        torch._foreach_mul_(parameters, 2)  # first
    return parameters[2] + 1  # second


def gradients_read_on_a_side_stream():
    x = torch.ones(8, device="cuda", requires_grad=True)
    side = ordered_side()
    gradient = x.detach() * 3  # first
    with torch.cuda.stream(side):
        norm = gradient.norm()  # second
    main().wait_stream(side)
    return norm


def optimizer_in_a_side_stream():
    weight = torch.nn.Parameter(torch.ones(8, device="cuda"))
    weight.grad = torch.ones(8, device="cuda")
    optimizer = torch.optim.SGD([weight], lr=0.1, foreach=False)
    side = ordered_side()
    with torch.cuda.stream(side):
        optimizer.step()  # first
    return weight * 2  # second


def average_in_a_side_stream():
    weight, average = torch.ones(8, device="cuda"), torch.ones(8, device="cuda")
    side = ordered_side()
    with torch.cuda.stream(side):
        average.lerp_(weight, 0.1)  # first
    weight.mul_(2)  # second


def cache_written_on_a_side_stream():
    cache, key = torch.zeros(4, 8, device="cuda"), torch.ones(8, device="cuda")
    side = ordered_side()
    with torch.cuda.stream(side):
        cache[1] = key  # first
    return cache.sum()  # second


def weights_swapped_in_early():
    weights = [torch.ones(8).pin_memory(), torch.ones(8).pin_memory()]
    slot = torch.empty(8, device="cuda")
    side = torch.cuda.Stream()
    for weight in weights:
        side.wait_stream(main())
        with torch.cuda.stream(side):
            slot.copy_(weight, non_blocking=True)  # first
        slot.sum()  # second


def thread_with_a_stream_of_its_own():
    x = torch.ones(8, device="cuda")
    side, made = ordered_side(), []

    def work():
        with torch.cuda.stream(side):
            made.append(x * 2)  # first

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    return made[0] + 1  # second


def other_gpu_uses_a_side_result():
    x = torch.ones(8, device="cuda:0")
    side = ordered_side()
    with torch.cuda.stream(side):
        y = x * 2  # first
    return y.to("cuda:1")  # second


def copy_between_gpus_read_on_a_side_stream():
    x = torch.ones(8, device="cuda:0")
    side = torch.cuda.Stream(device="cuda:1")
    y = x.to("cuda:1")  # first
    with torch.cuda.stream(side):
        return y * 2  # second


def synchronized_stream_of_another_gpu():
    x = torch.ones(8, device="cuda:0")
    side = ordered_side()
    with torch.cuda.stream(side):
        y = x * 2  # first
    torch.cuda.synchronize("cuda:1")
    return y + 1  # second


def checkpoint_snapshot_in_a_side_stream():
    weight = torch.ones(8, device="cuda")
    side = ordered_side()
    with torch.cuda.stream(side):
        snapshot = weight.clone()  # first
    weight.add_(1)  # second
    main().wait_stream(side)
    return snapshot


# Memory that is freed


def prefetcher_without_record_stream():
    """The prefetcher of apex's examples, without ``record_stream``."""
    side = torch.cuda.Stream()
    batches = [torch.ones(8).pin_memory() for _ in range(3)]
    for batch in batches:
        with torch.cuda.stream(side):
            x = batch.to("cuda", non_blocking=True)  # second
        main().wait_stream(side)
        x * 2  # first


def freed_on_the_stream_that_made_it():
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        x = torch.ones(8, device="cuda")
    main().wait_stream(side)
    x * 2  # first
    del x
    with torch.cuda.stream(side):
        torch.zeros(8, device="cuda")  # second


def freed_while_a_side_stream_reads():
    x = torch.ones(8, device="cuda")
    side = ordered_side()
    with torch.cuda.stream(side):
        x * 2  # first
    del x
    torch.zeros(8, device="cuda")  # second


def temporary_of_a_side_stream():
    side = ordered_side()
    x = torch.ones(8, device="cuda")
    side.wait_stream(main())
    with torch.cuda.stream(side):
        x.square_()  # first
    x = None
    torch.full((8,), 2.0, device="cuda")  # second


def offloaded_activation():
    """Copied to the host on a side stream, and dropped."""
    activation = torch.ones(8, device="cuda")
    side = ordered_side()
    with torch.cuda.stream(side):
        host = torch.empty(8, pin_memory=True)
        host.copy_(activation, non_blocking=True)  # first
    del activation
    torch.zeros(8, device="cuda")  # second


def recorded_on_the_wrong_stream():
    x = torch.ones(8, device="cuda")
    side, other = ordered_side(), torch.cuda.Stream()
    with torch.cuda.stream(side):
        x * 2  # first
    x.record_stream(other)
    del x
    torch.zeros(8, device="cuda")  # second


# Pinned memory


def result_read_before_it_came():
    x = torch.ones(8, device="cuda")
    host = x.to("cpu", non_blocking=True)  # first
    return host.sum()  # second


def copy_into_pinned_read_early():
    x, host = torch.ones(8, device="cuda"), torch.zeros(8, pin_memory=True)
    host.copy_(x, non_blocking=True)  # first
    return host + 1  # second


def event_that_is_not_waited_for():
    x, host = torch.ones(8, device="cuda"), torch.zeros(8, pin_memory=True)
    event = torch.cuda.Event()
    host.copy_(x, non_blocking=True)  # first
    event.record()
    return host.mean()  # second


def staging_buffer_used_again():
    host = torch.zeros(8, pin_memory=True)
    for value in range(2):
        host.fill_(value)  # second
        host.to("cuda", non_blocking=True)  # first


def double_buffer_with_one_wait_too_few():
    buffers = [torch.zeros(8, pin_memory=True) for _ in range(2)]
    for step in range(3):
        buffers[step % 2].copy_(torch.full((8,), float(step)))  # second
        buffers[step % 2].to("cuda", non_blocking=True)  # first


def offload_read_on_the_way():
    side = torch.cuda.Stream()
    x = torch.ones(8, device="cuda")
    side.wait_stream(main())
    with torch.cuda.stream(side):
        host = x.to("cpu", non_blocking=True)  # first
    main().synchronize()
    return host.clone()  # second


def host_gradient_updated_early():
    gradient, master = torch.ones(8, device="cuda"), torch.zeros(8)
    host = torch.empty(8, pin_memory=True)
    host.copy_(gradient, non_blocking=True)  # first
    master.add_(host)  # second


def array_read_early():
    host = torch.ones(8, device="cuda").to("cpu", non_blocking=True)  # first
    return host.numpy().sum()  # second


def copied_to_numpy_early():
    host = torch.ones(8, device="cuda").to("cpu", non_blocking=True)  # first
    return np.array(host)  # second


def array_with_a_name_read_early():
    host = torch.ones(8, device="cuda").to("cpu", non_blocking=True)  # first
    array = np.asarray(host)  # second
    return float(array.mean())


def numbers_listed_early():
    host = torch.ones(8, device="cuda").to("cpu", non_blocking=True)  # first
    return host.tolist()  # second


def saved_early():
    host = torch.ones(8, device="cuda").to("cpu", non_blocking=True)  # first
    torch.save({"weight": host}, io.BytesIO())  # second


def metrics_logged_early():
    losses = torch.zeros(4, pin_memory=True)
    loss = torch.ones((), device="cuda")
    losses[0].copy_(loss, non_blocking=True)  # first
    return losses[0].item()  # second
