"""What the Trainer of transformers is given: in a call of the script, or on the command line, which a parser reads."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from devsan.diagnostics.diagnostic import Place
from devsan.diagnostics.messages import message
from devsan.doctor.case import Case
from devsan.doctor.script import Call, Parsed
from devsan.doctor.settings import Settings, truth, whole

_OTHERS = {
    "per_device_train_batch_size": ("per_gpu_train_batch_size", "auto_find_batch_size"),
    "warmup_steps": ("warmup_ratio",),
}
"""Arguments that change what another one leaves to its default."""


@dataclass(frozen=True)
class Said:
    """An argument of the Trainer.

    Attributes:
        value: of it.
        shown: how it was said.
        place: where; None on the command line.
        given_as: how one would give another value: "--name {value}" or "name={value}".
        by_default: nobody has given it.
    """

    value: Any
    shown: str
    place: Place | None
    given_as: str
    by_default: bool = False


@dataclass(frozen=True)
class Product:
    """The batch of all ranks as the Trainer computes it (HfTrainerDeepSpeedConfig.trainer_config_process)."""

    batch: int
    steps: int
    ranks: int
    places: tuple[Place, ...]

    @property
    def value(self) -> int:
        """How many samples all ranks take for a step of the optimizer."""
        return self.batch * self.steps * self.ranks


@dataclass(frozen=True)
class TrainerArguments:
    """The Trainer's arguments, as far as they are known without running the script.

    Attributes:
        call: that makes them.
        parsed: the parser that makes them, where no call does.
        words: what the command line says.
    """

    call: Call | None
    parsed: Parsed | None
    words: Mapping[str, str]

    @classmethod
    def of(cls, case: Case) -> TrainerArguments:
        """Returns those of the job that ``case`` starts."""
        call = next((found for script in case.scripts if (found := script.training_arguments())), None)
        parsed = next((parsed for script in case.scripts if (parsed := script.parsed_arguments())), None)
        return cls(call, parsed if call is None else None, case.launch.script_options())

    def reads(self, settings: Settings) -> bool:
        """Returns whether the Trainer can be the one that reads a configuration of DeepSpeed."""
        named = self.call.arguments.get("deepspeed") if self.call is not None else None
        file = named.value if named is not None else None
        other = isinstance(file, str) and os.path.basename(file) != os.path.basename(settings.document.file)
        return not (settings.by_accelerate or other)

    def argument(self, name: str, default: Any) -> Said | None:
        """Returns what is said of ``name``, if only by ``default``; None where it is not known."""
        if name in self.words:
            return Said(self.words[name], f"--{name} {self.words[name]}", None, f"--{name} {{value}}")
        if self.call is not None and self.call.says(name):
            argument = self.call.arguments.get(name)
            if argument is None:
                return None
            return Said(argument.value, argument.shown, argument.place, f"{name}={{value}}")
        place = self._decides_by_default(name)
        if place is None:
            return None
        shown = message("{argument}={value} (the default)", argument=name, value=default)
        return Said(default, shown, place, f"{name}={{value}}" if self.call else f"--{name} {{value}}", by_default=True)

    def enables(self, name: str) -> Said | None:
        """Returns what turns ``name`` on; None where nothing does, as far as is known."""
        said = self.argument(name, False)
        return said if said is not None and truth(said.value) else None

    def product(self, ranks: int) -> Product | None:
        """Returns the batch of all ``ranks``; None where it is not known, or no number."""
        batch, steps = self.argument("per_device_train_batch_size", 8), self.argument("gradient_accumulation_steps", 1)
        if batch is None or steps is None or not ranks:
            return None
        each, many = whole(batch.value), whole(steps.value)
        if each is None or many is None:
            return None
        return Product(each, many, ranks, tuple(said.place for said in (batch, steps) if said.place is not None))

    def _decides_by_default(self, name: str) -> Place | None:
        """What leaves an argument to its default: nobody else can have given it, in full or abbreviated."""
        others = [f"{name}_full_eval"] if name in ("fp16", "bf16") else _OTHERS.get(name, ())
        if self.call is not None:
            plain = self.call.whole and not self.words and self.call.name.rpartition(".")[2] == "TrainingArguments"
            return self.call.place if plain and not any(self.call.says(each) for each in others) else None
        if self.parsed is None or not self.words or name in self.parsed.own:
            return None
        given = any(name.startswith(word) or word in others for word in self.words)
        return None if given else self.parsed.place
