"""``devsan completion``: scripts for shells, made from the parsers of the commands (docs/decisions/0018)."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from devsan.cli import main
from devsan.cli.command import Action, Parser, parser_of
from devsan.diagnostics.messages import message
from devsan.errors import UsageError
from devsan.spelling import nearest

Values = dict[str, tuple[str, ...] | None]

_WITH_A_PROGRAM = ("run", "fix")  # behind whose program the words are the program's

_BASH = """\
_devsan() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]}
  local words="" options="" valued="" at
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "COMMANDS" -- "$current"))
    return
  fi
  case "$command" in
OPTIONS
  esac
  case " PROGRAMS " in *" $command "*)
    at=2
    while [ "$at" -lt "$COMP_CWORD" ]; do
      case "${COMP_WORDS[at]}" in
        -m|-c|--) return ;;
        -*) case " $valued " in *" ${COMP_WORDS[at]} "*) at=$((at + 1)) ;; esac ;;
        *) return ;;
      esac
      at=$((at + 1))
    done
  esac
  case "$command $previous" in
VALUES
  esac
  case "$current" in -*) words=$options ;; esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _devsan devsan
"""


class CompletionCommand:
    """Print the script by which a shell completes devsan's words.

    For bash, ~/.bashrc gets: eval "$(devsan completion bash)"; for zsh, ~/.zshrc: eval "$(devsan completion zsh)";
    for fish: devsan completion fish > ~/.config/fish/completions/devsan.fish
    """

    name = "completion"

    def prepare(self, words: Sequence[str]) -> Action:
        """Reads for which shell."""
        parser = Parser(self, usage="devsan completion bash|zsh|fish")
        parser.add_argument("shell", metavar="SHELL", help="bash, zsh or fish")
        shell = parser.read(words).shell
        scripts = {"bash": _bash, "zsh": _zsh, "fish": _fish}
        if shell not in scripts:
            expected = message("a shell ({names})", names=", ".join(scripts))
            raise UsageError(expected, repr(shell), nearest(shell, scripts))
        script = scripts[shell]()  # here, where an error in [tool.devsan] is one sentence
        return lambda: print(script, end="") or 0


def _values() -> dict[str, Values]:
    """By command, its options with their values."""
    return {entry.name: parser_of(entry.command()).values() for entry in main.COMMANDS}


def _bash() -> str:
    values = _values()
    options = [
        f'    {name}) options="{" ".join(own)}" valued="{" ".join(_valued(own))}" ;;' for name, own in values.items()
    ]
    choices = [f'    "{name} {option}") COMPREPLY=($(compgen -W "{" ".join(listed)}" -- "$current")); return ;;'
               for name, own in values.items() for option, listed in own.items() if listed]  # fmt: skip
    files = [f'    "{name} {option}") return ;;' for name, own in values.items()
             for option in _valued(own) if not own[option]]  # fmt: skip
    return (
        _BASH.replace("COMMANDS", " ".join(values)).replace("PROGRAMS", " ".join(_WITH_A_PROGRAM))
        .replace("OPTIONS\n", "\n".join(options) + "\n").replace("VALUES\n", "\n".join(choices + files) + "\n")
    )  # fmt: skip


def _zsh() -> str:
    return f"autoload -U +X bashcompinit && bashcompinit\n{_bash()}"


def _fish() -> str:
    return "".join(f"complete -c devsan {line}\n" for line in _fish_lines())


def _fish_lines() -> Iterator[str]:
    for entry in main.COMMANDS:
        yield f"-n __fish_use_subcommand -f -a {entry.name} -d {shlex.quote(entry.summary)}"
    for name, own in _values().items():
        for option, listed in own.items():
            kind = f"-l {option[2:]}" if option.startswith("--") else f"-s {option[1:]}"
            given = "" if listed is None else f" -x -a {shlex.quote(' '.join(listed))}" if listed else " -r"
            yield f"-n '__fish_seen_subcommand_from {name}' {kind}{given}"


def _valued(own: Values) -> list[str]:
    return [option for option, listed in own.items() if listed is not None]
