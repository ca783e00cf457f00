#pragma once

#include <cstdint>
#include <string>

#include <c10/core/Device.h>

namespace devsan::collectives {

/// Who a rank is: what NCCL's ranks tell each other when they meet (ncclPeerInfo of NCCL's src/init.cc).
struct Identity {
  std::string machine;      ///< the same for processes of one machine
  std::int64_t bus_id = 0;  ///< of its GPU: domain, bus and device of PCI
  std::int64_t process = 0;
  int ordinal = 0;              ///< of its GPU in the process
  int board = -1;               ///< descriptor of the communicator's board in the process, where it has made it
  std::uint64_t board_key = 0;  ///< that stands on it
};

/// Of this process, with its GPU `device`.
Identity own_identity(c10::Device device);

std::string to_text(const Identity& identity);
/// Raises RuntimeError for a text that `to_text` did not write.
Identity identity_from_text(const std::string& text);

/// Whether the process was on this machine and has ended since: it is gone, or nobody has waited for it yet.
bool has_ended(const Identity& identity);

}  // namespace devsan::collectives
