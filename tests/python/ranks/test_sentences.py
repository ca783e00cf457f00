"""The sentences of each cause about ranks, in both languages, with one, two and many ranks whose cause it is.

`pytest tests/python/ranks/test_sentences.py --bless` writes sentences.txt anew; read the difference as text: a verb, a
pronoun or a noun in the wrong number is a defect.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch  # noqa: F401  the core's libraries

from devsan import _core
from devsan.render.language import language_named

core: Any = _core

GOLDEN = Path(__file__).with_name("sentences.txt")
ALL = 6
COUNTS = (1, 2, 4)  # ranks whose cause it is; the others are victims, or well

Job = list[Any]


def frame(line: int, source: str) -> Any:
    return core.Frame(file="/x/train.py", function="train", span=core.Span(line=line, column=1), source=source)


def device(index: int) -> Any:
    return core.Device(f"cuda:{index}")


def ranks(count: int = ALL) -> Job:
    """So many ranks on a machine with as many GPUs, all well."""
    return [
        core.RankFacts(
            process=core.Process(rank=rank, local_rank=rank, world_size=count, current_device=f"cuda:{rank}",
                                 set_device_called=True, device_count=count,
                                 environment={"LOCAL_RANK": str(rank)}),
            host="node0", backend="nccl", gpus=[f"GPU-{gpu}" for gpu in range(count)],
            memory=[core.RankMemory(device=f"cuda:{rank}", bytes=1 << 20, peak=1 << 20, placed=[])],
            end=core.RankEnd.FINISHED,
        )
        for rank in range(count)
    ]  # fmt: skip


def call(name: str, line: int, *, number: int = 12, finished: bool = False, condition: str = "",
         shape: int = 1024) -> Any:  # fmt: skip
    return core.Collective(group="default", sequence=number, name=name, shapes=[[shape]], dtype="float32",
                           bytes=4 * shape, since=5.0, finished=finished, where=frame(line, f"dist.{name}(loss)"),
                           condition=condition)  # fmt: skip


def wait(job: Job, numbers: range, name: str = "all_reduce", line: int = 20, **more: Any) -> None:
    """These ranks wait in a collective until the launcher ends them."""
    for number in numbers:
        job[number].end = core.RankEnd.TERMINATED
        job[number].collectives = [call(name, line, **more)]


def fail(job: Job, numbers: range, error: str, sentence: str, line: int = 30) -> None:
    for number in numbers:
        job[number].end, job[number].error, job[number].sentence = core.RankEnd.RAISED, error, sentence
        job[number].where, job[number].ended = frame(line, "loss = step()"), 10.0


def model(job: Job, number: int, tensors: list[Any], **more: Any) -> None:
    digest = ";".join(f"{each.name}{each.dtype}{each.shape}{each.requires_grad}" for each in tensors)
    job[number].models = [core.RankModel(expression="model", type="Net", wrappers=["DDP"], tensors=tensors,
                                         count=len(tensors), digest=digest, **more)]  # fmt: skip


def tensor(name: str, index: int, *shape: int, **more: Any) -> Any:
    return core.RankTensor(**({"name": name, "is_buffer": False, "requires_grad": True, "device": f"cuda:{index}",
                               "dtype": "float32", "shape": list(shape)} | more))  # fmt: skip


def map_of_several(count: int) -> Job:
    job = ranks()
    for number in range(count):
        entries = [core.MapEntry(key=str(gpu), device=device(gpu)) for gpu in range(2)]
        model(job, number, [tensor("a", 0, 2), tensor("b", 1, 2)], device_map=entries, device_map_text='"auto"',
              mapped_at=frame(3, 'load(device_map="auto")'))  # fmt: skip
    return job


def map_of_one(count: int) -> Job:
    """Every model is on cuda:5, which is right in rank 5 alone."""
    job = ranks()
    for number in [*range(count), 5]:
        entries = [core.MapEntry(key="", device=device(5))]
        model(job, number, [tensor("a", 5, 2)], device_map=entries, mapped_at=frame(3, "load(device_map={'': 5})"))
    return job


def shared(count: int) -> Job:
    job = ranks()
    for number in range(count + 1):  # it takes two to share
        job[number].process.current_device, job[number].process.set_device_called = device(0), False
        job[number].memory = [core.RankMemory(device="cuda:0", bytes=1 << 20, peak=1 << 20, placed=[])]
    fail(job, range(count + 1), "DistBackendError", "Duplicate GPU detected : rank 0 and rank 1 both on CUDA device 0")
    return job


def foreign(count: int) -> Job:
    job = ranks()
    site = frame(7, 'weights = torch.ones(4, device="cuda:0")')
    owner = core.Owner(name="program", mechanism="ones", setting="")
    for number in range(1, count + 1):
        placed = core.Event(kind=core.EventKind.MADE, device="cuda:0", stack=[site], owner=owner)
        more = core.RankMemory(device="cuda:0", bytes=512, peak=512, placed=[placed])
        job[number].memory = [*job[number].memory, more]
    return job


def differing(*, missing: bool = False, extra: bool = False, frozen: bool = False) -> Callable[[int], Job]:
    def made(count: int) -> Job:
        job = ranks(2 * count + 1 if count > 1 else 2)
        for number in range(len(job)):
            offending = number < count if count > 1 else number == 1
            tensors = [tensor("a", number, 2), tensor("b", number, 3)]
            if offending and missing:
                tensors.pop()
            if offending and extra:
                tensors.append(tensor("c", number, 3))
            if offending and frozen:
                tensors[1].requires_grad = False
            model(job, number, tensors)
        return job

    return made


def missing(finished: bool) -> Callable[[int], Job]:
    def made(count: int) -> Job:
        job = ranks()
        wait(job, range(count, ALL), condition="rank > 0")
        for number in range(count):
            job[number].collectives = [call("broadcast", 9, number=10, finished=True)]
            if not finished:
                job[number].end, job[number].where = core.RankEnd.TERMINATED, frame(40, "save(model)")
        return job

    return made


def mismatched(name: str, shape: int = 1024) -> Callable[[int], Job]:
    def made(count: int) -> Job:
        job = ranks()
        wait(job, range(ALL))
        wait(job, range(count), name, 21, shape=shape)
        return job

    return made


def ended(how: str, *, same_call: bool = True, finished: bool = True) -> Callable[[int], Job]:
    def made(count: int) -> Job:
        job = ranks()
        wait(job, range(count, ALL))
        for number in range(count):
            rank = job[number]
            rank.collectives = [call("all_reduce", 20 if same_call else 20 + number // 2, finished=finished)]
            if how == "raised":
                fail(job, range(number, number + 1), "FileNotFoundError", "no such file: 'a.pt'")
            elif how == "memory":
                fail(job, range(number, number + 1), "OutOfMemoryError", "CUDA out of memory.")
            elif how == "exited":
                rank.end, rank.exit_code = core.RankEnd.EXITED, 3
            elif how == "silent":
                rank.end, rank.collectives = core.RankEnd.UNKNOWN, []
            else:
                rank.end, rank.signal = core.RankEnd.KILLED, int(how)
            rank.ended = 10.0
        return job

    return made


def renumbered(count: int) -> Job:
    job = ranks()
    for number, rank in enumerate(job):
        rank.process.visible_devices, rank.process.device_count = str(number), 1
        if 0 < number <= count:
            rank.findings = [
                core.OwnFinding(code="DV115", cause="x", title="no such GPU", kind=core.SentenceKind.ORDINAL)
            ]
            fail(job, range(number, number + 1), "RuntimeError", "CUDA error: invalid device ordinal")
    return job


CASES: dict[str, Callable[[int], Job]] = {
    "DV115 each rank sees its own GPU alone": renumbered,
    "DV204 a map over several GPUs": map_of_several,
    "DV204 a map on one GPU": map_of_one,
    "DV301 one GPU": shared,
    "DV302 memory on another rank's GPU": foreign,
    "DV303 a parameter less": differing(missing=True),
    "DV303 a parameter more": differing(extra=True),
    "DV303 a frozen parameter": differing(frozen=True),
    "DV304 ranks that have finished": missing(finished=True),
    "DV304 ranks that are elsewhere": missing(finished=False),
    "DV305 another collective": mismatched("broadcast"),
    "DV305 other sizes": mismatched("all_reduce", 1000),
    "DV306 an exception": ended("raised"),
    "DV306 out of memory": ended("memory"),
    "DV306 SIGKILL behind a collective": ended("9"),
    "DV306 SIGSEGV in a collective": ended("11", finished=False),
    "DV306 SIGKILL in different collectives": ended("9", same_call=False, finished=False),
    "DV306 an exit code": ended("exited"),
    "DV306 silence": ended("silent"),
}  # fmt: skip


def sentences(found: Any) -> Iterator[str]:
    finding = found.finding
    if found.of_rank < 0:  # not a rank's own finding, which these sentences only add to
        yield finding.title
    yield from finding.evidence
    yield from (fix.text for fix in finding.fixes)
    yield from found.victims


def text_of(name: str, count: int) -> str:
    """The first finding of a case, and in Chinese."""
    found = core.diagnose_ranks(CASES[name](count))
    assert found and found[0].finding.code == name.split()[0], [
        (each.finding.code, each.finding.title) for each in found
    ]
    chinese = language_named("zh")
    said = list(sentences(found[0]))
    translated = [chinese.text(each) for each in said]
    assert not (set(said) & set(translated)), set(said) & set(translated)
    return "".join(f"  {line}\n" for line in [*said, *translated])


def test_each_sentence_agrees_with_its_ranks(request: pytest.FixtureRequest) -> None:
    text = "".join(f"{name}: {count}\n{text_of(name, count)}\n" for name in CASES for count in COUNTS)
    if request.config.getoption("--bless"):
        GOLDEN.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8")


def test_each_cause_has_a_case() -> None:
    """Of codes that compare ranks: those of core/diagnose/ranks."""
    assert {name.split()[0] for name in CASES} >= {"DV115", "DV204", *(f"DV30{number}" for number in range(1, 7))}
