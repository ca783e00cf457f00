"""Values that the statements of a script leave alone are observed; nothing else about the script changes."""

from __future__ import annotations

import traceback

import pytest

from devsan.numbers import statements


def run(text: str) -> list[object]:
    kept: list[object] = []
    names: dict[str, object] = {"__name__": "__main__"}
    exec(statements.compiled(text, "script.py", names, kept.append), names)
    return kept


def test_values_of_statements_are_kept_in_order():
    assert run("def f(x):\n    x + 1\n    return x\nf(1)\nfor i in range(2):\n    f(i + 2)\ny = f(9)\n") == [1, 2, 3]


def test_values_in_branches_are_kept():
    text = "try:\n    1 + 1\n    1 / 0\nexcept ZeroDivisionError:\n    2 + 2\nelse:\n    3 + 3\nfinally:\n    4 + 4\n"
    assert run(text) == [2, 4, 8]
    assert run("with open('/dev/null') as file:\n    file.name\nif file.closed:\n    5 + 5\n") == ["/dev/null", 10]


def test_variables_of_loops_are_no_results():
    names: dict[str, object] = {}
    statements.compiled("for a, b in (): c = a\nfor d in (): pass\nd = 1\n", "script.py", names, print)
    assert names[statements.PASSING] == {"a", "b"}


def test_docstring_and_future_imports_stay():
    text = '"""What it is."""\nfrom __future__ import annotations\nassert __doc__ == "What it is."\n6 + 6\n'
    assert run(text) == [12]


def test_traceback_names_line_and_columns_of_the_script():
    with pytest.raises(ZeroDivisionError) as caught:
        run("def f():\n    return 1 / 0\n\nf()\n")
    frames = traceback.extract_tb(caught.value.__traceback__)[-2:]
    assert [(frame.lineno, frame.colno, frame.end_colno) for frame in frames] == [(4, 0, 3), (2, 11, 16)]


def test_syntax_error_passes():
    with pytest.raises(SyntaxError):
        run("1 +\n")


def test_a_module_is_no_result():
    import torch

    from devsan.numbers import observer

    class Kept:
        def __init__(self):
            self.kinds = []

        def write(self, kind, tensors, names=None):
            self.kinds.append((kind, len(tensors)))

    observer._observer, before = Kept(), observer._observer
    try:
        observer.keep(torch.nn.Linear(2, 2))
        observer.keep(torch.ones(2))
        assert observer._observer.kinds == [("output", 1)]
    finally:
        observer._observer = before
