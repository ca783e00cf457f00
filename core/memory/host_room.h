#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace devsan::memory {

/// What bounds the memory that a process may take of its machine.
enum class HostLimit { kMachine, kCgroup, kAddressSpace };

/// "the machine", "its cgroup" or "ulimit -v".
[[nodiscard]] std::string_view name(HostLimit limit) noexcept;

/// The room in the machine's memory, in bytes; swap does not count.
struct HostRoom {
  HostLimit by = HostLimit::kMachine;  ///< the bound that leaves least
  std::uint64_t total = 0;             ///< 0: nothing is known, and nothing is bounded
  std::uint64_t left = 0;
};

/// Reads MemAvailable, the limits of the process's cgroup and of those above it (version 1 or 2, without the page cache
/// that can be given back), and, at the root of the real machine, RLIMIT_AS. A file that is not there bounds nothing.
/// @param root what /proc and /sys lie in: "" for the machine, a folder of a test's
[[nodiscard]] HostRoom read_host_room(const std::string& root = "");

/// What this process has in the machine's memory, in bytes; 0 where that is not known.
/// @param root as above
[[nodiscard]] std::uint64_t resident_bytes(const std::string& root = "");

}  // namespace devsan::memory
