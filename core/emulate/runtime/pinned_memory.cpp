#include "emulate/runtime/pinned_memory.h"

#include <bit>
#include <map>
#include <mutex>

#include <c10/core/CPUAllocator.h>

#include "order/monitor.h"

namespace devsan::emulate {
namespace {

/// Ranges of pinned memory by their first address.
class Ranges {
 public:
  void add(const void* data, size_t bytes) {
    const std::lock_guard<std::mutex> lock(mutex_);
    ranges_[reinterpret_cast<std::uintptr_t>(data)] = bytes;
  }
  void remove(const void* data) noexcept {
    const std::lock_guard<std::mutex> lock(mutex_);
    ranges_.erase(reinterpret_cast<std::uintptr_t>(data));
  }
  bool holds(const void* data) noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(data);
    const std::lock_guard<std::mutex> lock(mutex_);
    auto after = ranges_.upper_bound(address);
    if (after == ranges_.begin()) return false;
    const auto& [start, bytes] = *--after;
    return address < start + bytes;
  }
  std::mutex& mutex() noexcept { return mutex_; }

 private:
  std::mutex mutex_;
  std::map<std::uintptr_t, size_t> ranges_;
};

/// The figures, and how many blocks of each size lie in a cache that holds no bytes.
class Figures {
 public:
  void take(size_t block) {
    const std::lock_guard<std::mutex> lock(mutex_);
    stats_.active_requests.increase(1);
    stats_.active_bytes.increase(block);
    size_t& cached = cached_[block];
    if (cached > 0) {
      --cached;
      return;
    }
    stats_.num_host_alloc += 1;
    stats_.allocations.increase(1);
    stats_.allocated_bytes.increase(block);
  }
  void give_back(size_t block) noexcept {
    const std::lock_guard<std::mutex> lock(mutex_);
    stats_.active_requests.decrease(1);
    stats_.active_bytes.decrease(block);
    ++cached_[block];
  }
  void empty_cache() {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (auto& [block, count] : cached_) {
      stats_.num_host_free += static_cast<int64_t>(count);
      stats_.allocations.decrease(count);
      stats_.allocated_bytes.decrease(block * count);
      count = 0;
    }
  }
  at::HostStats stats() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return stats_;
  }
  template <typename Reset>
  void reset(Reset reset) {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (auto* stat : {&stats_.active_requests, &stats_.active_bytes, &stats_.allocations, &stats_.allocated_bytes}) {
      reset(*stat);
    }
  }
  std::mutex& mutex() noexcept { return mutex_; }
  void reset_counts() {
    const std::lock_guard<std::mutex> lock(mutex_);
    stats_.num_host_alloc = 0;
    stats_.num_host_free = 0;
  }

 private:
  std::mutex mutex_;
  at::HostStats stats_;
  std::map<size_t, size_t> cached_;
};

Ranges& ranges() {
  static auto* all = new Ranges();  // leaked: tensors are freed after statics are
  return *all;
}

Figures& figures() {
  static auto* all = new Figures();
  return *all;
}

struct PinnedBlock {
  c10::DataPtr memory;
  size_t block;
};

void release_pinned(void* context) {
  auto* pinned = static_cast<PinnedBlock*>(context);
  ranges().remove(pinned->memory.get());
  if (C10_UNLIKELY(order::Monitor::is_watching())) {  // CUDA's cache of pinned memory waits for the copies that use it
    order::Monitor::instance().forget(reinterpret_cast<std::uintptr_t>(pinned->memory.get()));
  }
  figures().give_back(pinned->block);
  delete pinned;
}

class PinnedAllocator final : public at::HostAllocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    // CUDA's host allocator gives no memory for 0 bytes, and null is not pinned.
    if (bytes == 0) return {nullptr, nullptr, nullptr, c10::Device(c10::DeviceType::CPU)};
    auto* pinned = new PinnedBlock{c10::GetCPUAllocator()->allocate(bytes), std::bit_ceil(bytes)};
    void* data = pinned->memory.get();
    ranges().add(data, bytes);
    figures().take(pinned->block);
    return {data, pinned, &release_pinned, c10::Device(c10::DeviceType::CPU)};
  }
  void copy_data(void* dest, const void* src, std::size_t count) const override { default_copy_data(dest, src, count); }

  bool record_event(void* /*data*/, void* /*context*/, c10::Stream /*stream*/) override { return true; }
  void empty_cache() override { figures().empty_cache(); }
  at::HostStats get_stats() override { return figures().stats(); }
  void reset_accumulated_stats() override {
    figures().reset([](auto& stat) { stat.reset_accumulated(); });
    figures().reset_counts();
  }
  void reset_peak_stats() override {
    figures().reset([](auto& stat) { stat.reset_peak(); });
  }
};

}  // namespace

at::HostAllocator& pinned_allocator() {
  static auto* allocator = new PinnedAllocator();
  return *allocator;
}

bool is_pinned(const void* data) noexcept { return data != nullptr && ranges().holds(data); }

const c10::DataPtr& memory_under(const c10::DataPtr& data_ptr) noexcept {
  if (data_ptr.get_deleter() != &release_pinned) return data_ptr;
  return static_cast<const PinnedBlock*>(data_ptr.get_context())->memory;
}

void register_pinned(const void* data, size_t bytes) { ranges().add(data, bytes); }
void unregister_pinned(const void* data) noexcept { ranges().remove(data); }

void lock_pinned_memory() {
  ranges().mutex().lock();
  figures().mutex().lock();
}

void unlock_pinned_memory() {
  figures().mutex().unlock();
  ranges().mutex().unlock();
}

}  // namespace devsan::emulate
