"""The report of a run as one HTML file that loads nothing: it opens from disk, in mail, and years later.

The parts in devsan/render/html turn the document of the run (docs/reference/run.schema.json) into what is shown; the
templates there, which jinja2 fills in with everything escaped, say where it stands
(docs/decisions/0003-html-report.md).
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from devsan.diagnostics.placement import owner_text
from devsan.render import changed_rows, in_words, peaks
from devsan.render.amounts import amount, seconds
from devsan.render.html import devices, endings, fates, findings, labels, memory, overview, tree
from devsan.render.language import asked
from devsan.run_files import ranks
from devsan.run_files.jobs import launches_of

if TYPE_CHECKING:
    from jinja2 import Environment

Run = Mapping[str, Any]

_FOLDER = Path(__file__).parent
_STYLES = ("colors.css", "page.css", "finding.css", "overview.css", "media.css")  # in this order
_MOST_FRAMES = 24  # of one stack
_MOST_EVENTS = 5  # of a provenance; earlier ones are folded


def render(runs: Sequence[Run], language: str = "") -> str:
    """Returns the page of a run.

    Args:
        runs: documents that are valid by docs/reference/run.schema.json: one, or those of the ranks of a program,
            where what they share is told once.
        language: in which it opens; by default the one that is asked for, else that of the browser.
    """
    runs = sorted(runs, key=lambda each: each["process"]["rank"])
    script = (_FOLDER / "page.js").read_text(encoding="utf-8")
    style = "".join((_FOLDER / name).read_text(encoding="utf-8") for name in _STYLES)
    found = ranks.findings_of(runs)
    page = environment().get_template("page.html").render(
        first=runs[0], launch=launches_of(runs)[0], runs=runs,
        many=len(runs) > 1, ranks=[each["process"]["rank"] for each in runs], findings=found,
        gpus=overview.gpus_of(runs), pages=overview.pages_of(found), models=overview.models_of(runs),
        timelines=overview.timelines_of(runs), traffic=overview.traffic_of(runs), memories=overview.memories_of(runs),
        fates=fates.fates_of(launches_of(runs)[0]), exhausted=overview.exhausted_of(runs, found),
        notes=list(dict.fromkeys(note for each in runs for note in each["notes"])),
        language=language or asked(), script=Markup(script), style=Markup(style), script_hash=_hash(script),
    )  # fmt: skip
    return page.encode("utf-8", "replace").decode("utf-8")


@cache
def environment() -> Environment:
    """Returns what fills in the templates of this folder."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    loader = FileSystemLoader(_FOLDER)
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.globals.update(
        t=labels.both, t_plain=labels.plain, t_in=labels.words, said=labels.said, has_label=labels.has_label,
        languages=labels.LANGUAGES, style_of=devices.style_of, devices_of=tree.devices_of, code=_code,
        amount=amount, seconds=seconds, listed=ranks.listed, ends_of=ranks.ends_of, unfinished=ranks.unfinished,
        most_frames=_MOST_FRAMES, most_at_head=endings.MOST_AT_HEAD, most_events=_MOST_EVENTS,
        layers_from_below=memory.FROM_BELOW,
    )  # fmt: skip
    for function in (
        findings.places_of, findings.is_wide, findings.inner_frame, findings.told_operands, findings.best_name,
        findings.placement_of, findings.words_of, owner_text, in_words.where_of, findings.source_rows,
        changed_rows.rows_of_edit, changed_rows.rows_of_replaced, peaks.parts_of, peaks.site_of, fates.cells_of,
        endings.told_of,
    ):  # fmt: skip
        environment.globals[function.__name__] = function
    return environment


def _hash(script: str) -> str:
    """As a Content-Security-Policy names a script: no other one on the page can run."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _code(text: str) -> Markup:
    return Markup("<code>{}</code>").format(text)
