"""Every text that the rules for living models can say has its Chinese: the texts are taken out of the source."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from devsan.doctor.language import speaks

ROOT = Path(__file__).parents[3]
FILES = sorted((ROOT / "devsan/doctor/live").rglob("*.py"))
HELD = "x7"


def texts(node: ast.AST) -> list[str]:
    """Constants and f-strings in an argument, each slot filled; not those inside of a slot."""
    if isinstance(node, ast.Constant):
        return [node.value] if isinstance(node.value, str) else []
    if isinstance(node, ast.JoinedStr):
        return ["".join(part.value if isinstance(part, ast.Constant) else HELD for part in node.values)]
    if isinstance(node, ast.IfExp):
        return texts(node.body) + texts(node.orelse)
    if isinstance(node, (ast.Tuple, ast.Starred)):
        return [text for child in ast.iter_child_nodes(node) for text in texts(child)]
    return []


def said() -> set[str]:
    found = set()
    for path in FILES:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Finding":
                named = [word.value for word in node.keywords if word.arg == "others"]
                for given in [node.args[1], *node.args[3:5], *named]:
                    found.update(texts(given))
            elif isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") in ("more", "why", "by"):
                found.update(texts(node.value))
    return {text for text in found if " " in text and re.search("[A-Za-z]{3}", text.replace(HELD, ""))}


def test_each_has_its_chinese() -> None:
    english = said()
    assert len(english) > 60
    zh = speaks("zh")
    missing = {}
    for text in english:
        chinese = zh.text(text)
        if not re.search("[\u4e00-\u9fff]", chinese) or chinese.count(HELD) != text.count(HELD):
            missing[text] = chinese
    assert missing == {}
