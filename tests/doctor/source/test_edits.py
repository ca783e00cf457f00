"""Mechanical fixes: what they write, that they keep everything else, and where none is made."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from devsan.doctor.source import check, diff, fix

PROGRAMS = sorted((Path(__file__).parent / "programs").glob("*.py"))

# What is checked, and what a line of it becomes.
FIXED = {
    "factory": ("""
        import torch
        class Net(torch.nn.Module):
            def forward(self, x):
                return x + torch.zeros(4)
        """, "return x + torch.zeros(4, device=x.device)"),
    "factory without arguments": ("""
        import torch
        class Net(torch.nn.Module):
            def forward(self, x):
                return x[:, None] + torch.ones(*x.shape)
        """, "return x[:, None] + torch.ones(*x.shape, device=x.device)"),
    "factory over lines": ("""
        import torch
        class Net(torch.nn.Module):
            def forward(self, x, y=None):
                mask = torch.full(
                    x.shape,  # as x
                    -1.0,
                    dtype=x.dtype,  # and this
                )
                return x * mask
        """, "            device=x.device,  # and this"),
    "another device": ("""
        import torch
        class Net(torch.nn.Module):
            def forward(self, x):
                return x + torch.zeros(4, device='cuda', dtype=x.dtype)
        """, "return x + torch.zeros(4, device=x.device, dtype=x.dtype)"),
    "helper": ("""
        import torch
        class Net(torch.nn.Module):
            def forward(self, x):
                return self.pad(x)
            def pad(self, rows):
                filled = torch.zeros(rows.size(0), 1)
                return torch.cat([rows, filled], 1)
        """, "filled = torch.zeros(rows.size(0), 1, device=rows.device)"),
    "name that was bound before": ("""
        import torch
        class Net(torch.nn.Module):
            def forward(self, *inputs, **named):
                query = self.project(*inputs)
                return query
        def attend(query, key):
            hidden = query * 2
            mask = torch.ones(4)
            return hidden * mask
        attend(torch.ones(4, device="cuda:1"), torch.ones(4, device="cuda:1"))
        """, "mask = torch.ones(4, device=hidden.device)"),
    "attribute": ("""
        import torch
        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.scale = torch.ones(
                    8,  # wide
                )  # why not
            def forward(self, x):
                return x * self.scale
        """, 'self.register_buffer("scale", torch.ones('),
    "dropped move": ("""
        import torch
        x = torch.zeros(3)
        x.to("cuda")  # there
        print(x)
        """, 'x = x.to("cuda")  # there'),
    "numpy": ("""
        import torch
        x = torch.zeros(3).cuda()
        print((x + 1).numpy())
        """, "print((x + 1).cpu().numpy())"),
    "load": ("""
        import torch
        torch.distributed.init_process_group("nccl")
        torch.cuda.set_device(int(__import__("os").environ["LOCAL_RANK"]))
        state = torch.load("m.pt")
        """, 'state = torch.load("m.pt", map_location="cpu")'),
    "move of a mapped model": ("""
        import torch
        from transformers import AutoModel
        model = AutoModel.from_pretrained("gpt2", device_map="auto")
        model.to("cuda")
        print(model)
        """, "print(model)"),
    "chained move": ("""
        from transformers import AutoModel
        model = AutoModel.from_pretrained("gpt2", device_map="auto").cuda()
        """, 'model = AutoModel.from_pretrained("gpt2", device_map="auto")'),
    "only statement of its block": ("""
        from transformers import AutoModel
        model = AutoModel.from_pretrained("gpt2", device_map="auto")
        for _ in range(1):
            model = model.cuda()
        """, "    pass"),
}  # fmt: skip

# Shown by --diff, and applied when that is asked for only.
UNSAFE = {
    "random factory": ("""
        import torch
        class Net(torch.nn.Module):
            def forward(self, x):
                return x + torch.randn(x.shape)
        """, "return x + torch.randn(x.shape, device=x.device)"),
    "leaf": ("""
        import torch
        x = torch.zeros(3, requires_grad=True)
        x.cuda()
        print(x)
        """, "x = x.cuda()"),
    "generator": ("""
        import torch
        g = torch.Generator()
        torch.rand(3, generator=g, device="cuda")
        """, 'g = torch.Generator(device="cuda")'),
    "choice of the GPU": ("""
        import os
        import torch
        def main():
            torch.distributed.init_process_group("nccl")
            return torch.zeros(3).cuda()
        main()
        """, '    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))'),
}  # fmt: skip

# Found, and not edited.
REFUSED = {
    "no input at hand": """
        import torch
        class Net(torch.nn.Module):
            def forward(self, x):
                return x + self.table(3)
            def table(self, n):
                return torch.zeros(n)
        """,
    "input that may be None": """
        import torch
        class Net(torch.nn.Module):
            def forward(self, length: int, x: torch.Tensor = None):
                return torch.zeros(4) + x
        """,
    "arguments that are not seen": """
        import torch
        class Net(torch.nn.Module):
            def forward(self, x, **more):
                out = torch.zeros(4, out=None)
                return x + torch.from_numpy(more["y"])
        """,
    "attribute with several assignments": """
        import torch
        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.scale = torch.ones(8)
            def forward(self, x):
                return x * self.scale
            def widen(self):
                self.scale = torch.ones(16)
        """,
    "attribute before the module is one": """
        import torch
        class Net(torch.nn.Module):
            def __init__(self):
                self.scale = torch.ones(8)
                super().__init__()
            def forward(self, x):
                return x * self.scale
        """,
    "helper that is no module": """
        import torch
        class Helper:
            def __init__(self):
                super().__init__()
                self.scale = torch.ones(8)
        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.helper = Helper()
            def forward(self, x):
                return x * self.helper.scale
        """,
    "move that also changes the type": """
        import torch
        from transformers import AutoModel
        model = AutoModel.from_pretrained("gpt2", device_map="auto")
        model.to("cuda", torch.float16)
        """,
    "statement beside others": """
        from transformers import AutoModel
        model = AutoModel.from_pretrained("gpt2", device_map="auto"); model.cuda()
        """,
    "result that nobody would read": """
        import torch
        def move(batch):
            for value in batch:
                value.to("cuda")
        move([torch.zeros(3)])
        """,
}  # fmt: skip


def written(folder: Path, text: str) -> Path:
    path = folder / "program.py"
    path.write_text(textwrap.dedent(text).lstrip("\n"), encoding="utf-8")
    return path


@pytest.mark.parametrize("name", FIXED)
def test_fixes(name: str, tmp_path: Path):
    text, line = FIXED[name]
    path = written(tmp_path, text)
    before = path.read_text()
    assert fix(check([path])) == [path]
    after = path.read_text()
    assert line.strip() in [each.strip() for each in after.splitlines()]
    assert re.findall("#.*", before) == re.findall("#.*", after), "comments stay"
    compile(after, str(path), "exec")
    again = check([path])
    assert [finding for finding in again.findings if finding.fixes[0].edits] == [], "a fix is fixed again"
    assert fix(again) == [] and path.read_text() == after


@pytest.mark.parametrize("name", UNSAFE)
def test_shows_what_it_does_not_apply_unasked(name: str, tmp_path: Path):
    text, line = UNSAFE[name]
    path = written(tmp_path, text)
    result = check([path])
    added = [each[1:].strip() for each in diff(result).splitlines() if each.startswith("+")]
    assert line.strip() in added
    assert diff(result, unsafe=False) == "" and fix(result) == []
    assert fix(result, unsafe=True) == [path]
    assert line.strip() in path.read_text()


@pytest.mark.parametrize("name", REFUSED)
def test_finds_and_does_not_edit(name: str, tmp_path: Path):
    path = written(tmp_path, REFUSED[name])
    before = path.read_text()
    result = check([path])
    assert result.findings
    assert all(finding.fixes[0].edits == () for finding in result.findings)
    assert fix(result) == [] and path.read_text() == before


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_fixed_programs_parse_and_have_fewer_findings(path: Path, tmp_path: Path):
    copy = tmp_path / path.name
    copy.write_bytes(path.read_bytes())
    before = check([copy])
    edited = sum(any(edit.safe for edit in finding.fixes[0].edits) for finding in before.findings)
    fix(before)
    after = check([copy])
    assert len(after.findings) <= len(before.findings) - edited
    assert fix(after) == []


def test_the_diff_is_what_patch_reads(tmp_path: Path):
    path = written(tmp_path, FIXED["factory"][0])
    text = path.read_text()
    shown = diff(check([path]))
    assert path.read_text() == text, "a diff changes nothing"
    fix(check([path]))
    wanted = path.read_text()
    path.write_text(text)
    done = subprocess.run(["patch", "-p0", "-d", "/"], input=shown, text=True, capture_output=True, timeout=20)
    assert done.returncode == 0, done.stdout + done.stderr
    assert path.read_text() == wanted


def test_line_ends_and_mode_stay(tmp_path: Path):
    path = written(tmp_path, FIXED["factory"][0])
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n").rstrip())
    path.chmod(0o755)
    assert fix(check([path])) == [path]
    after = path.read_bytes()
    assert after.startswith(b"\xef\xbb\xbfimport") and after.count(b"\r\n") == after.count(b"\n")
    assert not after.endswith(b"\n") and b"device=x.device" in after
    assert path.stat().st_mode & 0o777 == 0o755


def test_a_file_that_changed_since_is_left_alone(tmp_path: Path):
    path = written(tmp_path, FIXED["factory"][0])
    result = check([path])
    path.write_text("# other\n" + path.read_text())
    before = path.read_text()
    assert fix(result) == [] and path.read_text() == before
    (note,) = result.notes
    assert "expected the file as it was checked" in note


def test_a_link_stays_a_link(tmp_path: Path):
    path = written(tmp_path, FIXED["factory"][0])
    link = tmp_path / "link.py"
    link.symlink_to(path)
    assert fix(check([link])) == [link]
    assert link.is_symlink() and "device=x.device" in path.read_text()


def test_libcst_is_imported_for_edits_only(tmp_path: Path):
    path = written(tmp_path, FIXED["factory"][0])
    script = (
        "import sys; from pathlib import Path; from devsan.doctor.source import check\n"
        "assert check([Path(sys.argv[1])], edits=False).findings and 'libcst' not in sys.modules\n"
        "assert check([Path(sys.argv[1])]).findings[0].fixes[0].edits and 'libcst' in sys.modules\n"
        "assert 'torch' not in sys.modules"
    )
    folders = os.pathsep.join(sys.path)
    done = subprocess.run(
        [sys.executable, "-S", "-c", script, str(path)], env={**os.environ, "PYTHONPATH": folders},
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
