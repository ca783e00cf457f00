#pragma once

#include <algorithm>
#include <cstdint>

namespace devsan::memory {

/// The bytes that the CUDA context of a process (kernels' code, the runtime's own buffers) takes of a GPU of
/// `total_bytes`: 300 MiB to 500 MiB is what nvidia-smi shows for an idle torch process on A100 and H100. A very small
/// GPU is a test's; the context must not take all of it.
constexpr std::uint64_t context_bytes(std::uint64_t total_bytes) {
  return std::min<std::uint64_t>(450ULL << 20, total_bytes / 50);
}

}  // namespace devsan::memory
