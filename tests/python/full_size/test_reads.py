"""Who reads a value that was never computed gets a stand-in and is told of it, once for each statement."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import programs
import pytest
import torch

import devsan
from devsan.full_size import reads


def unknown(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.zeros(256, 1024, device="cuda").mean().expand(shape).to(dtype).clone()


def mask(*shape: int) -> torch.Tensor:
    return unknown(*shape) > 0.5


READS: dict[str, tuple[Callable[[], Any], Any]] = {
    "item of a float": (lambda: unknown().item(), 1.0),
    "item of an integer": (lambda: torch.zeros(512, 512, device="cuda").max().long().item(), 1),
    "item of a choice": (lambda: torch.zeros(512, 512, device="cuda").argmax().item(), int(512 * 512 * 0.382)),
    "choice in a row": (lambda: torch.zeros(512, 512, device="cuda").argmax(1)[0].item(), int(512 * 0.382)),
    "best ones": (lambda: torch.zeros(512, 512, device="cuda").topk(3, 1).indices[0, 2].item(), int(512 * 0.382)),
    "the largest choice": (lambda: torch.zeros(512, 512, device="cuda").argmax(1).max().item(), int(512 * 0.382)),
    "float()": (lambda: float(unknown() + 1), 2.0),
    "a branch on a comparison": (lambda: bool(unknown() > torch.zeros((), device="cuda")), True),
    "isfinite of everything": (lambda: bool(torch.isfinite(torch.zeros(512, 512, device="cuda")).all()), True),
    "isfinite of anything": (lambda: bool(torch.isfinite(torch.zeros(512, 512, device="cuda")).any()), True),
    "isfinite of nothing": (lambda: bool((~torch.isfinite(torch.zeros(512, 512, device="cuda"))).any()), False),
    "isinf of everything": (lambda: bool(torch.isinf(torch.zeros(512, 512, device="cuda")).all()), False),
    "isfinite in each row": (lambda: torch.isfinite(torch.zeros(512, 512, device="cuda")).any(1)[3].item(), True),
    "isnan of anything": (lambda: bool(torch.isnan(torch.zeros(512, 512, device="cuda")).any()), False),
    "equal": (lambda: torch.equal(*[torch.randn(512, 512, device="cuda") for _ in range(2)]), True),
    "tolist": (lambda: unknown(3).tolist(), [1.0, 1.0, 1.0]),
    "numpy": (lambda: unknown(2).cpu().numpy().tolist(), [1.0, 1.0]),
    "nonzero": (lambda: tuple(torch.zeros(512, 512, device="cuda").nonzero().shape), (512 * 512, 2)),
    "a mask": (lambda: torch.zeros(512, 512, device="cuda")[torch.zeros(512, 512, device="cuda") > 1].numel(), 512**2),
    "print": (lambda: str(unknown(2)), "tensor([1., 1.], device='cuda:0')"),
    "sampling": (lambda: torch.zeros(4, 32000, device="cuda").softmax(-1).multinomial(1).max().item(), 12224),
}


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    found: list[Any] = []
    monkeypatch.setattr(reads, "write", lambda report, stream: found.append(report))
    return found


@pytest.mark.parametrize("name", READS)
def test_a_read_has_a_stand_in_and_is_a_finding(name: str, found: list[Any]) -> None:
    read, expected = READS[name]
    with devsan.emulate(gpus=1, full_size=True):
        assert read() == expected
    assert [each.code for each in found] == ["DV605"]
    [site] = found[0].sites
    assert (site.path == __file__ and "unknown" in str(site.lines)) or "torch" in str(site.lines)


def test_each_statement_is_told_once(found: list[Any]) -> None:
    with devsan.emulate(gpus=1, full_size=True):
        for _ in range(3):
            unknown().item()
        unknown().item()
    first, second = (each.sites[0].line for each in found)
    assert second == first + 1


def test_what_a_library_reads_for_itself_is_no_finding(found: list[Any]) -> None:
    with devsan.emulate(gpus=1, full_size=True):
        layer = torch.nn.Linear(512, 512, device="cuda")
        layer(torch.ones(8, 512, device="cuda")).square().mean().backward()
        norm = torch.nn.utils.clip_grad_norm_(layer.parameters(), 1.0, error_if_nonfinite=True)
        assert found == [] and devsan._core.is_unknown(norm)
        assert float(norm) > 0
    assert [each.code for each in found] == ["DV605"]


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_a_scaler_finds_no_infinity_and_steps(dtype: torch.dtype, found: list[Any]) -> None:
    with devsan.emulate(gpus=1, full_size=True):
        layers = torch.nn.Linear(512, 512), torch.nn.LayerNorm(512)  # with large and small gradients
        model = torch.nn.Sequential(*layers).cuda()
        optimizer, scaler = torch.optim.SGD(model.parameters()), torch.amp.GradScaler()
        steps: list[int] = []
        optimizer.register_step_post_hook(lambda *_: steps.append(1))
        for _ in range(3):
            with torch.autocast("cuda", dtype):
                loss = model(torch.ones(8, 512, device="cuda")).square().sum()
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
        assert len(steps) == 3
        assert scaler.get_scale() == 65536
    assert [each.code for each in found] in ([], ["DV605"])


def test_a_stand_in_is_finite_whatever_is_computed_with_it(found: list[Any]) -> None:
    with devsan.emulate(gpus=1, full_size=True):
        huge = torch.zeros(512, 512, device="cuda")
        small = torch.empty(1024, device="cuda").copy_(huge.flatten()[:1024])
        assert small.tolist() == [1.0] * 1024, "not what was in the memory"
        zero = small - small
        assert torch.isfinite(torch.stack([(small / zero).sum(), zero.log().sum(), (zero / zero).sum()])).all()
        assert torch.isfinite((small.half() * 65504 * 2).amax())
        masked = small.masked_fill(torch.arange(1024, device="cuda") > 0, float("-inf"))
        assert masked[1].item() == float("-inf"), "which the program gives"


def test_what_is_known_is_read_in_silence(found: list[Any]) -> None:
    with devsan.emulate(gpus=1, full_size=True):
        small = torch.arange(8.0, device="cuda")
        assert small.sum().item() == 28.0
        assert torch.arange(100_000, device="cuda")[-1].item() == 99_999
        assert torch.tensor([[1.5] * 40_000], device="cuda").shape == (1, 40_000)
        assert torch.equal(small.cpu(), torch.arange(8.0))
    assert found == []


def test_what_follows_from_an_unknown_value_is_unknown() -> None:
    with devsan.emulate(gpus=1, full_size=True):
        loss, known = unknown(), torch.ones(2, device="cuda")
        assert devsan._core.is_unknown(loss) and not devsan._core.is_unknown(known)
        part = known[:1]
        part += loss
        assert devsan._core.is_unknown(known), "the memory of a view was written"
        assert devsan._core.is_unknown(known.cpu())
        known.zero_()


def test_numbers_are_back_behind_the_emulation() -> None:
    with devsan.emulate(gpus=1, full_size=True):
        left = torch.ones(512, 512)
        assert devsan._core.is_unknown(left)
    fresh = torch.ones(512, 512)
    assert not devsan._core.is_unknown(fresh) and fresh.sum() == 512 * 512
    assert devsan._core.is_unknown(left + fresh)


PROGRAM = """\
import torch

layer = torch.nn.Linear(4096, 4096, device="cuda")
for step in range(2):
    loss = layer(torch.ones(8, 4096, device="cuda")).square().mean()
    loss.backward()
    print(loss.item())
"""


def test_a_program_goes_on_and_the_note_shows_the_line(tmp_path: Any) -> None:
    (tmp_path / "train.py").write_text(PROGRAM)
    done = programs.run(["-m", "devsan", "run", "--gpus", "1", "--full-size", "train.py"], cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "1.0\n1.0\n")
    assert done.stderr.count("note[DV605]") == 1
    assert "train.py:7" in done.stderr and "loss.item()" in done.stderr
    assert "devsan: 1 GPU, no findings, 1 note, peak" in done.stderr


def test_a_page_has_the_note_behind_the_error(tmp_path: Any) -> None:
    (tmp_path / "train.py").write_text(PROGRAM + "layer.weight + torch.ones(1)\n")
    done = programs.run(["-m", "devsan", "run", "--gpus=1", "--full-size", "-o", "run.html", "train.py"], cwd=tmp_path)
    assert done.returncode == 1 and "no report" not in done.stderr
    page = (tmp_path / "run.html").read_text(encoding="utf-8")
    assert 'class="verdict finding" id="finding-1"' in page and 'class="verdict note finding" id="finding-2"' in page


def test_a_note_fails_no_run(tmp_path: Any) -> None:
    (tmp_path / "train.py").write_text(PROGRAM)
    words = ["-m", "devsan", "run", "--gpus", "1", "--full-size", "--fail-on", "warning", "train.py"]
    assert programs.run(words, cwd=tmp_path).returncode == 0


@pytest.mark.parametrize("beams", [1, 2, 3, 4])
@pytest.mark.parametrize("end", [0, 1, 2, 511])
def test_a_text_ends_at_the_limit_of_tokens(found: list[Any], beams: int, end: int) -> None:
    transformers = pytest.importorskip("transformers")
    config = transformers.GPTNeoXConfig(
        vocab_size=512, hidden_size=32, intermediate_size=64, num_hidden_layers=1, num_attention_heads=2,
        bos_token_id=end, eos_token_id=end, pad_token_id=end,
    )  # fmt: skip
    with devsan.emulate(gpus=1, full_size=True, real_below="1KiB"):
        model = transformers.GPTNeoXForCausalLM(config).to("cuda")
        prompt = torch.randint(3, 500, (2, 4), device="cuda")
        made = model.generate(prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=9, num_beams=beams)
        assert made.shape == (2, 13)
