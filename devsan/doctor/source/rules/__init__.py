"""The rules, a file each: what it does, why that is bad, an example, what to use instead, and how safe its edit is."""

from collections.abc import Callable, Iterator

from devsan.doctor.findings import Finding
from devsan.doctor.source.program import Program
from devsan.doctor.source.rules.adapter_beside import judge_adapter_beside
from devsan.doctor.source.rules.bare_gpu_in_ranks import judge_bare_gpu_in_ranks
from devsan.doctor.source.rules.copied_before_move import judge_copied_before_move
from devsan.doctor.source.rules.current_device import judge_current_device
from devsan.doctor.source.rules.default_device import judge_default_device
from devsan.doctor.source.rules.device_beside_map import judge_device_beside_map
from devsan.doctor.source.rules.device_value import judge_device_value
from devsan.doctor.source.rules.fresh_tensor import judge_fresh_tensor
from devsan.doctor.source.rules.generation_state import judge_generation_state
from devsan.doctor.source.rules.generator import judge_generator
from devsan.doctor.source.rules.host_boundary import judge_host_boundary
from devsan.doctor.source.rules.late_visible_devices import judge_late_visible_devices
from devsan.doctor.source.rules.load_without_map import judge_load_without_map
from devsan.doctor.source.rules.map_gap import judge_map_gap
from devsan.doctor.source.rules.map_in_ranks import judge_map_in_ranks
from devsan.doctor.source.rules.map_without_rotary import judge_map_without_rotary
from devsan.doctor.source.rules.moved_after_dispatch import judge_moved_after_dispatch
from devsan.doctor.source.rules.optimizer_before_move import judge_optimizer_before_move
from devsan.doctor.source.rules.plain_attribute import judge_plain_attribute
from devsan.doctor.source.rules.running_total import judge_running_total
from devsan.doctor.source.rules.shared_gpu import judge_shared_gpu
from devsan.doctor.source.rules.split_block import judge_split_block
from devsan.doctor.source.rules.stale_cache import judge_stale_cache
from devsan.doctor.source.rules.wrapped_placed_model import judge_wrapped_placed_model

# ``edits`` is whether the mechanical repairs are wanted.
RULES: tuple[Callable[[Program, bool], Iterator[Finding]], ...] = (
    judge_device_value, judge_fresh_tensor, judge_host_boundary, judge_map_gap, judge_plain_attribute,
    judge_optimizer_before_move, judge_copied_before_move, judge_generator, judge_default_device,
    judge_current_device, judge_bare_gpu_in_ranks, judge_load_without_map, judge_moved_after_dispatch,
    judge_wrapped_placed_model, judge_map_in_ranks, judge_shared_gpu, judge_late_visible_devices,
    judge_stale_cache, judge_generation_state, judge_split_block, judge_running_total, judge_device_beside_map,
    judge_map_without_rotary, judge_adapter_beside,
)  # fmt: skip
