"""What one trial says about the next ones."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from seeded import change, script

from devsan.fix.change import Change
from devsan.fix.lessons import Lessons

TEXT = """\
def first(batch, options):
    return join(batch, options)


def second(batch, options):
    return add(batch, options)
"""
NO_MOVE = "AttributeError: 'dict' object has no attribute 'to'"
NO_DEVICE = "[rank1]: AttributeError: 'Options' object has no attribute 'device'"


def test_what_cannot_move_is_not_moved_again_in_its_function(tmp_path: Path):
    path = script(tmp_path, TEXT)
    lessons = Lessons()
    lessons.learn(_moved(path, "join(", "batch", "options.device"), "failed", NO_MOVE)
    assert lessons.is_hopeless(_moved(path, "join(", "batch", '"cuda:1"'))
    assert not lessons.is_hopeless(_moved(path, "add(", "batch", '"cuda:1"'))
    assert not lessons.is_hopeless(_moved(path, "join(batch, ", "options", "batch.device"))


def test_what_has_no_device_is_asked_for_none(tmp_path: Path):
    path = script(tmp_path, TEXT)
    lessons = Lessons()
    lessons.learn(_moved(path, "join(", "batch", "options.device"), "failed", NO_DEVICE)
    assert lessons.is_hopeless(_moved(path, "join(", "batch", "options.device"))
    assert not lessons.is_hopeless(_moved(path, "join(", "batch", '"cuda:1"'))


def test_what_broke_the_program_is_not_tried_again_and_what_did_nothing_comes_last(tmp_path: Path):
    path = script(tmp_path, TEXT)
    lessons = Lessons()
    broke, vain = change(path, ("join", "joined")), change(path, ("add", "added"))
    lessons.learn(broke, "failed", "NameError: name 'joined' is not defined")
    lessons.learn(vain, "same", "")
    assert lessons.is_hopeless(broke) and not lessons.was_in_vain(broke)
    assert lessons.was_in_vain(vain) and not lessons.is_hopeless(vain)


def _moved(path: Path, before: str, name: str, device: str) -> Change:
    """The change that moves ``name`` behind the text ``before``."""
    made = change(path, (f"{before}{name}", "x"))
    [edit] = made.edits
    place = replace(edit.place, column=edit.place.column + len(before))
    return replace(made, edits=(replace(edit, place=place, before=name, after=f"{name}.to({device})"),))
