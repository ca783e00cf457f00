#include "emulate/operators/attention/attention_memory.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <ATen/Context.h>

#include "emulate/runtime/device.h"
#include "emulate/runtime/kernel_memory.h"

namespace devsan::emulate {
namespace {

constexpr std::int64_t kFloat = sizeof(float);

std::int64_t ceil_div(std::int64_t number, std::int64_t step) { return (number + step - 1) / step; }
std::int64_t align_up(std::int64_t number, std::int64_t step) { return ceil_div(number, step) * step; }

/// The sizes that flash attention's kernels know; several sequences lie in one tensor of [positions, heads, width].
struct Sizes {
  explicit Sizes(const at::Tensor& query)
      : batch(query.dim() == 4 ? query.size(0) : 1),
        queries(query.size(-3)),
        heads(query.size(-2)),
        width(query.size(-1)) {}

  /// head_size_rounded of flash_api.cpp.
  [[nodiscard]] std::int64_t rounded_width() const { return align_up(width, width <= 128 ? 32 : 64); }

  std::int64_t batch;
  std::int64_t queries;
  std::int64_t heads;
  std::int64_t width;
};

std::int64_t bytes_of(const at::Tensor& tensor) {
  return tensor.numel() * static_cast<std::int64_t>(tensor.itemsize());
}

void take_scratch(KernelMemory& memory, std::int64_t bytes) {
  if (bytes > 0) memory.scratch(static_cast<std::size_t>(bytes));
}

void take_result(KernelMemory& memory, std::int64_t bytes) {
  if (bytes > 0) memory.result(static_cast<std::size_t>(bytes));
}

void take_gradients(KernelMemory& memory, std::initializer_list<const at::Tensor*> operands) {
  for (const at::Tensor* operand : operands) take_result(memory, bytes_of(*operand));
}

/// A kernel that is given operands of the host, which CUDA does not look at, runs on the current GPU.
const model::DeviceSpec& gpu_of(const at::Tensor& tensor) {
  return device(tensor.device().has_index() ? tensor.device().index() : current_device()).spec;
}

/// num_splits_heuristic of flash_api.cpp: the fewest splits that fill the processors nearly as well as any number does.
std::int64_t choose_splits(std::int64_t blocks, std::int64_t processors, std::int64_t key_blocks) {
  constexpr std::int64_t kMost = 128;
  constexpr double kNearlyFull = 0.8;
  constexpr double kNearlyBest = 0.85;
  if (static_cast<double>(blocks) >= kNearlyFull * static_cast<double>(processors)) return 1;
  const std::int64_t most = std::min({kMost, processors, key_blocks});
  const auto efficiency = [&](std::int64_t splits) {
    if (splits > 1 && ceil_div(key_blocks, splits) == ceil_div(key_blocks, splits - 1)) return 0.0;
    const double waves = static_cast<double>(blocks * splits) / static_cast<double>(processors);
    return waves / std::ceil(waves);
  };
  double best = 0.0;
  for (std::int64_t splits = 1; splits <= most; ++splits) best = std::max(best, efficiency(splits));
  for (std::int64_t splits = 1; splits <= most; ++splits) {
    const double reached = efficiency(splits);
    if (reached > 0.0 && reached >= kNearlyBest * best) return splits;
  }
  return 1;
}

/// One of the kernels of mem_eff_attention/kernels/cutlassB.h: its tile, and the width that it is made for.
struct BackwardTile {
  std::int64_t queries;
  std::int64_t keys;
  std::int64_t widest;
  bool keeps_gradients;  ///< those of keys and values in registers (kOutputInRF)
};

/// What dispatch_cutlassB takes first. The tile of 128 x 128 needs more shared memory than GPUs of 8.6 and 8.9 have.
BackwardTile tile_for(const model::DeviceSpec& gpu, std::int64_t width, bool is_half, bool drops) {
  const bool is_new = gpu.major >= 8;
  const bool is_small = gpu.major * 10 + gpu.minor == 86 || gpu.major * 10 + gpu.minor == 89;
  if (width <= 64) return {64, 64, 64, is_half};
  if (is_half && is_small && width <= 96 && !drops) return {128, 64, 96, true};
  if (is_half && is_new && !is_small && gpu.major < 12 && width <= 128) return {128, 128, 128, true};
  if (is_half && width <= 128) return {64, 64, 128, false};
  return {is_new && !is_small ? 128 : 64, 64, 65536, false};
}

std::int64_t workspace_of(const BackwardTile& tile, const Sizes& sizes, std::int64_t keys, std::int64_t value_width,
                          bool is_half) {
  constexpr std::int64_t kHead = 256;  // GradQTempStorage: what is before a tile, as it was measured on an H100
  constexpr std::int64_t kAligned = 16;
  const std::int64_t tiles = ceil_div(sizes.queries, tile.queries) * ceil_div(sizes.width, tile.keys);
  std::int64_t bytes = tiles * (kHead + tile.queries * tile.keys * kFloat);
  if (is_half && !tile.keeps_gradients) {
    const std::int64_t parallel = sizes.batch * sizes.heads;
    std::int64_t splits = ceil_div(keys, tile.keys);
    if (parallel >= 256 && keys <= 2 * tile.keys) splits = 1;
    splits = std::max<std::int64_t>(1, std::min(splits, 200 / parallel));
    if (at::globalContext().deterministicAlgorithms()) splits = 1;
    bytes += splits * tile.keys * (align_up(sizes.width, tile.queries) + align_up(value_width, tile.queries)) * kFloat;
  }
  return sizes.batch * sizes.heads * align_up(bytes, kAligned);
}

}  // namespace

void take_flash_forward(const at::Tensor& query, const at::Tensor& key, double dropout) {
  KernelMemory* memory = KernelMemory::current();
  if (memory == nullptr) return;
  const Sizes sizes(query);
  const std::int64_t rows = sizes.batch * sizes.heads * sizes.queries;
  take_result(*memory, bytes_of(query));
  take_result(*memory, rows * kFloat);
  if (dropout == 0.0 && query.dim() == 4) {
    const std::int64_t key_blocks = ceil_div(key.size(1), sizes.width <= 64 ? 256 : (sizes.width <= 128 ? 128 : 64));
    const std::int64_t blocks = sizes.batch * sizes.heads * ceil_div(sizes.queries, 64);
    const std::int64_t splits = choose_splits(blocks, 2 * gpu_of(query).multi_processor_count, key_blocks);
    if (splits > 1) {
      take_scratch(*memory, splits * rows * kFloat);
      take_scratch(*memory, splits * rows * sizes.rounded_width() * kFloat);
    }
  }
}

void take_flash_backward(const at::Tensor& grad, const at::Tensor& query, const at::Tensor& key,
                         const at::Tensor& value) {
  KernelMemory* memory = KernelMemory::current();
  if (memory == nullptr) return;
  const Sizes sizes(query);
  constexpr std::int64_t kBlock = 128;
  // Several sequences: flash_api.cpp, mha_varlen_bwd.
  const std::int64_t queries = query.dim() == 4 ? align_up(sizes.queries, kBlock) : sizes.queries + kBlock;
  if (!grad.is_contiguous()) take_scratch(*memory, bytes_of(grad));
  take_gradients(*memory, {&query, &key, &value});
  take_scratch(*memory, sizes.batch * sizes.heads * queries * kFloat);
  std::int64_t accumulated = sizes.batch * queries * sizes.heads * sizes.rounded_width() * kFloat;
  if (at::globalContext().deterministicAlgorithms()) {
    accumulated *= ceil_div(gpu_of(query).multi_processor_count, sizes.batch * sizes.heads);
  }
  take_scratch(*memory, accumulated);
  if (key.size(-2) != sizes.heads) {
    for (const at::Tensor* shared : {&key, &value}) {
      take_scratch(*memory, bytes_of(*shared) / shared->size(-2) * sizes.heads);
    }
  }
}

void take_efficient_forward(const at::Tensor& query, const at::Tensor& value, bool wants_logsumexp) {
  KernelMemory* memory = KernelMemory::current();
  if (memory == nullptr) return;
  const Sizes sizes(query);
  const std::int64_t outputs = sizes.batch * sizes.queries * sizes.heads * value.size(-1);
  take_result(*memory, outputs * static_cast<std::int64_t>(query.itemsize()));
  if (wants_logsumexp) take_result(*memory, sizes.batch * sizes.heads * align_up(sizes.queries, 32) * kFloat);
  constexpr std::int64_t kWidestTile = 128;
  if (query.scalar_type() != at::kFloat && std::max(sizes.width, value.size(-1)) > kWidestTile) {
    take_scratch(*memory, outputs * kFloat);
  }
}

void take_efficient_backward(const at::Tensor& grad, const at::Tensor& query, const at::Tensor& key,
                             const at::Tensor& value, std::size_t bias_grad, double dropout) {
  KernelMemory* memory = KernelMemory::current();
  if (memory == nullptr) return;
  const Sizes sizes(query);
  const bool is_half = query.scalar_type() != at::kFloat;
  const BackwardTile tile =
      tile_for(gpu_of(query), std::max(sizes.width, value.size(-1)), is_half, /*drops=*/dropout > 0);
  if (!grad.is_contiguous()) take_scratch(*memory, bytes_of(grad));
  take_gradients(*memory, {&query, &key, &value});
  take_result(*memory, static_cast<std::int64_t>(bias_grad));
  const std::int64_t sums = sizes.batch * sizes.heads * sizes.queries * kFloat;
  const bool sums_itself = is_half && (tile.keeps_gradients || gpu_of(query).major * 10 + gpu_of(query).minor != 70);
  if (!sums_itself) {
    // The kernels of float32 are given the sums, by a product of output and gradient that is freed before they run.
    const std::int64_t product = grad.numel() * kFloat;
    memory->for_a_moment({static_cast<std::size_t>(product), static_cast<std::size_t>(sums)});
  }
  take_scratch(*memory, sums);
  take_scratch(*memory, workspace_of(tile, sizes, key.size(1), value.size(-1), is_half));
}

void take_cudnn_forward(const at::Tensor& query, const at::Tensor& value) {
  KernelMemory* memory = KernelMemory::current();
  if (memory == nullptr) return;
  const std::int64_t rows = query.size(0) * query.size(1) * query.size(2);
  take_result(*memory, rows * value.size(-1) * static_cast<std::int64_t>(query.itemsize()));
  take_result(*memory, rows * kFloat);
}

void take_cudnn_backward(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value) {
  KernelMemory* memory = KernelMemory::current();
  if (memory == nullptr) return;
  take_gradients(*memory, {&query, &key, &value});
  take_scratch(*memory, query.numel() * kFloat);
  take_scratch(*memory, query.size(0) * query.size(1) * query.size(2) * kFloat);
}

}  // namespace devsan::emulate
