#include "collectives/flight_recorder.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <system_error>

namespace devsan::collectives {
namespace {

std::int64_t now() noexcept {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

template <std::size_t N>
void put_text(Text<N>& text, std::string_view value) noexcept {
  const std::size_t length = std::min(value.size(), N - 1);
  std::memcpy(text.data(), value.data(), length);
  text[length] = '\0';
}

/// Of a path its end tells more than its beginning.
template <std::size_t N>
void put_end(Text<N>& text, std::string_view value) noexcept {
  put_text(text, value.size() < N ? value : value.substr(value.size() - (N - 1)));
}

int number_in(const char* variable, int otherwise) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0' ? std::atoi(value) : otherwise;
}

/// Takes a slot for writing; false when somebody has it.
bool take(FlightRecorderSlot& slot, std::uint32_t& version) noexcept {
  version = slot.version.load(std::memory_order_relaxed);
  return version % 2 == 0 && slot.version.compare_exchange_strong(version, version + 1, std::memory_order_acq_rel);
}

void give_back(FlightRecorderSlot& slot, std::uint32_t version) noexcept {
  slot.version.store(version + 2, std::memory_order_release);
}

}  // namespace

FlightRecorder::FlightRecorder(const std::string& path, int rank, int world_size) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) throw std::system_error(errno, std::generic_category(), path);
  // Reserved, not only extended: a full file system is to fail here, and not in the middle of a collective.
  const int failed = ::posix_fallocate(file, 0, static_cast<off_t>(kFlightRecorderBytes));
  void* memory =
      failed == 0 ? ::mmap(nullptr, kFlightRecorderBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) : MAP_FAILED;
  const int error = failed != 0 ? failed : errno;
  ::close(file);
  if (memory == MAP_FAILED) throw std::system_error(error, std::generic_category(), path);
  memory_ = static_cast<char*>(memory);
  auto* header = new (memory_) FlightRecorderHeader{};
  for (std::uint32_t i = 0; i < kGroups; ++i) new (&group(i)) FlightRecorderGroup{};
  for (std::uint32_t i = 0; i < kSlots; ++i) new (&slot(i)) FlightRecorderSlot{};
  header->process = getpid();
  header->rank = rank;
  header->world_size = world_size;
  header->started = now();
  std::atomic_thread_fence(std::memory_order_release);
  header->magic = kMagic;
}

FlightRecorder::~FlightRecorder() {
  if (memory_ != nullptr) ::munmap(memory_, kFlightRecorderBytes);
}

FlightRecorder* FlightRecorder::of_process() {
  static std::mutex mutex;
  static FlightRecorder* recorder = nullptr;  // never freed: threads of gloo write to it until the process ends
  static std::atomic<pid_t> asked{0};
  const pid_t process = getpid();
  if (asked.load(std::memory_order_acquire) == process) return recorder;
  const std::scoped_lock lock(mutex);
  if (asked.load(std::memory_order_relaxed) == process) return recorder;
  recorder = nullptr;
  if (const char* job = std::getenv("DEVSAN_JOB"); job != nullptr && *job != '\0') {
    try {
      recorder = new FlightRecorder(std::string(job) + "/" + std::to_string(process) + ".flight", number_in("RANK", -1),
                                    number_in("WORLD_SIZE", -1));
    } catch (const std::system_error& error) {
      std::fprintf(stderr, "devsan: the flight recorder of collectives could not be made: %s\n", error.what());
    }
  }
  asked.store(process, std::memory_order_release);
  return recorder;
}

FlightRecorderHeader& FlightRecorder::header() const noexcept {
  return *reinterpret_cast<FlightRecorderHeader*>(memory_);
}

FlightRecorderGroup& FlightRecorder::group(std::uint32_t index) const noexcept {
  return *reinterpret_cast<FlightRecorderGroup*>(memory_ + kGroupsAt + index * sizeof(FlightRecorderGroup));
}

FlightRecorderSlot& FlightRecorder::slot(std::uint32_t index) const noexcept {
  return *reinterpret_cast<FlightRecorderSlot*>(memory_ + kSlotsAt + index * sizeof(FlightRecorderSlot));
}

std::uint32_t FlightRecorder::add_group(const Group& added) {
  const std::uint32_t index = header().groups.fetch_add(1, std::memory_order_acq_rel);
  if (index >= kGroups) return kGroups;
  FlightRecorderGroup& place = group(index);
  put_text(place.name, added.name);
  put_text(place.description, added.description);
  place.rank = added.rank;
  place.size = added.size;
  const std::vector<int>& present = added.attendance.present();
  place.ranks_known = static_cast<std::uint32_t>(std::min(present.size(), kMaxRanks));
  for (std::uint32_t i = 0; i < place.ranks_known; ++i) {
    place.ranks[i] = static_cast<std::uint16_t>(added.global_rank(present[i]));
  }
  // A program that torchrun did not start (mp.spawn, a launcher of its own) has no RANK, but a group of all.
  if (header().rank < 0 && added.global_ranks.empty()) {
    header().rank = added.rank;
    header().world_size = added.size;
  }
  place.ready.store(1, std::memory_order_release);
  return index;
}

CallToken FlightRecorder::begin(const CallNote& note) noexcept {
  const std::uint64_t number = header().calls.fetch_add(1, std::memory_order_relaxed) + 1;
  // The last round takes what is under way, too: there is no other place.
  for (std::uint32_t step = 0; step < 2 * kSlots; ++step) {
    const auto index = static_cast<std::uint32_t>((number + step) % kSlots);
    FlightRecorderSlot& place = slot(index);
    if (step < kSlots && place.state == CallState::kRunning) continue;
    std::uint32_t version = 0;
    if (!take(place, version)) continue;
    place.state = CallState::kRunning;
    place.number = number;
    place.sequence = note.sequence;
    place.started = now();
    place.finished = 0;
    place.elements = note.elements;
    place.bytes = note.bytes;
    place.group = note.group;
    place.peer = note.peer;
    place.device = note.device;
    place.waited = 0;
    place.dims = static_cast<std::uint32_t>(std::min(note.dims, kMaxDims));
    std::copy_n(note.shape, place.dims, place.shape.begin());
    place.line = note.site.line;
    put_text(place.name, note.name);
    put_text(place.dtype, note.dtype);
    place.function = note.site.function;
    place.file = note.site.file;
    place.error[0] = '\0';
    give_back(place, version);
    return {index, number};
  }
  return {};
}

void FlightRecorder::waiting(CallToken token, bool waits) noexcept {
  if (token.number == 0) return;
  FlightRecorderSlot& place = slot(token.slot);
  std::uint32_t version = 0;
  if (!take(place, version)) return;
  if (place.number == token.number) place.waited = waits ? 1 : 0;
  give_back(place, version);
}

void FlightRecorder::end(CallToken token, std::string_view error) noexcept {
  if (token.number == 0) return;
  FlightRecorderSlot& place = slot(token.slot);
  std::uint32_t version = 0;
  // Only `waiting` of the same call can have it, for a moment.
  while (!take(place, version)) {
  }
  if (place.number == token.number && place.state == CallState::kRunning) {
    place.finished = now();
    place.state = error.empty() ? CallState::kDone : CallState::kFailed;
    put_text(place.error, error);
  }
  give_back(place, version);
}

}  // namespace devsan::collectives
