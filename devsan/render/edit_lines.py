"""The lines of an edit as they are shown, side by side."""

from __future__ import annotations


def edit_lines(before: str, after: str) -> tuple[list[str], list[str]]:
    """Returns the lines of both texts, of which the first has no indentation and the others have that of the file.

    Where statements are added or taken away, the others lose what they are all indented by, so that the lines can be
    typed in as they stand.
    """
    old, new = before.splitlines(), after.splitlines()
    if len(old) == len(new):
        return old, new
    further = [line for line in (*old[1:], *new[1:]) if line.strip()]
    indented = min((len(line) - len(line.lstrip()) for line in further), default=0)
    return [*old[:1], *(line[indented:] for line in old[1:])], [*new[:1], *(line[indented:] for line in new[1:])]
