"""Values are followed backwards in the source to the call that decided where they are."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
import torch

import devsan
from devsan.introspect.explain import explain
from devsan.introspect.frames.chain import failure_of


def provenance_of(name: str, text: str, tmp_path: Path, gpus: int = 2) -> list[Any]:
    """The provenance of the operand called ``name`` of the failure of a program."""
    file = tmp_path / "program.py"
    file.write_text(textwrap.dedent(text), encoding="utf-8")
    with devsan.emulate(gpus=gpus):
        with pytest.raises(RuntimeError) as caught:
            exec(compile(file.read_text(encoding="utf-8"), str(file), "exec"), {"__name__": "__main__"})
        failure = failure_of(caught.value, caught.value.__traceback__)
        assert failure is not None
        explanation = explain(failure)
    assert explanation is not None
    operands = {operand.name: operand for operand in explanation.facts.failure.operands}
    assert name in operands, list(operands)
    return list(operands[name].provenance)


@pytest.mark.parametrize(
    ("name", "line", "text"),
    [
        ("mask", 4, """
            import torch
            def helper(n):
                return torch.ones(n).neg()
            def use(x):
                mask = helper(4)
                return x * mask
            use(torch.ones(4, device="cuda:0"))
        """),
        ("b", 5, """
            import torch
            class Kept:
                def __init__(self):
                    self.all = [torch.zeros(4) for _ in range(2)]
            def use(kept, x):
                for b in kept.all:
                    x * b
            use(Kept(), torch.ones(4, device="cuda:0"))
        """),
        ("y", 5, """
            import torch
            def use(x, y):
                return x * y
            given = torch.zeros(4)
            use(torch.ones(4, device="cuda:0"), given * 2)
        """),
        ("self.table", 6, """
            import torch
            class Holder:
                def __init__(self, table):
                    self.table = table
            holder = Holder(table=torch.zeros(4))
            def use(self, x):
                return x * self.table
            use(holder, torch.ones(4, device="cuda:0"))
        """),
        ("other", 3, """
            import torch
            first = torch.zeros(4)
            def outer():
                one, other = torch.ones(4, device="cuda:0"), first.view(2, 2).reshape(4)
                return one + other
            outer()
        """),
    ],
    ids=["helper", "element", "argument", "constructor", "global"],
)  # fmt: skip
def test_the_factory_is_found(name: str, line: int, text: str, tmp_path: Path):
    event = provenance_of(name, text, tmp_path)[-1]
    assert event.kind.name == "MADE"
    assert event.source.name == "DEFAULT"
    assert event.owner.name == "program"
    assert event.stack[0].span.line == line


def test_a_tensor_of_another_device_has_no_part_in_it(tmp_path: Path):
    provenance = provenance_of("scaled", """
        import torch
        def use(x):
            like = torch.zeros_like(x).cpu()
            scaled = like * 2
            return x + scaled
        use(torch.ones(4, device="cuda:0"))
    """, tmp_path)  # fmt: skip
    assert provenance[-1].kind.name == "MOVED"
    assert (
        provenance[-1].device.is_host
        if hasattr(provenance[-1].device, "is_host")
        else str(provenance[-1].device) == "cpu"
    )


@pytest.mark.parametrize(("device", "source"), [('"cuda"', "CURRENT"), ("x.device", "PEER")])
def test_a_variable_leads_back_to_how_the_device_was_said(device: str, source: str, tmp_path: Path):
    event = provenance_of("made", f"""
        import torch
        def make(n, device="cuda"):
            return torch.zeros(n, device=device)
        def use(x, y):
            made = make(4, device={device})
            return made + y
        use(torch.ones(4, device="cuda:0"), torch.ones(4, device="cuda:1"))
    """, tmp_path)[-1]  # fmt: skip
    assert event.source.name == source


def test_what_an_earlier_call_made_is_known_as_such(tmp_path: Path):
    text = """
        import torch
        kept = {}
        def table(device):
            return kept.setdefault("all", torch.ones(4, device=device))
        def use(x):
            made = table(x.device)
            return x * made
        for number in range(2):
            use(torch.ones(4).to(f"cuda:{number}"))
    """
    events = [event for event in provenance_of("made", text, tmp_path) if event.kind.name == "MADE"]
    assert [event.step for event in events] == [0]


def test_nothing_of_the_program_runs(tmp_path: Path):
    text = """
        import torch
        class Loud:
            def __init__(self):
                self.kept = torch.zeros(4)
            @property
            def table(self):
                asked.append(1)
                return self.kept
        asked = []
        loud = Loud()
        table = loud.table
        torch.ones(4, device="cuda:0") * table
    """
    provenance_of("table", text, tmp_path)
    assert torch is sys.modules["torch"]


def test_a_lambda_is_followed_into_the_function_around_it(tmp_path: Path):
    provenance = provenance_of(
        "mask",
        """
            import torch
            def use(x):
                mask = torch.ones(4)
                return (lambda: x * mask)()
            use(torch.ones(4, device="cuda:0"))
        """,
        tmp_path,
    )
    assert [event.stack[0].span.line for event in provenance] == [4]


ONE_CALL = """
    from dataclasses import dataclass
    import torch
    @dataclass
    class Schedule:
        beta: torch.Tensor
        alpha: torch.Tensor
        def at(self, t):
            return self.alpha[t]
    def make(steps, device=None):
        beta = torch.linspace(0, 1, steps, device=device)
        return Schedule(beta, alpha=1 - beta)
    def main():
        schedule = make(4)
        schedule.at(torch.ones(2, dtype=torch.long, device="cuda:0"))
    main()
"""


def test_a_function_that_the_program_calls_once_was_called_there(tmp_path: Path):
    event = provenance_of("self.alpha", ONE_CALL, tmp_path)[-1]
    assert [frame.source for frame in event.stack[:3]] == [
        "beta = torch.linspace(0, 1, steps, device=device)", "schedule = make(4)", "main()",
    ]  # fmt: skip


def test_two_calls_decide_nothing(tmp_path: Path):
    text = ONE_CALL.replace("schedule = make(4)", "schedule, _ = make(4), make(8)")
    event = provenance_of("self.alpha", text, tmp_path)[-1]
    assert [frame.source for frame in event.stack] == ["beta = torch.linspace(0, 1, steps, device=device)"]


def test_a_move_that_a_value_did_not_pass_is_not_told(tmp_path: Path):
    events = provenance_of("ids", """
        import torch
        def move(obj, device):
            if torch.is_tensor(obj):
                return obj.to(device)
            if isinstance(obj, dict):
                return {key: move(each, device) for key, each in obj.items()}
            return obj
        def use(batch, x):
            ids, _ = batch["history"]
            return x * ids
        def main():
            device = "cuda:1"
            pair = (torch.ones(4), torch.ones(4))
            batch = move({"history": pair}, device)
            use(batch, torch.ones(4, device=device))
        main()
    """, tmp_path)  # fmt: skip
    assert [(event.kind.name, event.site.span.line) for event in events][-1] == ("MADE", 14)


def test_an_object_that_is_called_is_followed_into_its_method(tmp_path: Path):
    events = provenance_of("kept", """
        import torch
        class Cache:
            def __init__(self, device):
                self.device, self.store = device, {}
            @torch.no_grad()
            def __call__(self, key, x):
                if key in self.store:
                    return self.store[key]
                self.store[key] = x.cpu()
                return x.to(self.device)
        def main():
            cache = Cache("cuda:1")
            for _ in range(2):
                kept = cache("a", torch.ones(4, device="cuda:0"))
                kept * torch.ones(4, device="cuda:1")
        main()
    """, tmp_path)  # fmt: skip
    assert (events[0].kind.name, events[0].site.span.line) == ("MOVED", 10)


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (3, """
            import torch
            scores = torch.zeros(8)
            for number in range(8):
                noise = torch.rand(())
                scores[number] = noise
            best = scores[torch.arange(4)]
            best * torch.ones(4, device="cuda:0")
        """),
        (5, """
            import torch
            class Buffer:
                def __init__(self, size):
                    self.rewards = torch.zeros(size)
                def add(self, number, reward):
                    self.rewards[number] = reward
                def sample(self):
                    return self.rewards[torch.arange(4)]
            buffer = Buffer(8)
            for number in range(8):
                buffer.add(number, torch.rand(()))
            best = buffer.sample()
            best * torch.ones(4, device="cuda:0")
        """),
        (4, """
            import torch
            def use(kept):
                kept["best"] = torch.rand(4)
                best = kept["best"]
                return best * torch.ones(4, device="cuda:0")
            use({})
        """),
    ],
    ids=["a tensor", "a tensor of an object", "a dictionary"],
)  # fmt: skip
def test_what_is_written_into_a_tensor_has_not_placed_it(line: int, text: str, tmp_path: Path):
    events = provenance_of("best", text, tmp_path)
    assert events[0].stack[0].span.line == line
