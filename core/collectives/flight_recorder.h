#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/flight_recorder_layout.h"
#include "collectives/group.h"

namespace devsan::collectives {

/// Where a program was when it called a collective.
struct CallSite {
  Text<160> file{};
  Text<64> function{};
  int line = 0;
};

/// What is noted of one call. Texts and the shape are copied.
struct CallNote {
  std::string_view name;
  std::string_view dtype;
  const std::int64_t* shape = nullptr;
  std::size_t dims = 0;
  std::uint64_t sequence = 0;
  std::int64_t elements = 0;
  std::int64_t bytes = 0;
  std::uint32_t group = 0;
  int peer = -1;
  int device = -1;
  CallSite site;
};

/// A call in the flight recorder; 0 is none.
struct CallToken {
  std::uint32_t slot = 0;
  std::uint64_t number = 0;
};

/// What this process writes: see NOTE [The flight recorder of a process]. All but the constructor and `add_group` neither
/// allocate nor wait.
class FlightRecorder {
 public:
  /// Raises std::system_error for a file that cannot be made or mapped.
  FlightRecorder(const std::string& path, int rank, int world_size);
  ~FlightRecorder();
  FlightRecorder(const FlightRecorder&) = delete;
  FlightRecorder& operator=(const FlightRecorder&) = delete;

  /// That of this process, in the folder that DEVSAN_JOB names; null without one, or where it could not be made (said
  /// once on stderr). A forked child has its own.
  static FlightRecorder* of_process();

  /// The number of a group, for `CallNote::group`.
  std::uint32_t add_group(const Group& group);

  CallToken begin(const CallNote& note) noexcept;
  /// The program is blocked in the call, or no longer.
  void waiting(CallToken token, bool waits) noexcept;
  /// @param error empty for a success
  void end(CallToken token, std::string_view error) noexcept;

 private:
  FlightRecorderHeader& header() const noexcept;
  FlightRecorderGroup& group(std::uint32_t index) const noexcept;
  FlightRecorderSlot& slot(std::uint32_t index) const noexcept;

  char* memory_ = nullptr;
};

struct RecordedGroup {
  std::string name;
  std::string description;
  int rank = 0;
  int size = 0;
  std::vector<int> ranks;
};

struct RecordedCall {
  std::uint64_t number = 0;
  std::uint64_t sequence = 0;
  std::string group;
  std::string name;
  std::string dtype;
  std::vector<std::int64_t> shape;
  std::int64_t elements = 0;
  std::int64_t bytes = 0;
  int peer = -1;
  int device = -1;
  double started = 0;   ///< seconds since the epoch
  double finished = 0;  ///< 0 while it is under way
  CallState state = CallState::kUnused;
  bool waited = false;
  std::string file;
  std::string function;
  int line = 0;
  std::string error;
};

struct FlightRecording {
  int process = 0;
  int rank = 0;
  int world_size = 0;
  double started = 0;
  std::vector<RecordedGroup> groups;
  std::vector<RecordedCall> calls;  ///< oldest first
};

/// Reads the flight recorder of another process, living or not. Nothing for a file that is none, or that its process had
/// not finished making.
std::optional<FlightRecording> read_flight_recorder(const std::string& path);

}  // namespace devsan::collectives
