"""What is not emulated says so in one sentence; what asks for it gets an answer."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

pytestmark = pytest.mark.usefixtures("four_gpus")


@pytest.mark.parametrize(
    ("call", "subject"),
    [
        (lambda: torch.cuda.CUDAGraph(), "CUDA graphs are"),
        (lambda: torch.cuda.make_graphed_callables(torch.nn.Linear(2, 2).cuda(), (torch.ones(1, 2).cuda(),)), "CUDA"),
        (lambda: torch.cuda.MemPool(), "memory pools are"),
        (lambda: torch.cuda.tunable.enable(), "TunableOp is"),
        (
            lambda: torch.cuda.jiterator._create_jit_fn("template <typename T> T f(T x) { return x; }")(
                torch.ones(1, device="cuda")
            ),
            "the jiterator is",
        ),
        (lambda: torch.cuda._compile_kernel("__global__ void f() {}", "f"), "NVRTC is"),
        (lambda: torch.cuda.nccl.init_rank(2, torch.cuda.nccl.unique_id(), 0), "communicators of torch.cuda.nccl are"),
        (lambda: torch.cuda.memory._get_current_allocator(), "pluggable allocators are"),
        (lambda: torch.cuda.Event(interprocess=True).ipc_handle(), "events shared between processes are"),
    ],
)
def test_one_sentence(call: Callable[[], object], subject: str) -> None:
    with pytest.raises(NotImplementedError, match=rf"^devsan: {subject}.* not emulated; see docs/limits\.md$"):
        call()


def test_questions_are_answered() -> None:
    assert not torch.cuda.is_current_stream_capturing()
    assert not torch.cuda.tunable.is_enabled()
    assert not torch.cuda.tunable.tuning_is_enabled()
    assert torch.cuda.tunable.get_results() == ()
    assert torch.cuda.graph_pool_handle() != torch.cuda.graph_pool_handle()


def test_no_name_of_torch_cuda_is_missing() -> None:
    """Every name of torch._C that torch.cuda's Python files use is there: provided, refused, or in this build."""
    folder = Path(torch.cuda.__file__).parent
    text = "\n".join(path.read_text(encoding="utf-8") for path in folder.glob("*.py"))
    used = set(re.findall(r"torch\._C\.(_cuda_\w+|_Cuda\w+|_cudart)", text))
    assert len(used) > 60
    assert {name for name in used if not hasattr(torch._C, name)} == set()


def test_a_recurrent_network_does_not_warn_of_missing_cudnn(recwarn: pytest.WarningsRecorder) -> None:
    network = torch.nn.LSTM(2, 3).cuda(1)
    assert network(torch.ones(4, 1, 2, device="cuda:1"))[0].device == torch.device("cuda:1")
    assert [str(warning.message) for warning in recwarn] == []


# torch asks for it with hasattr, and has a sentence of its own where it is missing.
_LACKING = {"_CUDAGreenContext"}


def test_torch_finds_every_name_that_its_files_about_cuda_mention() -> None:
    root = Path(torch.__file__).parent
    mentioned: dict[str, str] = {}
    for folder in ("cuda", "nn/parallel", "backends", "distributed", "multiprocessing", "sparse"):
        for file in (root / folder).rglob("*.py"):
            for name in re.findall(r"\btorch\._C\.(\w+)", file.read_text(encoding="utf-8")):
                if folder in ("cuda", "nn/parallel") or re.search("cuda|nccl|cudnn|cublas|cusparse", name):
                    mentioned.setdefault(name, str(file.relative_to(root)))
    assert len(mentioned) > 100
    assert {name: file for name, file in mentioned.items() if not hasattr(torch._C, name)}.keys() <= _LACKING


@pytest.mark.parametrize(
    "call, operator",
    [
        (lambda x: torch.ops.mkldnn._linear_pointwise(x, x, None, "none", [], ""), "mkldnn::_linear_pointwise"),
        (lambda x: x.to_mkldnn(), "aten::to_mkldnn"),
        (lambda x: torch.ops.quantized.linear_dynamic(x, packed_weight()), "quantized::linear_dynamic"),
    ],
)
def test_libraries_of_the_cpu_have_no_kernel_on_cuda(call: Callable[[torch.Tensor], object], operator: str) -> None:
    words = rf"^Could not run '{operator}' with arguments from the 'CUDA' backend\."
    with pytest.raises(NotImplementedError, match=words):
        call(torch.ones(2, 2, device="cuda:1"))


def test_a_packed_table_is_unpacked_on_cuda() -> None:
    table = torch.arange(8.0).view(2, 4)
    packed = torch.ops.quantized.embedding_bag_byte_prepack(table)
    unpacked = torch.ops.quantized.embedding_bag_byte_unpack(packed.to("cuda:1"))
    assert unpacked.device == torch.device("cuda:1")
    torch.testing.assert_close(unpacked.cpu(), table, atol=0.02, rtol=0)


def packed_weight() -> object:
    return torch.ops.quantized.linear_prepack(torch.quantize_per_tensor(torch.ones(2, 2), 0.1, 0, torch.qint8), None)
