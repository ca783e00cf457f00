#include "emulate/runtime/cublas.h"

#include <array>
#include <atomic>
#include <cstdlib>
#include <map>
#include <mutex>
#include <optional>
#include <regex>
#include <set>
#include <string>
#include <tuple>

#include <c10/util/Exception.h>

#include "emulate/runtime/device.h"
#include "emulate/runtime/stream.h"
#include "memory/out_of_memory.h"

namespace devsan::emulate {
namespace {

constexpr std::size_t kKibibyte = 1024;

/// The default of CublasHandlePool.cpp (parseChosenWorkspaceSize): 32 MiB on Hopper and Blackwell, else ":4096:2:16:8".
std::size_t default_size(c10::DeviceIndex index) {
  const int major = device(index).spec.major;
  if (major == 9 || major == 10 || major == 12) return std::size_t{4096} * 8 * kKibibyte;
  return (std::size_t{4096} * 2 + std::size_t{16} * 8) * kKibibyte;
}

/// What CUBLAS_WORKSPACE_CONFIG says, pairs of kibibytes and their number; as torch, asked once.
std::optional<std::size_t> configured_size() {
  static const std::optional<std::size_t> size = []() -> std::optional<std::size_t> {
    const char* text = std::getenv("CUBLAS_WORKSPACE_CONFIG");
    if (text == nullptr) return std::nullopt;
    const std::string config(text);
    static const std::regex kPair(":([0-9]+):([0-9]+)");
    std::sregex_iterator pair(config.begin(), config.end(), kPair);
    if (pair == std::sregex_iterator()) {
      TORCH_WARN("Could not parse CUBLAS_WORKSPACE_CONFIG, using default workspace size of ",
                 default_size(current_device()), " bytes.");
      return std::nullopt;
    }
    std::size_t total = 0;
    for (; pair != std::sregex_iterator(); ++pair) {
      total += std::stoull(pair->str(1)) * kKibibyte * std::stoull(pair->str(2));
    }
    return total;
  }();
  return size;
}

std::atomic<std::int64_t> g_chosen_size{-1};
std::atomic<unsigned> g_changes{0};  ///< since when a thread may believe what it remembers

struct Workspace {
  memory::Block* block = nullptr;
  std::size_t size = 0;
};

/// The handles that no thread has, and the workspaces of all. Leaked: threads end after everything else.
struct Pool {
  std::mutex mutex;
  std::array<std::set<int>, kMaxDevices> free_handles;
  std::array<int, kMaxDevices> made{};
  std::map<std::tuple<memory::CachingAllocator*, int, c10::StreamId>, Workspace> workspaces;
};

Pool& pool() {
  static auto* made = new Pool();
  return *made;
}

constexpr int kNoHandle = -1;

/// A thread's handles, and the stream on which each was used last.
struct Handles {
  Handles() { numbers.fill(kNoHandle); }
  ~Handles() {
    const std::lock_guard lock(pool().mutex);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      if (numbers[i] != kNoHandle) pool().free_handles[i].insert(numbers[i]);
    }
  }
  Handles(const Handles&) = delete;
  Handles& operator=(const Handles&) = delete;

  struct Use {
    const EmulatedDevice* device = nullptr;
    c10::StreamId stream = 0;
    unsigned changes = 0;
  };
  std::array<int, kMaxDevices> numbers;
  std::array<Use, kMaxDevices> uses;
};

Handles& handles() {
  thread_local Handles mine;
  return mine;
}

/// Under the pool's lock.
int handle_of(c10::DeviceIndex index) {
  const auto place = static_cast<std::size_t>(index);
  int& number = handles().numbers[place];
  if (number != kNoHandle) return number;
  std::set<int>& free = pool().free_handles[place];
  number = free.empty() ? pool().made[place]++ : *free.begin();
  free.erase(number);
  return number;
}

memory::Block* take(EmulatedDevice& target, std::size_t bytes, c10::StreamId stream) {
  try {
    return target.allocator.allocate(bytes, stream);
  } catch (const memory::OutOfMemory& error) {
    TORCH_CHECK_WITH(OutOfMemoryError, false, error.what());
  }
}

void replace_workspace(EmulatedDevice& target, c10::StreamId stream) {
  const std::size_t size = cublas_workspace_size(target.index);
  const std::lock_guard lock(pool().mutex);
  Workspace& found = pool().workspaces[{&target.allocator, handle_of(target.index), stream}];
  if (found.block != nullptr && found.size >= size) return;
  memory::Block* block = take(target, size, stream);  // before the small one is given back, as torch does
  target.allocator.free(found.block);
  found = {block, size};
}

}  // namespace

void use_cublas(c10::DeviceIndex index) {
  EmulatedDevice* target = find_device(index);
  if (target == nullptr) return;
  const c10::StreamId stream = current_stream_id(index);
  const unsigned changes = g_changes.load(std::memory_order_acquire);
  Handles::Use& use = handles().uses[static_cast<std::size_t>(index)];
  if (C10_LIKELY(use.device == target && use.stream == stream && use.changes == changes)) return;
  replace_workspace(*target, stream);
  use = {target, stream, changes};
}

int cublas_handle(c10::DeviceIndex index) {
  const std::lock_guard lock(pool().mutex);
  return handle_of(index);
}

void clear_cublas_workspaces() {
  const std::lock_guard lock(pool().mutex);
  for (auto& [key, workspace] : pool().workspaces) std::get<0>(key)->free(workspace.block);
  pool().workspaces.clear();
  g_changes.fetch_add(1, std::memory_order_release);
}

std::size_t cublas_workspace_size(c10::DeviceIndex index) {
  const std::int64_t chosen = g_chosen_size.load(std::memory_order_relaxed);
  if (chosen >= 0) return static_cast<std::size_t>(chosen);
  return configured_size().value_or(default_size(index));
}

void set_cublas_workspace_size(std::int64_t bytes) {
  g_chosen_size.store(bytes, std::memory_order_relaxed);
  g_changes.fetch_add(1, std::memory_order_release);
}

}  // namespace devsan::emulate
