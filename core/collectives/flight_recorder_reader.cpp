#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>

#include "collectives/flight_recorder.h"

namespace devsan::collectives {
namespace {

/// One part of a recording that was read into memory, whose parts are aligned as in the file.
template <typename T>
const T& part(const std::vector<char>& bytes, std::size_t at) {
  return *reinterpret_cast<const T*>(bytes.data() + at);
}

template <std::size_t N>
std::string read_text(const Text<N>& value) {
  return {value.data(), strnlen(value.data(), N)};
}

double seconds(std::int64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e9; }

RecordedGroup group_from(const FlightRecorderGroup& group) {
  RecordedGroup recorded;
  recorded.name = read_text(group.name);
  recorded.description = read_text(group.description);
  recorded.rank = group.rank;
  recorded.size = group.size;
  const auto known = std::min<std::size_t>(group.ranks_known, kMaxRanks);
  recorded.ranks.assign(group.ranks.begin(), group.ranks.begin() + static_cast<std::ptrdiff_t>(known));
  return recorded;
}

RecordedCall call_from(const FlightRecorderSlot& slot, const std::vector<RecordedGroup>& groups) {
  RecordedCall call;
  call.number = slot.number;
  call.sequence = slot.sequence;
  if (slot.group < groups.size()) call.group = groups[slot.group].name;
  call.name = read_text(slot.name);
  call.dtype = read_text(slot.dtype);
  const auto dims = std::min<std::size_t>(slot.dims, kMaxDims);
  call.shape.assign(slot.shape.begin(), slot.shape.begin() + static_cast<std::ptrdiff_t>(dims));
  call.elements = slot.elements;
  call.bytes = slot.bytes;
  call.peer = slot.peer;
  call.device = slot.device;
  call.started = seconds(slot.started);
  call.finished = seconds(slot.finished);
  call.state = slot.state;
  call.waited = slot.waited != 0;
  call.file = read_text(slot.file);
  call.function = read_text(slot.function);
  call.line = slot.line;
  call.error = read_text(slot.error);
  return call;
}

std::vector<char> contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

std::optional<FlightRecording> read_flight_recorder(const std::string& path) {
  const std::vector<char> bytes = contents(path);
  if (bytes.size() != kFlightRecorderBytes) return std::nullopt;
  // The process may be writing while the file is read: a slot that changed meanwhile is looked up once more.
  const auto& header = part<FlightRecorderHeader>(bytes, 0);
  if (header.magic != kMagic) return std::nullopt;
  FlightRecording recording;
  recording.process = header.process;
  recording.rank = header.rank;
  recording.world_size = header.world_size;
  recording.started = seconds(header.started);
  for (std::uint32_t i = 0; i < std::min(header.groups.load(), kGroups); ++i) {
    const auto& group = part<FlightRecorderGroup>(bytes, kGroupsAt + i * sizeof(FlightRecorderGroup));
    if (group.ready.load() == 0) break;
    recording.groups.push_back(group_from(group));
  }
  std::vector<char> again;
  for (std::uint32_t i = 0; i < kSlots; ++i) {
    const std::size_t at = kSlotsAt + i * sizeof(FlightRecorderSlot);
    const auto* slot = &part<FlightRecorderSlot>(bytes, at);
    if (slot->version.load() % 2 != 0) {
      // Being written; of a process that was killed in that moment it stays so, and says what it was about to say.
      if (again.empty()) again = contents(path);
      if (again.size() != kFlightRecorderBytes) continue;
      slot = &part<FlightRecorderSlot>(again, at);
    }
    if (slot->state != CallState::kUnused) recording.calls.push_back(call_from(*slot, recording.groups));
  }
  std::sort(recording.calls.begin(), recording.calls.end(),
            [](const RecordedCall& a, const RecordedCall& b) { return a.number < b.number; });
  return recording;
}

}  // namespace devsan::collectives
