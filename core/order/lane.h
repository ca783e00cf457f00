#pragma once

#include <compare>
#include <cstdint>

namespace devsan::order {

/// What runs in order: a stream of a GPU, or the host. All threads of the host are one: what they tell each other by
/// locks and queues is not seen, and must not look like a race.
struct Lane {
  int device = -1;
  std::int64_t stream = 0;

  bool is_host() const noexcept { return device < 0; }
  /// Whether NCCL's stream of a group, which no program sees.
  bool is_of_group() const noexcept { return !is_host() && stream < 0; }
  friend auto operator<=>(const Lane&, const Lane&) = default;
};

inline constexpr Lane kHost{};

/// NCCL's stream of a group of this process.
inline Lane lane_of_group(int device, std::uint64_t group) noexcept {
  return {device, -1 - static_cast<std::int64_t>(group)};
}

}  // namespace devsan::order
