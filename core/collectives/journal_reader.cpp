#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>

#include "collectives/journal.h"

namespace devsan::collectives {
namespace {

/// One part of a journal that was read into memory, whose parts are aligned as in the file.
template <typename T>
const T& part(const std::vector<char>& bytes, std::size_t at) {
  return *reinterpret_cast<const T*>(bytes.data() + at);
}

template <std::size_t N>
std::string read_text(const Text<N>& value) {
  return {value.data(), strnlen(value.data(), N)};
}

double seconds(std::int64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e9; }

RecordedGroup group_from(const JournalGroup& group) {
  RecordedGroup recorded;
  recorded.name = read_text(group.name);
  recorded.description = read_text(group.description);
  recorded.rank = group.rank;
  recorded.size = group.size;
  const auto known = std::min<std::size_t>(group.ranks_known, kMaxRanks);
  recorded.ranks.assign(group.ranks.begin(), group.ranks.begin() + static_cast<std::ptrdiff_t>(known));
  return recorded;
}

RecordedCall call_from(const JournalSlot& slot, const std::vector<RecordedGroup>& groups) {
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

std::optional<RecordedJournal> read_journal(const std::string& path) {
  const std::vector<char> bytes = contents(path);
  if (bytes.size() != kJournalBytes) return std::nullopt;
  // The process may be writing while the file is read: a slot that changed meanwhile is looked up once more.
  const auto& header = part<JournalHeader>(bytes, 0);
  if (header.magic != kMagic) return std::nullopt;
  RecordedJournal journal;
  journal.process = header.process;
  journal.rank = header.rank;
  journal.world_size = header.world_size;
  journal.started = seconds(header.started);
  for (std::uint32_t i = 0; i < std::min(header.groups.load(), kGroups); ++i) {
    const auto& group = part<JournalGroup>(bytes, kGroupsAt + i * sizeof(JournalGroup));
    if (group.ready.load() == 0) break;
    journal.groups.push_back(group_from(group));
  }
  std::vector<char> again;
  for (std::uint32_t i = 0; i < kSlots; ++i) {
    const std::size_t at = kSlotsAt + i * sizeof(JournalSlot);
    const auto* slot = &part<JournalSlot>(bytes, at);
    if (slot->version.load() % 2 != 0) {
      // Being written; of a process that was killed in that moment it stays so, and says what it was about to say.
      if (again.empty()) again = contents(path);
      if (again.size() != kJournalBytes) continue;
      slot = &part<JournalSlot>(again, at);
    }
    if (slot->state != CallState::kUnused) journal.calls.push_back(call_from(*slot, journal.groups));
  }
  std::sort(journal.calls.begin(), journal.calls.end(),
            [](const RecordedCall& a, const RecordedCall& b) { return a.number < b.number; });
  return journal;
}

}  // namespace devsan::collectives
