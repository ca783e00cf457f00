"""The policy ``warn``: a program goes on after a mismatch, and every place of it is told."""

from __future__ import annotations

import subprocess
import threading
from pathlib import Path

import programs
import pytest
import torch

import devsan
from devsan.errors import UsageError
from devsan.options import Options

PROGRAM = """\
import torch

layer = torch.nn.Linear(4, 4).to("cuda:1")
bias = torch.ones(4, device="cuda:0", requires_grad=True)
for _ in range(3):
    loss = (layer(torch.ones(2, 4, device="cuda:1")) + bias).sum()
    loss.backward()
    bias.grad = None
print("done", loss.device)
"""


def told(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().err


def test_the_program_goes_on_and_the_result_is_the_hosts(capsys):
    with devsan.emulate(gpus=2, policy="warn"):
        torch.manual_seed(0)
        left = torch.rand(3, 4, device="cuda:0", requires_grad=True)
        right = torch.rand(4, 3, device="cuda:1", requires_grad=True)
        product = left @ right
        assert product.device == torch.device("cuda:0")  # of the first operand on a GPU
        product.pow(2).sum().backward()
        assert (left.grad.device, right.grad.device) == (left.device, right.device)
        one, other = (side.detach().cpu().requires_grad_() for side in (left, right))
        (one @ other).pow(2).sum().backward()
        assert torch.equal(one.grad, left.grad.cpu()) and torch.equal(other.grad, right.grad.cpu())
    err = told(capsys)
    assert "warning[" in err and "operands of aten::mm are on cuda:0 and cuda:1" in err
    assert "the program continued after mismatches at 1 place with 1 cause (policy=warn)" in err


@pytest.mark.parametrize("home", ["cuda:0", "cuda:1"])
def test_the_running_statistics_of_a_batch_norm_are_updated_where_they_are(capsys, home):
    with devsan.emulate(gpus=2, policy="warn"):
        torch.manual_seed(0)
        layer, alone = torch.nn.BatchNorm2d(3).to("cuda:1"), torch.nn.BatchNorm2d(3)
        layer.weight.data = layer.weight.data.to(home)
        images = torch.rand(4, 3, 5, 5)
        assert torch.equal(layer(images.to("cuda:0")).cpu(), alone(images))
        assert layer.running_mean.device == torch.device("cuda:1")
        assert torch.equal(layer.running_mean.cpu(), alone.running_mean)
        assert torch.equal(layer.running_var.cpu(), alone.running_var)
    assert "warning[" in told(capsys)


def test_a_gradient_goes_to_the_weight_of_an_operator_that_calls_another(capsys):
    # aten::embedding has a derivative, and looks the rows up by aten::index_select, which refuses them.
    with devsan.emulate(gpus=1, policy="warn"):
        weight = torch.rand(4, 3, requires_grad=True)
        rows = torch.tensor([1, 3], device="cuda")
        made = torch.nn.functional.embedding(rows, weight)
        made.to("cuda").sum().backward()
        assert weight.grad.tolist() == [[0, 0, 0], [1, 1, 1], [0, 0, 0], [1, 1, 1]]
    assert "operands of aten::index_select are on cpu and cuda:0" in told(capsys)


def test_attention_over_two_devices_goes_on(capsys):
    # The composite itself refuses it, and torch's table of device checks does not name a composite.
    with devsan.emulate(gpus=2, policy="warn"):
        torch.manual_seed(0)
        query, key, value = (torch.rand(1, 2, 4, 8, device=f"cuda:{gpu}") for gpu in (0, 1, 1))
        made = torch.nn.functional.scaled_dot_product_attention(query, key, value)
        assert made.device == query.device
        expected = torch.nn.functional.scaled_dot_product_attention(query.cpu(), key.cpu(), value.cpu())
        assert torch.allclose(made.cpu(), expected)
    assert "operands of aten::scaled_dot_product_attention are on cuda:0 and cuda:1" in told(capsys)


@pytest.mark.parametrize("compressed", [False, True])
def test_sparse_tensors_go_on(capsys, compressed):
    edges = torch.tensor([[0, 1, 2], [1, 2, 0]])
    graph = torch.sparse_coo_tensor(edges, torch.tensor([1.0, 2.0, 3.0]), (3, 3)).coalesce()
    graph = graph.to_sparse_csr() if compressed else graph
    with devsan.emulate(gpus=1, policy="warn"):
        features = torch.rand(3, 2, device="cuda", requires_grad=True)
        made = graph @ features
        assert made.device == features.device
        made.sum().backward()
        assert torch.allclose(made.detach().cpu(), graph @ features.detach().cpu())
        assert torch.allclose(features.grad.cpu(), graph.to_dense().sum(0).unsqueeze(1).expand(3, 2))
    assert "operands of aten::mm are on cpu and cuda:0" in told(capsys)


def test_a_composite_that_checks_devices_itself_goes_on(capsys):
    with devsan.emulate(gpus=1, policy="warn"):
        points = torch.rand(30, 3, device="cuda", requires_grad=True)
        centers = torch.rand(4, 3)
        distances = torch.cdist(points, centers)
        assert torch.allclose(distances.cpu(), torch.cdist(points.detach().cpu(), centers))
        distances.sum().backward()
        assert points.grad is not None
        with pytest.raises(RuntimeError, match="X2 must have the same number of columns"):
            torch.cdist(points, centers[:, :2])
    assert "operands of aten::cdist are on cuda:0 and cpu" in told(capsys)


def test_what_is_written_stays_where_it_is(capsys):
    with devsan.emulate(gpus=2, policy="warn"):
        host, gpu = torch.zeros(3), torch.ones(3, device="cuda:1")
        host.mul_(2).add_(gpu)
        assert host.tolist() == [1, 1, 1] and host.device.type == "cpu"
        out = torch.empty(3, device="cuda:0")
        torch.add(gpu, gpu, out=out)
        assert out.tolist() == [2, 2, 2] and out.device == torch.device("cuda:0")
        listed = torch.cat([gpu, out, host])
        assert listed.tolist() == [1, 1, 1, 2, 2, 2, 1, 1, 1] and listed.device == gpu.device
        table = torch.arange(6.0, device="cuda:0").view(3, 2)
        assert table[torch.tensor([2], device="cuda:1")].tolist() == [[4, 5]]
    assert "at 4 places" in told(capsys)


def test_what_torch_allows_is_not_told(capsys):
    with devsan.emulate(gpus=2, policy="warn"):
        gpu = torch.ones(3, device="cuda:1")
        assert (gpu * torch.tensor(2.0)).tolist() == [2, 2, 2]
        gpu.copy_(torch.zeros(3))
        assert gpu[torch.tensor([0])].tolist() == [0]
    assert told(capsys) == ""


def test_what_torch_asks_of_operands_is_not_told(capsys):
    # ctc_loss asks whether cuDNN has a loss for these; targets and lengths may be on the host (native_functions.yaml).
    with devsan.emulate(gpus=1, policy="warn"):
        log_probs = torch.rand(9, 2, 4, device="cuda:0").log_softmax(-1)
        lengths = [torch.tensor([9, 9]), torch.tensor([3, 3])]
        assert torch.nn.functional.ctc_loss(log_probs, torch.randint(1, 4, (2, 3)), *lengths).is_cuda
        torch.equal(torch.ones(2, device="cuda:0"), torch.ones(2))  # which compares numbers
    err = told(capsys)
    assert "ctc" not in err and "aten::equal" in err


def test_another_error_is_the_programs_own(capsys):
    with devsan.emulate(gpus=2, policy="warn"):
        with pytest.raises(RuntimeError, match=r"size of tensor a"):
            torch.ones(3, device="cuda:0") + torch.ones(4, device="cuda:0")
        with pytest.raises(RuntimeError, match="size of tensor a"):
            torch.ones(3, device="cuda:0") + torch.ones(4, device="cuda:1")
    assert told(capsys) == ""


def test_afterwards_the_first_mismatch_ends_it_again():
    with devsan.emulate(gpus=2, policy="warn"):
        pass
    with devsan.emulate(gpus=2), pytest.raises(RuntimeError, match="cuda:0 and cuda:1"):
        torch.ones(3, device="cuda:0") + torch.ones(3, device="cuda:1")


def test_threads_that_the_program_starts_go_on_too(capsys):
    class Own(threading.Thread):
        def run(self) -> None:
            results.append(torch.ones(2, device="cuda:1") + torch.ones(2, device="cuda:0"))

    results: list[torch.Tensor] = []
    with devsan.emulate(gpus=2, policy="warn"):
        threads = [Own(), threading.Thread(target=Own.run, args=(None,))]
        for thread in threads:
            thread.start()
            thread.join()
    assert [result.tolist() for result in results] == [[2, 2], [2, 2]]
    assert "at 1 place with 1 cause" in told(capsys)
    assert threading.Thread.start.__module__ == "threading"


def test_replicas_go_on(capsys):
    class Biased(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = torch.ones(4, device="cuda:0")

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + self.table

    with devsan.emulate(gpus=2, policy="warn"):
        result = torch.nn.DataParallel(Biased(), [0, 1])(torch.ones(4, 4, device="cuda:0"))
        assert result.tolist() == [[2.0] * 4] * 4
    assert "1 place" in told(capsys)


def test_a_backward_pass_that_meets_other_devices_first_goes_on(capsys):
    # The gradient stays on the CPU, where the weight was when the graph was made: AccumulateGrad's own sum is mixed.
    with devsan.emulate(gpus=1, policy="warn"):
        weight = torch.nn.Parameter(torch.ones(3))
        product = weight.view(3) * 2
        weight.data = weight.data.to("cuda:0")
        weight.grad = torch.ones(3, device="cuda:0")
        product.to("cuda:0").sum().backward()
        assert weight.grad.tolist() == [3, 3, 3]
    assert "could not be explained" not in told(capsys)


def test_recurrent_layers_and_attention_go_on(capsys):
    with devsan.emulate(gpus=2, policy="warn"):
        torch.manual_seed(0)
        layer = torch.nn.GRU(2, 3).to("cuda:0")
        out, _ = layer(torch.ones(1, 1, 2, device="cuda:0"), torch.zeros(1, 1, 3))
        same, _ = layer(torch.ones(1, 1, 2, device="cuda:0"), torch.zeros(1, 1, 3, device="cuda:0"))
        assert torch.equal(out, same)
        query = torch.rand(1, 1, 2, 4, device="cuda:0")
        mask = torch.zeros(2, 2, device="cuda:1")
        attended = torch.nn.functional.scaled_dot_product_attention(query, query, query, mask)
        assert torch.allclose(attended, torch.nn.functional.scaled_dot_product_attention(query, query, query))
    err = told(capsys)
    assert "at 2 places" in err and "aten::gru" in err


def run(tmp_path: Path, *options: str) -> subprocess.CompletedProcess[str]:
    (tmp_path / "train.py").write_text(PROGRAM, encoding="utf-8")
    return programs.run(
        ["-m", "devsan", "run", "-q", "--gpus", "2", "--policy", "warn", *options, "train.py"], cwd=tmp_path
    )


def test_a_run_tells_each_place_once_and_all_at_the_end(tmp_path):
    done = run(tmp_path)
    assert (done.returncode, done.stdout) == (0, "done cuda:1\n")
    assert done.stderr.count("warning[") == 1
    assert done.stderr.endswith(
        "devsan: the program continued after mismatches at 1 place with 1 cause (policy=warn); "
        "on a real GPU it ends at the first\n"
        "  DV102 fresh-tensor\n"
        "    train.py:6:13  operands of aten::add are on cuda:1 and cuda:0, 3 times\n"
    )


def test_a_silent_run_tells_nothing(tmp_path):
    done = run(tmp_path, "--format", "off")
    assert (done.returncode, done.stdout, done.stderr) == (0, "done cuda:1\n", "")


def test_a_run_file_has_the_places(tmp_path):
    from devsan.run_files.reader import read_run

    assert run(tmp_path, "-o", "run.dvs").returncode == 0
    findings = read_run(str(tmp_path / "run.dvs"))["findings"]
    assert [finding["code"] for finding in findings] == ["DV102"]


@pytest.mark.parametrize(
    ("texts", "sentence"),
    [
        ({"policy": "wrn"}, "expected policy to be stop or warn, got 'wrn'; did you mean 'warn'?"),
        ({"gpus": "real", "policy": "warn"}, "expected gpus=real without policy, which is for emulated GPUs, got both"),
    ],
)
def test_what_cannot_be(texts, sentence):
    with pytest.raises(UsageError) as caught:
        Options().updated(texts).devices()
    assert str(caught.value) == sentence
