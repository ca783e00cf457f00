"""Runs programs in several ranks: one process that has imported torch forks the ranks of each program.

What is read from stdin, a line each: {"program", "file", "ranks", "gpus", "environment", "seconds"}; what is written to
the last descriptor: {"findings", "documents", "codes"}. A rank does what a rank of a job of DevSan's does: it collects
its facts at its failure or its end. The ranks that are left when one has failed are given a second, then SIGTERM.
"""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import json
import os
import re
import signal
import socket
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

GRACE = 1.5
STACK = re.compile(r'File "(.+)", line (\d+) in (.+)')


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    import torch

    with contextlib.suppress(ImportError):
        import accelerate  # noqa: F401
    # What DDP imports when it is first made, which takes seconds.
    import torch._dynamo
    import torch.distributed.algorithms.join
    import torch.distributed.optim  # noqa: F401

    import devsan
    import devsan.introspect.explain
    from devsan.core_library import core_with_torch
    from devsan.diagnostics.messages import recorded
    from devsan.job.ranks import collect, compare  # noqa: F401

    core_with_torch()
    devsan.emulate().start().stop()  # which registers DevSan's operators, once in a process
    gc.freeze()  # what is here already is none of a rank's own, and looking at it would copy its pages
    for line in sys.stdin:
        request = json.loads(line)
        with tempfile.TemporaryDirectory() as folder:
            documents, codes = launch(request, Path(folder))
            recordings = recordings_in(Path(folder))
        findings = compare.of_job(documents, recordings)
        answer = {"findings": findings, "documents": documents, "recordings": recordings, "codes": codes}
        print(json.dumps(recorded(answer)), file=answers, flush=True)


def launch(request: dict[str, Any], folder: Path) -> tuple[list[dict[str, Any]], list[int]]:
    from devsan.diagnostics.messages import restored

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    count = request["ranks"]
    pids = []
    for rank in range(count):
        pid = os.fork()
        if pid == 0:
            try:
                code = run_rank(request, rank, port, folder)
            except BaseException as error:
                print(f"rank {rank}: {type(error).__name__}: {error}", file=sys.stderr)
                code = 70
            sys.stderr.flush()
            os._exit(code)
        pids.append(pid)
    left = wait(pids, request["seconds"])
    documents = []
    for rank, pid in enumerate(pids):
        path = folder / f"rank{rank}.json"
        document = restored(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else {"rank": rank}
        stack = folder / f"rank{rank}.stack"
        if stack.exists() and (entries := STACK.findall(stack.read_text(encoding="utf-8"))):
            document["stack"] = [{"file": file, "line": int(line), "function": name} for file, line, name in entries]
        status, at, by_us = left[pid]
        sent = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
        code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else None
        documents.append(
            {**document, "pid": pid, "exit": {"code": code, "signal": sent, "time": at, "by_launcher": by_us}}
        )
    return documents, [each["exit"]["code"] if each["exit"]["code"] is not None else -each["exit"]["signal"]
                       for each in documents]  # fmt: skip


def wait(pids: list[int], seconds: float) -> dict[int, tuple[int, float, bool]]:
    left: dict[int, tuple[int, float, bool]] = {}
    deadline, ended_by_us = time.time() + seconds, False
    while len(left) < len(pids):
        for pid in pids:
            if pid not in left:
                done, status = os.waitpid(pid, os.WNOHANG)
                if done:
                    left[pid] = (status, time.time(), ended_by_us)
                    if status != 0 and not ended_by_us:
                        deadline = min(deadline, time.time() + GRACE)
        if time.time() > deadline:
            for pid in set(pids) - set(left):
                os.kill(pid, signal.SIGKILL if ended_by_us else signal.SIGTERM)
            ended_by_us, deadline = True, time.time() + 3
        time.sleep(0.005)
    return left


def run_rank(request: dict[str, Any], rank: int, port: int, folder: Path) -> int:
    count = request["ranks"]
    environment = {
        "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(count), "LOCAL_WORLD_SIZE": str(count),
        "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "OMP_NUM_THREADS": "1",
        **{name: text.replace("{rank}", str(rank)) for name, text in request["environment"].items()},
    }  # fmt: skip
    for name, text in environment.items():
        if text:
            os.environ[name] = text
        else:
            os.environ.pop(name, None)
    os.environ["DEVSAN_JOB"] = str(folder)
    os.chdir(Path(request["file"]).parent)
    import __main__
    from devsan import session
    from devsan.diagnostics.messages import recorded
    from devsan.job.ranks import collect
    from devsan.options import from_values

    session.begin(from_values(gpus=request["gpus"], memory=request.get("memory")))
    stack = (folder / f"rank{rank}.stack").open("w")
    faulthandler.register(signal.SIGTERM, file=stack, all_threads=False, chain=True)
    __main__.__file__ = request["file"]
    scope = {"__name__": "__main__", "__file__": request["file"]}
    document: dict[str, Any] = {"rank": rank, "findings": []}
    code = 0
    try:
        exec(compile(request["program"], request["file"], "exec"), scope)
    except SystemExit as left:
        code = left.code if isinstance(left.code, int) else 1
        document["facts"] = collect.collect()
    except Exception as error:
        code = 1
        print(f"rank {rank}: {type(error).__name__}: {error}", file=sys.stderr)
        document["findings"] = findings_of(error)
        document["facts"] = collect.collect(error)
    else:
        document["facts"] = collect.collect()
    path = folder / f"rank{rank}.json"
    path.with_suffix(".new").write_text(json.dumps(recorded(document)), encoding="utf-8")
    path.with_suffix(".new").rename(path)
    return code


def findings_of(error: Exception) -> list[dict[str, Any]]:
    from devsan.diagnosis.build import build
    from devsan.diagnosis.cause import explained
    from devsan.introspect.frames.chain import failure_of
    from devsan.run_files.document import findings_of

    failure = failure_of(error, error.__traceback__)
    if failure is None:
        return []
    report, explanation = explained(build(failure), failure)
    return findings_of(report, explanation, 0.0)


def recordings_in(folder: Path) -> list[dict[str, Any]]:
    from devsan.job.ranks.flight_recorder import read

    return [read(str(path)) for path in sorted(folder.glob("*.flight"))]


if __name__ == "__main__":
    main()
