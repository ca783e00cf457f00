"""The stage as the laboratory sees it: a process that is asked for forks (NOTE [The stage] in ``stage``)."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from devsan.errors import DevsanError


class StageProcess:
    """A running stage. May be used by several threads.

    Args:
        environ: its environment.
        python: its interpreter.
        modules: what it imports beside torch.
        folder: where it runs; here without.
    """

    def __init__(
        self,
        environ: Mapping[str, str],
        python: str = sys.executable,
        modules: Sequence[str] = (),
        folder: str | None = None,
    ) -> None:
        own = {name: text for name, text in environ.items() if not name.startswith("DEVSAN_")}
        self._process = subprocess.Popen(
            [python, "-m", "devsan.fix.stage", *modules], env={**own, "PYTHONHASHSEED": "0"},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True,
            cwd=folder,
        )  # fmt: skip
        self._asking = threading.Lock()
        self._told = threading.Condition()
        self._started: list[int] = []
        self._ended: dict[int, int] = {}
        self._is_over = False
        threading.Thread(target=self._read, daemon=True).start()

    def start(self, request: Mapping[str, Any]) -> int:
        """Starts a fork; returns the id of its process, which leads a group of its own.

        Raises:
            DevsanError: the stage has ended.
        """
        assert self._process.stdin is not None
        with self._asking:
            try:
                print(json.dumps(request), file=self._process.stdin, flush=True)
            except OSError as error:
                raise DevsanError("expected a process that runs experiments, got its end") from error
            with self._told:
                self._told.wait_for(lambda: self._started or self._is_over)
                if not self._started:
                    raise DevsanError("expected a process that runs experiments, got its end")
                return self._started.pop(0)

    def wait(self, pid: int, seconds: float) -> int | None:
        """Returns the status of ``pid`` as ``os.waitpid`` has it; None where it has not ended after ``seconds``.

        Raises:
            DevsanError: the stage has ended.
        """
        with self._told:
            if not self._told.wait_for(lambda: pid in self._ended or self._is_over, seconds):
                return None
            if pid not in self._ended:
                raise DevsanError("expected a process that runs experiments, got its end")
            return self._ended.pop(pid)

    def close(self) -> None:
        """Ends the stage. Its forks are the caller's to stop."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        try:
            for line in self._process.stdout:
                answer = json.loads(line)
                with self._told:
                    if "started" in answer:
                        self._started.append(int(answer["started"]))
                    else:
                        self._ended[int(answer["ended"])] = int(answer["status"])
                    self._told.notify_all()
        except ValueError:  # closed meanwhile
            pass
        finally:
            with self._told:
                self._is_over = True
                self._told.notify_all()
