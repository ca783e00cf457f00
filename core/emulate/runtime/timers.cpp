#include "emulate/runtime/timers.h"

#include <chrono>
#include <memory>
#include <optional>

#include <torch/csrc/profiler/stubs/base.h>
#include <torch/csrc/distributed/c10d/reducer_timer.hpp>

#include "emulate/runtime/device.h"

namespace devsan::emulate {
namespace {

using torch::profiler::impl::ProfilerStubs;
using torch::profiler::impl::ProfilerVoidEventStub;
using Clock = std::chrono::steady_clock;

class Stubs final : public ProfilerStubs {
 public:
  void record(c10::DeviceIndex* device, ProfilerVoidEventStub* event, int64_t* cpu_ns) const override {
    const auto now = Clock::now();
    if (device != nullptr) *device = current_device();
    *event = std::make_shared<Clock::time_point>(now);
    if (cpu_ns != nullptr) {
      *cpu_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(now.time_since_epoch()).count();
    }
  }

  float elapsed(const ProfilerVoidEventStub* event, const ProfilerVoidEventStub* event2) const override {
    const auto span = *static_cast<Clock::time_point*>(event2->get()) - *static_cast<Clock::time_point*>(event->get());
    return std::chrono::duration<float, std::micro>(span).count();
  }

  // NVTX: there is no tool that would show the ranges.
  void mark(const char* /*name*/) const override {}
  void rangePush(const char* /*name*/) const override {}
  void rangePop() const override {}

  bool enabled() const override { return true; }

  void onEachDevice(std::function<void(int)> op) const override {
    const c10::DeviceIndex before = current_device();
    for (c10::DeviceIndex i = 0; i < device_count(); ++i) {
      set_current_device(i);
      op(i);
    }
    set_current_device_unchecked(before);
  }

  void synchronize() const override {}
};

ProfilerStubs* g_torch_stubs = nullptr;

/// Every operator is finished when it returns, so the host's clock tells the device's time.
class HostClock final : public c10d::Timer {
 public:
  std::optional<int64_t> measureDifference(Event start, Event end) override {
    const std::optional<int64_t> from = getTimestamp(start);
    const std::optional<int64_t> to = getTimestamp(end);
    // As CPU's timer does: an end that is before the start belongs to another iteration.
    if (!from.has_value() || !to.has_value() || *to < *from) return std::nullopt;
    return *to - *from;
  }
};

}  // namespace

void install_profiler() {
  if (g_torch_stubs != nullptr) return;
  static auto* stubs = new Stubs();  // leaked, as torch's own: a profiler may still run while the process ends
  // torch hands its own out as const and takes them back as they were given.
  g_torch_stubs = const_cast<ProfilerStubs*>(torch::profiler::impl::cudaStubs());
  torch::profiler::impl::registerCUDAMethods(stubs);
}

void remove_profiler() {
  if (g_torch_stubs == nullptr) return;
  torch::profiler::impl::registerCUDAMethods(g_torch_stubs);
  g_torch_stubs = nullptr;
}

void register_reducer_timer() {
  static const bool registered = [] {
    c10d::TimerRegistry()->Register(
        c10::kCUDA, [](c10::Device) -> std::unique_ptr<c10d::Timer> { return std::make_unique<HostClock>(); },
        c10::REGISTRY_PREFERRED);
    return true;
  }();
  (void)registered;
}

}  // namespace devsan::emulate
