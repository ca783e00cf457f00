#include "emulate/runtime/stream.h"

#include <algorithm>
#include <array>
#include <atomic>

#include "emulate/runtime/device.h"
#include "emulate/runtime/gpu_trace.h"

namespace devsan::emulate {
namespace {

constexpr int kStreamsPerPool = 32;
// torch allows four priorities above the default (c10::cuda::max_compile_time_stream_priorities).
constexpr int kPriorities = 4;
constexpr c10::StreamId kLastId = kStreamsPerPool * kPriorities;
constexpr std::uintptr_t kFirstHandle = 0x10000;
constexpr std::uintptr_t kHandleStep = 16;

// A stream's id: 0, or 1 + slot * kPriorities + urgency. It says all there is to know.
c10::StreamId id_of(int slot, int urgency) { return 1 + static_cast<c10::StreamId>(slot) * kPriorities + urgency; }

using CurrentStreams = std::array<c10::StreamId, kMaxDevices>;
thread_local SinceStart<CurrentStreams> t_current;
std::array<std::array<std::atomic<unsigned>, kPriorities>, kMaxDevices> g_next{};

c10::StreamId& current_id(c10::DeviceIndex index) noexcept {
  return t_current.get([] { return CurrentStreams{}; })[static_cast<std::size_t>(index)];
}

std::array<std::atomic<bool>, kMaxDevices> g_has_pools{};

/// CUDA makes all streams of a GPU when the first is asked for.
void make_pools(c10::DeviceIndex index) {
  if (g_has_pools[static_cast<std::size_t>(index)].exchange(true)) return;
  for (int slot = 0; slot < kStreamsPerPool; ++slot) {
    for (int urgency = 0; urgency < kPriorities; ++urgency) {
      trace(&c10::impl::PyInterpreterVTable::trace_gpu_stream_creation, native_handle(id_of(slot, urgency)));
    }
  }
}

}  // namespace

c10::StreamId current_stream_id(c10::DeviceIndex index) noexcept { return current_id(index); }

c10::Stream exchange_stream(c10::Stream stream) noexcept {
  c10::StreamId& current = current_id(stream.device_index());
  const c10::Stream before(c10::Stream::UNSAFE, stream.device(), current);
  current = stream.id();
  return before;
}

c10::Stream new_stream(c10::DeviceIndex index, int priority) {
  device(index);
  make_pools(index);
  const int urgency = std::clamp(-priority, 0, kPriorities - 1);
  auto& next = g_next[static_cast<std::size_t>(index)][static_cast<std::size_t>(urgency)];
  const int slot = static_cast<int>(next.fetch_add(1, std::memory_order_relaxed) % kStreamsPerPool);
  return c10::Stream(c10::Stream::UNSAFE, c10::Device(c10::DeviceType::CUDA, index), id_of(slot, urgency));
}

int stream_priority(c10::StreamId id) noexcept {
  return id == 0 || id > kLastId ? 0 : -static_cast<int>((id - 1) % kPriorities);
}

std::uintptr_t native_handle(c10::StreamId id) noexcept {
  if (id == 0 || id > kLastId) return static_cast<std::uintptr_t>(id);
  return kFirstHandle + static_cast<std::uintptr_t>(id) * kHandleStep;
}

c10::StreamId stream_of_handle(std::uintptr_t handle) noexcept {
  const bool ours = handle > kFirstHandle && handle <= kFirstHandle + kLastId * kHandleStep &&
                    (handle - kFirstHandle) % kHandleStep == 0;
  return static_cast<c10::StreamId>(ours ? (handle - kFirstHandle) / kHandleStep : handle);
}

}  // namespace devsan::emulate
