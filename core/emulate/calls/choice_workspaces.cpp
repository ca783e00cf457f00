#include "emulate/calls/workspace_rows.h"

#include <algorithm>
#include <array>

#include <ATen/ceil_div.h>

#include "emulate/calls/reduction_buffers.h"
#include "emulate/runtime/device.h"

namespace devsan::emulate {
namespace {

/// aten/src/ATen/native/cuda/TensorTopK.cu, should_use_multiblock: whether several blocks of threads share a row.
bool shares_rows(std::size_t rows, std::size_t length) {
  struct Least {
    std::size_t rows;
    std::size_t length;
  };
  constexpr auto kLeast =
      std::to_array<Least>({{20, 20000}, {40, 10000}, {80, 8000}, {199, 5000}, {799, 3000}, {4000, 800}});
  constexpr std::size_t kManyRows = 400;
  for (const Least& least : kLeast) {
    if (rows <= least.rows) return length >= least.length;
  }
  return length >= kManyRows;
}

/// The same file, mbtopk::launch: for each row its candidate and the digits seen so far; for each block of threads a count
/// of every digit, and of what it keeps, which cub adds up by rows.
std::size_t shared_rows(const at::Tensor& self, std::size_t rows, std::size_t length) {
  constexpr std::size_t kThreads = 256;
  constexpr std::size_t kRegisters = 40 * kThreads;
  constexpr std::size_t kDigits = 256;
  constexpr std::size_t kWord = sizeof(std::uint32_t);
  const model::DeviceSpec& gpu = device(self.device().index()).spec;
  const auto processors = static_cast<std::size_t>(gpu.multi_processor_count);
  const std::size_t resident = static_cast<std::size_t>(gpu.regs_per_multiprocessor) / kRegisters;
  const std::size_t items = std::clamp<std::size_t>(
      at::ceil_div(rows * length, std::max<std::size_t>(processors * resident * kThreads, 1)), 4, 64);
  const std::size_t blocks = rows * at::ceil_div(length, items * kThreads);
  const std::size_t digits = rounded(2 * rows * self.itemsize()) + rounded(rows * kDigits * kWord);
  const std::size_t counts = rounded(blocks * kDigits * sizeof(std::int16_t)) + 2 * rounded(blocks * kWord);
  // cub/device/dispatch/dispatch_scan_by_key.cuh of CCCL 3.0: for each tile a word of 16 bytes, and the key before it.
  constexpr std::size_t kTile = 256 * 9;
  constexpr std::size_t kAlignment = 256;
  const std::size_t tiles = at::ceil_div(blocks, kTile);
  const std::size_t sums = at::round_up((tiles + 32) * 16, kAlignment) + at::round_up(tiles * kWord, kAlignment);
  return rounded(rows * self.itemsize()) + rounded(2 * rows * kWord) + digits + counts + rounded(sums + kAlignment - 1);
}

/// TensorTopK.cpp: what was found is sorted where it is, up to 4096 of a row; beyond, as by sort.
std::size_t largest(const at::Tensor& self, std::size_t found, std::size_t length, bool sorted) {
  constexpr std::size_t kInPlace = 4096;
  const std::size_t count = count_of(self);
  if (!self.is_cuda() || count == 0 || length == 0) return 0;
  const std::size_t rows = count / length;
  const std::size_t copy = self.is_contiguous() ? 0 : rounded(count * self.itemsize());
  const std::size_t search = copy + (shares_rows(rows, length) ? shared_rows(self, rows, length) : 0);
  if (!sorted || found <= kInPlace) return search;
  const std::size_t results = rows * found;
  return std::max(search, results * (kLongBytes + self.itemsize()) +
                              std::max(sorted_rows(self, results, found), results * kLongBytes));
}

std::size_t topk(Workspace::Arguments arguments) {
  const at::Tensor& self = arguments[0].toTensor();
  const auto length = static_cast<std::size_t>(self.dim() == 0 ? 1 : self.size(arguments[2].toInt()));
  const std::int64_t found = std::max<std::int64_t>(arguments[1].toInt(), 0);
  return largest(self, static_cast<std::size_t>(found), length, arguments[4].toBool());
}

/// aten/src/ATen/native/Distributions.cpp, multinomial_out: each probability is divided by a random number, beside two
/// flags; the largest are drawn. With replacement, cuda/MultinomialKernel.cu: a copy, its shares, and their sums.
std::size_t multinomial(Workspace::Arguments arguments) {
  const at::Tensor& self = arguments[0].toTensor();
  const std::int64_t drawn = arguments[1].toInt();
  const std::size_t numbers = rounded(count_of(self) * self.itemsize());
  if (self.numel() == 0 || self.dim() == 0 || drawn < 1) return 0;
  if (arguments[2].toBool() && drawn > 1) return 3 * numbers;
  const std::size_t flags = 2 * rounded(1);
  if (drawn == 1) return numbers + flags + reduction_buffers(self, at::IntArrayRef{-1}, 2 * kLongBytes);
  const auto length = static_cast<std::size_t>(self.size(-1));
  const auto found = static_cast<std::size_t>(drawn);
  return numbers + flags + rounded(count_of(self) / length * found * self.itemsize()) +
         largest(self, found, length, /*sorted=*/true);
}

}  // namespace

c10::ArrayRef<WorkspaceRow> choice_workspaces() {
  static constexpr auto kRows = std::to_array<WorkspaceRow>({
      {"aten::topk", &topk},
      {"aten::topk.values", &topk},
      {"aten::multinomial", &multinomial},
      {"aten::multinomial.out", &multinomial},
  });
  return kRows;
}

}  // namespace devsan::emulate
