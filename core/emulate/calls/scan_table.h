#pragma once

#include <cstddef>

#include <c10/core/ScalarType.h>

namespace devsan::emulate {

/// What cub::DeviceScan takes for a scan of `count` numbers of `type` (cub/device/dispatch/tuning/tuning_scan.cuh of CCCL
/// 3.0, DefaultPolicy: torch's operators are not among those that are tuned): a word for each tile, and for a warp more.
[[nodiscard]] std::size_t scan_table(std::size_t count, c10::ScalarType type);

}  // namespace devsan::emulate
