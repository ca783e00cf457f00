#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace devsan::collectives {

// NOTE [The flight recorder of a process]
// A file in the job's folder, mapped into memory, that says which collectives a process has called. The kernel keeps it
// when the process is killed, so that another process can tell where it was. It holds no pointers:
//
//   FlightRecorderHeader              one
//   FlightRecorderGroup   x kGroups   process groups, in the order of their first use
//   FlightRecorderSlot    x kSlots    the newest collectives; one that is under way is not overwritten by a newer one
//                                     while there is another slot
//
// Writers take a slot by making its `version` odd, and give it back by making it even; a reader copies the slot and
// looks whether `version` is even and as before. Nobody waits: a slot that somebody has is passed over.

inline constexpr std::array<char, 8> kMagic = {'D', 'V', 'S', 'F', 'L', 'R', 'C', '1'};
inline constexpr std::uint32_t kGroups = 64;
inline constexpr std::uint32_t kSlots = 256;
inline constexpr std::size_t kMaxRanks = 448;
inline constexpr std::size_t kMaxDims = 8;

template <std::size_t N>
using Text = std::array<char, N>;  ///< ends with a zero

enum class CallState : std::uint32_t { kUnused = 0, kRunning = 1, kDone = 2, kFailed = 3 };

struct FlightRecorderHeader {
  std::array<char, 8> magic;  ///< written last: a file without it is not ready
  std::int32_t process;
  std::int32_t rank;
  std::int32_t world_size;
  std::uint32_t reserved;
  std::int64_t started;  ///< nanoseconds since the epoch, as all times here
  std::atomic<std::uint64_t> calls;
  std::atomic<std::uint32_t> groups;
};

struct FlightRecorderGroup {
  std::atomic<std::uint32_t> ready;
  std::int32_t rank;
  std::int32_t size;
  std::uint32_t ranks_known;
  Text<56> name;
  Text<56> description;
  std::array<std::uint16_t, kMaxRanks> ranks;  ///< global ones of those that run, by rank in the group
};

struct FlightRecorderSlot {
  std::atomic<std::uint32_t> version;
  CallState state;
  std::uint64_t number;  ///< counts the calls of the process, from 1
  std::uint64_t sequence;
  std::int64_t started;
  std::int64_t finished;  ///< 0 while it is under way
  std::int64_t elements;
  std::int64_t bytes;
  std::uint32_t group;
  std::int32_t peer;     ///< global rank, or -1
  std::int32_t device;   ///< ordinal, or -1
  std::uint32_t waited;  ///< the program is blocked in it
  std::uint32_t dims;
  std::int32_t line;
  std::array<std::int64_t, kMaxDims> shape;
  Text<32> name;
  Text<16> dtype;
  Text<64> function;
  Text<160> file;
  Text<96> error;
};

inline constexpr std::size_t kGroupsAt = 4096;
inline constexpr std::size_t kSlotsAt = kGroupsAt + kGroups * sizeof(FlightRecorderGroup);
inline constexpr std::size_t kFlightRecorderBytes = kSlotsAt + kSlots * sizeof(FlightRecorderSlot);

static_assert(sizeof(FlightRecorderHeader) <= kGroupsAt);
static_assert(sizeof(FlightRecorderGroup) % alignof(FlightRecorderSlot) == 0);
static_assert(std::atomic<std::uint32_t>::is_always_lock_free && std::atomic<std::uint64_t>::is_always_lock_free);

}  // namespace devsan::collectives
