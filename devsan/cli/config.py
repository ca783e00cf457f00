"""``devsan config``."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from devsan.cli.command import Action, Parser
from devsan.cli.program_words import add_options
from devsan.cli.refusal import tell_refusal
from devsan.errors import EXIT_USAGE, UsageError
from devsan.options import OPTIONS
from devsan.project_options import DEFAULT, InForce, in_force
from devsan.render.language import language_for
from devsan.render.terminal.text import padded


class ConfigCommand:
    """Show the options that are in force, and where each came from.

    The command line is first, then DEVSAN_OPTIONS, then [tool.devsan] of the nearest pyproject.toml.
    """

    name = "config"

    def prepare(self, words: Sequence[str]) -> Action:
        """Reads the options of ``devsan run``, as they would be given to it."""
        parser = Parser(self, usage="devsan config [options of devsan run]")
        add_options(parser, OPTIONS)
        found = in_force(vars(parser.read(words)))
        return lambda: _show(found)


def _show(found: InForce) -> int:
    say = language_for(sys.stdout, found.options.lang)
    values = {option.key: _value(found, option.name) for option in OPTIONS}
    keys, shown = list(values), list(values.values())
    for option in OPTIONS:
        source = found.sources[option.name]
        source = say("default") if source == DEFAULT else say.text(source)
        print(f"{padded(option.key, keys)}  {padded(values[option.key], shown)}  {source}")
    try:
        found.options.devices()
    except UsageError as error:  # the options contradict each other: the sources above tell who is to give way
        tell_refusal(error)
        return EXIT_USAGE
    return 0


def _value(found: InForce, name: str) -> str:
    option = next(each for each in OPTIONS if each.name == name)
    value = getattr(found.options, name)
    return "-" if value in ((), "", None) and name != "gpus" else option.write(value)
