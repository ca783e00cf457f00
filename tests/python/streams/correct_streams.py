"""Programs of the shapes of seeded_races.py that are right: nothing may be told of them."""

from __future__ import annotations

import torch
from seeded_races import main, ordered_side


def side_result_waited_for():
    x = torch.ones(8, device="cuda")
    side = ordered_side()
    with torch.cuda.stream(side):
        y = x * 2
    main().wait_stream(side)
    return y + 1


def two_readers():
    x = torch.ones(8, device="cuda")
    side = ordered_side()
    with torch.cuda.stream(side):
        y = x * 2
    z = x * 3
    main().wait_stream(side)
    return y + z


def event_after_the_work():
    x = torch.ones(8, device="cuda")
    side, event = ordered_side(), torch.cuda.Event()
    with torch.cuda.stream(side):
        y = x * 2
        event.record()
    event.wait()
    return y + 1


def events_of_a_ring_that_are_first_waited_for_unrecorded():
    buffers = [torch.zeros(8, device="cuda") for _ in range(2)]
    read = [torch.cuda.Event() for _ in range(2)]
    side = ordered_side()
    for step in range(6):
        with torch.cuda.stream(side):
            read[step % 2].wait()
            buffers[step % 2].fill_(step)
        main().wait_stream(side)
        buffers[step % 2].sum()
        read[step % 2].record()


def prefetcher_with_record_stream():
    side = torch.cuda.Stream()
    for batch in [torch.ones(8).pin_memory() for _ in range(4)]:
        with torch.cuda.stream(side):
            x = batch.to("cuda", non_blocking=True)
        main().wait_stream(side)
        x.record_stream(main())
        x * 2


def prefetcher_that_waits_both_ways():
    side = torch.cuda.Stream()
    for batch in [torch.ones(8).pin_memory() for _ in range(4)]:
        side.wait_stream(main())
        with torch.cuda.stream(side):
            x = batch.to("cuda", non_blocking=True)
        main().wait_stream(side)
        x * 2


def halves_of_a_buffer():
    x = torch.zeros(16, device="cuda")
    side = ordered_side()
    with torch.cuda.stream(side):
        x[:8].add_(1)
    x[8:].add_(1)
    main().wait_stream(side)


def columns_of_a_matrix():
    x = torch.zeros(4, 4, device="cuda")
    side = ordered_side()
    with torch.cuda.stream(side):
        x[:, :2].add_(1)
    x[:, 2:].add_(1)
    main().wait_stream(side)


def copies_between_gpus():
    x = torch.ones(8, device="cuda:0")
    y = x.to("cuda:1") * 2
    return y.to("cuda:0") + x


def result_waited_for_on_the_host():
    x = torch.ones(8, device="cuda")
    host = x.to("cpu", non_blocking=True)
    main().synchronize()
    return host.sum()


def double_buffer_with_events():
    buffers = [torch.zeros(8, pin_memory=True) for _ in range(2)]
    sent = [torch.cuda.Event() for _ in range(2)]
    for step in range(6):
        sent[step % 2].synchronize()
        buffers[step % 2].fill_(step)
        buffers[step % 2].to("cuda", non_blocking=True)
        sent[step % 2].record()


def backward_of_work_on_a_side_stream():
    weight = torch.ones(8, device="cuda", requires_grad=True)
    side = ordered_side()
    with torch.cuda.stream(side):
        loss = (weight * 2).sum()
    main().wait_stream(side)
    loss.backward()
    return weight.grad + 1


def training_of_a_model():
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1)).to("cuda")
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(3):
        loss = model(torch.randn(4, 8, device="cuda")).square().mean()
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        loss.item()


def pipeline_over_two_gpus():
    first, second = torch.nn.Linear(8, 8).to("cuda:0"), torch.nn.Linear(8, 1).to("cuda:1")
    for _ in range(3):
        hidden = first(torch.randn(4, 8, device="cuda:0"))
        second(hidden.to("cuda:1")).sum().backward()


def array_taken_before_it_is_filled():
    host = torch.ones(8, device="cuda").to("cpu", non_blocking=True)
    array = host.numpy()
    main().synchronize()
    return array.sum()


def buffer_with_an_array_of_its_own():
    host = torch.zeros(8, pin_memory=True)
    array, done = host.numpy(), torch.cuda.Event()
    for step in range(3):
        host.copy_(torch.full((8,), float(step), device="cuda"), non_blocking=True)
        done.record()
        done.synchronize()
        array.sum()
        host.tolist()


def array_let_go_during_the_next_copy():
    buffers = [torch.zeros(8, pin_memory=True) for _ in range(2)]
    for step in range(4):
        buffers[step % 2].copy_(torch.full((8,), float(step), device="cuda"), non_blocking=True)
        if step:
            array = buffers[(step + 1) % 2].numpy()
            array.sum()
        main().synchronize()


def array_of_memory_that_is_sent():
    host = torch.ones(8, pin_memory=True)
    gpu = host.to("cuda", non_blocking=True)
    return gpu, host.numpy().sum(), host.tolist()


def data_loader_with_pinned_memory():
    data = torch.utils.data.TensorDataset(torch.randn(32, 8))
    loader = torch.utils.data.DataLoader(data, batch_size=4, pin_memory=True)
    model = torch.nn.Linear(8, 1).to("cuda")
    for (batch,) in loader:
        model(batch.to("cuda", non_blocking=True)).sum().backward()
