#pragma once

#include <cstdint>

namespace devsan::memory {

/// A process in one number: its id in the upper half, in the lower one when it started (ticks since the machine did, as
/// /proc/<pid>/stat has it), so that a later process under the same id is another. Never 0 or 1.
using ProcessIdentity = std::uint64_t;

[[nodiscard]] ProcessIdentity own_identity() noexcept;

[[nodiscard]] inline std::uint32_t process_id_of(ProcessIdentity identity) noexcept {
  return static_cast<std::uint32_t>(identity >> 32);
}

/// Whether that process still runs. One that has ended and was not waited for yet (a zombie) does not.
[[nodiscard]] bool is_alive(ProcessIdentity identity) noexcept;

/// What one process holds of a GPU, as NVML lists it.
struct ProcessUse {
  std::uint32_t process_id = 0;
  std::uint64_t bytes = 0;  ///< with its CUDA context
  bool is_self = false;     ///< it is the process that asks
};

}  // namespace devsan::memory
