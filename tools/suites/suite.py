"""The suites: whose tests they are, where their files lie, and what they need to be run."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

KNOWN = Path(__file__).parent / "known"


class Suite(NamedTuple):
    """The tests of one package."""

    name: str  # also that of the package that pip lists, unless `package` says otherwise
    tests: str  # the folder of the tests in a checkout
    files: tuple[str, ...]  # relative to `tests`; what `make suites` runs
    package: str = ""
    path: str = ""  # the folder of a checkout that the tests import from
    match: str = ""  # a regular expression of the tests' names: the others need no device
    archived: bool = True  # the source archive on PyPI has the tests
    options: tuple[str, ...] = ()  # of pytest
    device_in_name: bool = False  # names tell the device: test_add_cuda is test_add_cpu on the CPU

    @property
    def distribution(self) -> str:
        return self.package or self.name


ACCELERATE = Suite(
    "accelerate",
    "tests",
    (
        "test_accelerator.py",
        "test_activation_checkpointing_offload.py",
        "test_big_modeling.py",
        "test_data_loader.py",
        "test_dataclasses.py",
        "test_grad_sync.py",
        "test_hooks.py",
        "test_kwargs_handlers.py",
        "test_load_checkpoint_and_dispatch_with_broadcast.py",
        "test_logging.py",
        "test_memory_utils.py",
        "test_modeling_utils.py",
        "test_multidevice.py",
        "test_offload.py",
        "test_optimizer.py",
        "test_scheduler.py",
        "test_state_checkpointing.py",
        "test_utils.py",
    ),
)

PEFT = Suite(
    "peft",
    "tests",
    (
        "test_adaption_prompt.py",
        "test_bufferdict.py",
        "test_config.py",
        "test_custom_models.py",
        "test_incremental_pca.py",
        "test_initialization.py",
        "test_integrations.py",
        "test_lora_variants.py",
        "test_loraplus.py",
        "test_low_level_api.py",
        "test_mapping.py",
        "test_mixed.py",
        "test_osf.py",
        "test_other.py",
        "test_randlora.py",
        "test_trainable_tokens.py",
        "test_tuners_utils.py",
        "test_vblora.py",
        "test_vera.py",
        "test_xlora.py",
        "test_common_gpu.py",
        "test_gpu_examples.py",
    ),
)

LIGHTNING = Suite(
    "lightning",
    "tests",
    (
        "tests_fabric/accelerators/test_cuda.py",
        "tests_fabric/plugins/precision/test_amp.py",
        "tests_fabric/plugins/precision/test_amp_integration.py",
        "tests_fabric/plugins/precision/test_half.py",
        "tests_fabric/strategies/test_ddp.py",
        "tests_fabric/strategies/test_dp.py",
        "tests_fabric/strategies/test_fsdp.py",
        "tests_fabric/strategies/test_single_device.py",
        "tests_fabric/utilities/test_device_parser.py",
        "tests_fabric/utilities/test_distributed.py",
        "tests_fabric/utilities/test_throughput.py",
        "tests_fabric/test_fabric.py",
        "tests_pytorch/accelerators/test_gpu.py",
        "tests_pytorch/models/test_gpu.py",
        "tests_pytorch/plugins/precision/test_amp.py",
        "tests_pytorch/plugins/precision/test_half.py",
        "tests_pytorch/strategies/test_ddp.py",
        "tests_pytorch/strategies/test_ddp_integration.py",
        "tests_pytorch/strategies/test_fsdp.py",
        "tests_pytorch/strategies/test_single_device.py",
    ),
    package="pytorch-lightning",
    path="tests",
    archived=False,
)

TORCH = Suite(
    "torch",
    "test",
    (
        "test_view_ops.py",
        "test_indexing.py",
        "test_shape_ops.py",
        "test_torch.py",
        "test_tensor_creation_ops.py",
        "test_type_promotion.py",
        "test_scatter_gather_ops.py",
        "test_sort_and_select.py",
        "test_nn.py",
        "test_autograd.py",
        "test_cuda.py",
        "test_cuda_multigpu.py",
        "test_optim.py",
        "test_spectral_ops.py",
        "test_segment_reductions.py",
        "test_dataloader.py",
        "test_serialization.py",
        "test_namedtensor.py",
        "test_foreach.py",
        "test_sparse.py",
        "test_sparse_csr.py",
        "test_nestedtensor.py",
        "test_linalg.py",
        "test_transformers.py",
        "test_reductions.py",
        "test_unary_ufuncs.py",
        "test_binary_ufuncs.py",
        "test_multiprocessing.py",
        "nn/test_convolution.py",
        "nn/test_pooling.py",
        "nn/test_embedding.py",
        "nn/test_multihead_attention.py",
        "nn/test_dropout.py",
        "nn/test_parametrization.py",
    ),
    match="(?i)cuda|gpu",
    path="test",
    archived=False,
    options=("--noconftest",),  # its conftest.py shards and reports for PyTorch's own CI, on another pytest
    device_in_name=True,
)

SUITES = {suite.name: suite for suite in (ACCELERATE, PEFT, LIGHTNING, TORCH)}
