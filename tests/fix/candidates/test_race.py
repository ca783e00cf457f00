"""A race between streams is ordered where the line of the report has no place, or a late one."""

from __future__ import annotations

from collections.abc import Callable

from devsan.fix.change import applied
from devsan.fix.search import Search

Fixed = Callable[..., list[str]]

PREFETCHER = """
import torch

class Prefetcher:
    def __init__(self, batches):
        self.batches, self.stream = iter(batches), torch.cuda.Stream()
        self.fill()

    def fill(self):
        batch = next(self.batches, None)
        with torch.cuda.stream(self.stream):
            self.batch = None if batch is None else batch.to("cuda", non_blocking=True).float().div_(255)

    def next(self):
        batch = self.batch
        if batch is not None:
            self.fill()
        return batch

prefetcher = Prefetcher([torch.full((4, 3), number) for number in range(3)])
kept, batch = [], prefetcher.next()
while batch is not None:
    kept.append(batch)
    print(batch.sum().item())
    batch = prefetcher.next()
"""


def test_a_prefetcher_waits_before_it_begins_the_next_copy(fixed: Fixed):
    lines = fixed(PREFETCHER, check=("streams",))
    assert lines == ["torch.cuda.current_stream().wait_stream(self.stream)"]


GENERATOR = f"""{PREFETCHER[: PREFETCHER.index("    def next(self)")]}    def __iter__(self):
        while self.batch is not None:
            batch = self.batch
            self.fill()
            yield batch

for batch in Prefetcher([torch.full((4, 3), number) for number in range(3)]):
    print(batch.sum().item())
"""


def test_each_turn_of_a_generator_waits_before_it_begins_the_next_copy(searched: Callable[..., Search]):
    changes = searched(GENERATOR, 1, ("streams",)).verified[0].changes
    (changed,) = applied(changes).values()
    lines = [line.strip() for line in changed.splitlines()]
    assert lines[lines.index("batch = self.batch") + 1] == "torch.cuda.current_stream().wait_stream(self.stream)"


SIDE = """
import torch

side, total = torch.cuda.Stream(), torch.zeros((), device="cuda")
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    x = torch.ones(4, device="cuda").mul_(2)
y = x.sum(); total += y; print(total.item())
"""


def test_a_line_of_several_statements_has_the_wait_before_the_first(fixed: Fixed):
    assert fixed(SIDE, check=("streams",)) == ["torch.cuda.current_stream().wait_stream(side)"]


IN_A_LOOP = """
import torch

side = torch.cuda.Stream()
weight = torch.ones(4, device="cuda", requires_grad=True)

def batches():
    for number in range(4):
        with torch.cuda.stream(side):
            batch = torch.full((4,), float(number), device="cuda")
        torch.cuda.current_stream().wait_stream(side)
        yield number, batch
        del batch

for number, batch in batches():
    (weight * batch).sum().backward()
torch.cuda.synchronize()
print(weight.grad.sum().item())
"""


def test_what_a_loop_binds_anew_is_recorded_where_it_begins(fixed: Fixed):
    assert fixed(IN_A_LOOP, check=("streams",)) == ["batch.record_stream(torch.cuda.current_stream())"]
