"""The catalogs of all parts: what one says of a template, no other says otherwise."""

from __future__ import annotations

import json
import re

from devsan.diagnostics.catalog import catalog_files, chinese
from devsan.diagnostics.codes import all_codes

SLOT = re.compile(r"\{(\w+)\}")


def test_every_part_has_its_catalog() -> None:
    assert {path.parent.name for path in catalog_files()} >= {"doctor", "live", "source"}
    assert len(catalog_files()) >= 5


def test_a_template_has_one_translation() -> None:
    found: dict[str, str] = {}
    for path in catalog_files():
        for name, group in json.loads(path.read_text(encoding="utf-8")).items():
            for english, said in group.items() if name != "phrases" else ():
                assert found.setdefault(english, said) == said, english
    for code in all_codes().values():
        for english in code.chinese:
            assert english not in found, f"{code.name}: {english}"
            found[english] = code.name


def test_a_translation_has_the_slots_of_its_template() -> None:
    known = chinese()
    assert len(known.templates) > 900
    for english, said in (*known.phrases.items(), *known.templates.items()):
        assert set(SLOT.findall(said)) == set(SLOT.findall(english)), english


def test_what_keeps_both_languages_side_by_side_is_among_them() -> None:
    from devsan.doctor.known_issues import known_issues

    templates = chinese().templates
    for code in all_codes().values():
        assert not code.naive_fix or templates[code.naive_fix["en"]] == code.naive_fix["zh"]
    for issue in known_issues():
        assert templates[issue.evidence.id]
