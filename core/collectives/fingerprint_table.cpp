#include "collectives/fingerprint_table.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <random>
#include <string>
#include <string_view>

namespace devsan::collectives {
namespace {

constexpr const char* kTableName = "devsan-fingerprints";

struct TableHeader {
  std::uint64_t key;
  std::uint64_t refused_call;
  std::uint64_t refused_message;  ///< from, to, number: 12, 12 and 40 bits
};

constexpr std::size_t kTableCallsAt = 4096;
static_assert(sizeof(CollectiveFingerprint) == 256);

std::size_t shares_at(int ranks) {
  return kTableCallsAt + static_cast<std::size_t>(ranks) * kTableCalls * sizeof(CollectiveFingerprint);
}

std::size_t messages_at(int ranks) {
  const auto count = static_cast<std::size_t>(ranks);
  return shares_at(ranks) + count * kTableShares * (1 + 2 * count) * sizeof(std::int64_t);
}

std::size_t size_of_board(int ranks) {
  const auto count = static_cast<std::size_t>(ranks);
  return messages_at(ranks) + count * count * 2 * kTableMessages * 2 * sizeof(std::int64_t);
}

/// Memory that other processes write, too.
template <typename T>
std::atomic_ref<T> shared(T& value) {
  return std::atomic_ref<T>(value);
}

char* map_board(int file, std::size_t size) {
  void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<char*>(memory);
}

std::uint64_t random_key() {
  std::random_device source;
  return (std::uint64_t{source()} << 32) | source();
}

}  // namespace

std::unique_ptr<FingerprintTable> FingerprintTable::make(int ranks) {
  const int file = ::memfd_create(kTableName, MFD_CLOEXEC);
  if (file < 0) return nullptr;
  const std::size_t size = size_of_board(ranks);
  // Not reserved: a page is there once a rank has written to it.
  char* memory = ::ftruncate(file, static_cast<off_t>(size)) == 0 ? map_board(file, size) : nullptr;
  if (memory == nullptr) {
    ::close(file);
    return nullptr;
  }
  const TablePlace place{getpid(), file, random_key()};
  reinterpret_cast<TableHeader*>(memory)->key = place.key;
  return std::unique_ptr<FingerprintTable>(new FingerprintTable(place, memory, ranks));
}

std::unique_ptr<FingerprintTable> FingerprintTable::open(const TablePlace& place, int ranks) {
  if (place.descriptor < 0) return nullptr;
  const std::string path = "/proc/" + std::to_string(place.process) + "/fd/" + std::to_string(place.descriptor);
  // On another machine, or in another container, the number is another process's, and so is whatever it has open.
  std::array<char, 64> target{};
  if (::readlink(path.c_str(), target.data(), target.size() - 1) < 0) return nullptr;
  if (std::string_view(target.data()).find(kTableName) == std::string_view::npos) return nullptr;
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return nullptr;
  const std::size_t size = size_of_board(ranks);
  const bool fits = ::lseek(file, 0, SEEK_END) == static_cast<off_t>(size);
  char* memory = fits ? map_board(file, size) : nullptr;
  ::close(file);
  if (memory == nullptr) return nullptr;
  if (reinterpret_cast<const TableHeader*>(memory)->key != place.key) {
    ::munmap(memory, size);
    return nullptr;
  }
  return std::unique_ptr<FingerprintTable>(new FingerprintTable({place.process, -1, place.key}, memory, ranks));
}

FingerprintTable::~FingerprintTable() {
  ::munmap(memory_, size_of_board(ranks_));
  if (place_.descriptor >= 0) ::close(place_.descriptor);
}

CollectiveFingerprint& FingerprintTable::call(int rank, std::uint64_t number) const noexcept {
  const std::size_t index = static_cast<std::size_t>(rank) * kTableCalls + number % kTableCalls;
  return reinterpret_cast<CollectiveFingerprint*>(memory_ + kTableCallsAt)[index];
}

std::size_t FingerprintTable::shares_size() const noexcept { return 1 + 2 * static_cast<std::size_t>(ranks_); }

std::int64_t* FingerprintTable::shares(int rank, std::uint64_t number) const noexcept {
  const std::size_t index = static_cast<std::size_t>(rank) * kTableShares + number % kTableShares;
  return reinterpret_cast<std::int64_t*>(memory_ + shares_at(ranks_)) + index * shares_size();
}

std::int64_t* FingerprintTable::message(const TableMessage& message, bool sends) const noexcept {
  const std::size_t pair = static_cast<std::size_t>(message.from * ranks_ + message.to) * 2 + (sends ? 0 : 1);
  const std::size_t index = pair * kTableMessages + message.number % kTableMessages;
  return reinterpret_cast<std::int64_t*>(memory_ + messages_at(ranks_)) + index * 2;
}

void FingerprintTable::write(int rank, const CollectiveFingerprint& written) noexcept {
  CollectiveFingerprint& place = call(rank, written.number);
  shared(place.number).store(0, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  std::memcpy(reinterpret_cast<char*>(&place) + sizeof(place.number),
              reinterpret_cast<const char*>(&written) + sizeof(written.number), sizeof(place) - sizeof(place.number));
  // What follows is a look at the others: see NOTE [The fingerprint table].
  shared(place.number).store(written.number, std::memory_order_seq_cst);
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

void FingerprintTable::write_shares(int rank, std::uint64_t number, const std::vector<std::int64_t>& given,
                                    const std::vector<std::int64_t>& wanted) noexcept {
  std::int64_t* place = shares(rank, number);
  const auto count = static_cast<std::size_t>(ranks_);
  shared(place[0]).store(0, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  std::copy_n(given.begin(), std::min(count, given.size()), place + 1);
  std::copy_n(wanted.begin(), std::min(count, wanted.size()), place + 1 + count);
  shared(place[0]).store(static_cast<std::int64_t>(number), std::memory_order_release);
}

void FingerprintTable::erase(int rank, std::uint64_t number) noexcept {
  shared(call(rank, number).number).store(0, std::memory_order_seq_cst);
}

std::optional<CollectiveFingerprint> FingerprintTable::read(int rank, std::uint64_t number) const noexcept {
  CollectiveFingerprint& place = call(rank, number);
  if (shared(place.number).load(std::memory_order_acquire) != number) return std::nullopt;
  const CollectiveFingerprint found = place;
  std::atomic_thread_fence(std::memory_order_acquire);
  if (shared(place.number).load(std::memory_order_relaxed) != number) return std::nullopt;
  return found;
}

bool FingerprintTable::differs(int rank, const CollectiveFingerprint& own) const noexcept {
  CollectiveFingerprint& place = call(rank, own.number);
  if (shared(place.number).load(std::memory_order_acquire) != own.number) return false;
  const bool other =
      place.route != own.route || place.bytes != own.bytes || place.root != own.root || place.type != own.type;
  std::atomic_thread_fence(std::memory_order_acquire);
  return other && shared(place.number).load(std::memory_order_relaxed) == own.number;
}

std::optional<std::pair<std::int64_t, std::int64_t>> FingerprintTable::read_share(int rank, std::uint64_t number,
                                                                                  int other) const noexcept {
  std::int64_t* place = shares(rank, number);
  const auto wanted = static_cast<std::int64_t>(number);
  if (shared(place[0]).load(std::memory_order_acquire) != wanted) return std::nullopt;
  const std::pair<std::int64_t, std::int64_t> found(place[1 + other], place[1 + ranks_ + other]);
  std::atomic_thread_fence(std::memory_order_acquire);
  if (shared(place[0]).load(std::memory_order_relaxed) != wanted) return std::nullopt;
  return found;
}

void FingerprintTable::write_message(const TableMessage& written, bool sends, std::int64_t bytes) noexcept {
  std::int64_t* place = message(written, sends);
  shared(place[0]).store(0, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  shared(place[1]).store(bytes, std::memory_order_relaxed);
  shared(place[0]).store(static_cast<std::int64_t>(written.number), std::memory_order_seq_cst);
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

std::optional<std::int64_t> FingerprintTable::read_message(const TableMessage& wanted, bool sends) const noexcept {
  std::int64_t* place = message(wanted, sends);
  const auto number = static_cast<std::int64_t>(wanted.number);
  if (shared(place[0]).load(std::memory_order_acquire) != number) return std::nullopt;
  const std::int64_t bytes = shared(place[1]).load(std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_acquire);
  if (shared(place[0]).load(std::memory_order_relaxed) != number) return std::nullopt;
  return bytes;
}

void FingerprintTable::refuse(std::uint64_t number) noexcept {
  const auto first = shared(reinterpret_cast<TableHeader*>(memory_)->refused_call);
  std::uint64_t known = first.load();
  while ((known == 0 || number < known) && !first.compare_exchange_weak(known, number)) {
  }
}

void FingerprintTable::refuse(const TableMessage& message) noexcept {
  const std::uint64_t packed = (static_cast<std::uint64_t>(message.from) << 52) |
                               (static_cast<std::uint64_t>(message.to) << 40) |
                               (message.number & ((std::uint64_t{1} << 40) - 1));
  std::uint64_t none = 0;
  shared(reinterpret_cast<TableHeader*>(memory_)->refused_message).compare_exchange_strong(none, packed);
}

std::uint64_t FingerprintTable::refused_call() const noexcept {
  return shared(reinterpret_cast<TableHeader*>(memory_)->refused_call).load(std::memory_order_seq_cst);
}

std::optional<TableMessage> FingerprintTable::refused_message() const noexcept {
  const std::uint64_t packed =
      shared(reinterpret_cast<TableHeader*>(memory_)->refused_message).load(std::memory_order_seq_cst);
  if (packed == 0) return std::nullopt;
  return TableMessage{static_cast<int>(packed >> 52), static_cast<int>((packed >> 40) & 0xFFF),
                      packed & ((std::uint64_t{1} << 40) - 1)};
}

}  // namespace devsan::collectives
