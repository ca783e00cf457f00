"""What ``devsan plan`` asks of one rehearsal, and what it is told: two files in a folder that a variable names."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from devsan.blocks.measured import Measured, Names

_REQUEST, _ANSWER = "request.json", "answer.json"


@dataclass(frozen=True)
class Request:
    """What is asked for.

    Attributes:
        device_map: what the program is told wherever it places a model, as accelerate has it. None leaves
            the program's own, and while it is measured everything is on the first GPU.
        is_measured: whether blocks are measured. Peaks that the program asks torch for are then those of a block.
        batch: the samples of a batch; 0 leaves them.
        checkpointing: whether gradient checkpointing is turned on.
        bits: of the weights that transformers loads, 8 or 4; 0 leaves them.
    """

    device_map: Mapping[str, int | str] | None = None
    is_measured: bool = False
    batch: int = 0
    checkpointing: bool = False
    bits: int = 0


@dataclass(frozen=True)
class Answer:
    """What came of it.

    Attributes:
        places: how often the program placed a model where a map can be told.
        model: the class of the largest of them; "" where there was none.
        whole: the class of a model that is one block, so that no map divides it; "" where none was placed.
        made_whole: whether the program makes a model on a GPU, so that it has to fit there before a map can divide it.
        batch: samples of the first batch; 0 where it has shown none.
        checkpointing: "on" or "off" where the model has gradient checkpointing, else "".
        quantization: "on" or "off" where transformers loaded a model, "missing" where that needs bitsandbytes, else "".
        measured: None where nothing was measured.
        names: likewise.
    """

    places: int = 0
    model: str = ""
    whole: str = ""
    made_whole: bool = False
    batch: int = 0
    checkpointing: str = ""
    quantization: str = ""
    measured: Measured | None = None
    names: Names | None = None


def write_request(folder: Path, request: Request) -> None:
    """Leaves ``request`` in ``folder``, which the variable ``options.BLOCKS`` names then."""
    folder.joinpath(_REQUEST).write_text(json.dumps(dataclasses.asdict(request)), encoding="utf-8")


def read_request(folder: str) -> Request:
    """Returns the request in ``folder``.

    Raises:
        OSError: there is none.
    """
    return Request(**json.loads(Path(folder, _REQUEST).read_text(encoding="utf-8")))


def write_answer(folder: str, answer: Answer) -> None:
    """Leaves what came of the rehearsal in ``folder``; nothing where that has gone."""
    try:
        Path(folder, _ANSWER).write_text(json.dumps(dataclasses.asdict(answer)), encoding="utf-8")
    except OSError:
        return


def read_answer(folder: Path) -> Answer:
    """Returns the answer in ``folder``; an empty one where the program was killed before it could be written."""
    try:
        plain = json.loads(folder.joinpath(_ANSWER).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return Answer()
    measured, names = plain.pop("measured"), plain.pop("names")
    return Answer(
        **plain,
        measured=None if measured is None else Measured.of(measured),
        names=None if names is None else Names(**names),
    )
