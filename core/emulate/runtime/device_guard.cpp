#include "emulate/runtime/device_guard.h"

#include <chrono>

#include "emulate/runtime/device.h"
#include "emulate/runtime/gpu_trace.h"
#include "emulate/runtime/storage.h"
#include "emulate/runtime/stream.h"
#include "order/monitor.h"

namespace devsan::emulate {
namespace {

using Tell = c10::impl::PyInterpreterVTable;
using Clock = std::chrono::steady_clock;

/// An event is the moment at which it was recorded: the work before it is done by then.
struct Event {
  Clock::time_point recorded;
  bool timed = false;
  order::VectorClock mark;  ///< what its stream knew, while the order of streams is watched
};

order::Lane lane_of(const c10::Stream& stream) { return {stream.device_index(), stream.id()}; }

/// `lane` goes on after `event`.
void join(order::Lane lane, const void* event) {
  if (C10_LIKELY(!order::Monitor::is_on())) return;
  order::Monitor::instance().wait(lane, static_cast<const Event*>(event)->mark);
}

std::uintptr_t number_of(const void* event) noexcept { return reinterpret_cast<std::uintptr_t>(event); }

const c10::impl::DeviceGuardImplInterface* g_torch_guard = nullptr;

std::atomic<const c10::impl::DeviceGuardImplInterface*>& registry_slot() {
  return c10::impl::device_guard_impl_registry[static_cast<std::size_t>(c10::DeviceType::CUDA)];
}

}  // namespace

c10::DeviceType DeviceGuard::type() const { return c10::DeviceType::CUDA; }

c10::Device DeviceGuard::exchangeDevice(c10::Device device) const {
  const c10::Device before = getDevice();
  if (device.index() != before.index() && device.has_index()) set_current_device(device.index());
  return before;
}

c10::Device DeviceGuard::getDevice() const { return {c10::DeviceType::CUDA, current_device()}; }

void DeviceGuard::setDevice(c10::Device device) const {
  if (device.has_index()) set_current_device(device.index());
}

void DeviceGuard::uncheckedSetDevice(c10::Device device) const noexcept {
  set_current_device_unchecked(device.index());
}

c10::DeviceIndex DeviceGuard::deviceCount() const noexcept { return device_count(); }

c10::DeviceCapability DeviceGuard::getDeviceCapability(c10::Device /*device*/) const { return {}; }

// Autograd asks where it must not be given an exception, also for a tensor that has outlived its emulation: no ordinal is
// refused here.
c10::Stream DeviceGuard::getStream(c10::Device requested) const {
  const c10::DeviceIndex index = requested.has_index() ? requested.index() : current_device();
  return c10::Stream(c10::Stream::UNSAFE, {c10::DeviceType::CUDA, index},
                     index < kMaxDevices ? current_stream_id(index) : c10::StreamId{0});
}

c10::Stream DeviceGuard::getDefaultStream(c10::Device requested) const {
  return c10::Stream(c10::Stream::DEFAULT, resolve(requested));
}

c10::Stream DeviceGuard::getStreamFromGlobalPool(c10::Device requested, bool is_high_priority) const {
  return new_stream(resolve(requested).index(), is_high_priority ? -1 : 0);
}

c10::Stream DeviceGuard::getNewStream(c10::Device requested, int priority) const {
  return new_stream(resolve(requested).index(), priority);
}

c10::Stream DeviceGuard::exchangeStream(c10::Stream stream) const { return exchange_stream(stream); }

void* DeviceGuard::getStreamNativeHandle(const c10::Stream stream) const {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the handle is a name, never an address to read.
  return reinterpret_cast<void*>(native_handle(stream.id()));
}

bool DeviceGuard::queryStream(const c10::Stream& stream) const {
  if (C10_UNLIKELY(order::Monitor::is_on())) order::Monitor::instance().wait(order::kHost, lane_of(stream));
  return true;
}

void DeviceGuard::synchronizeStream(const c10::Stream& stream) const {
  trace(&Tell::trace_gpu_stream_synchronization, native_handle(stream.id()));
  if (C10_UNLIKELY(order::Monitor::is_on())) order::Monitor::instance().wait(order::kHost, lane_of(stream));
}

void DeviceGuard::synchronizeDevice(const c10::DeviceIndex index) const {
  device(index);
  trace(&Tell::trace_gpu_device_synchronization);
  if (C10_UNLIKELY(order::Monitor::is_on())) order::Monitor::instance().wait_for_device(index);
}

void DeviceGuard::recordDataPtrOnStream(const c10::DataPtr& data_ptr, const c10::Stream& stream) const {
  record_stream(data_ptr, stream.id());
}

void DeviceGuard::record(void** event, const c10::Stream& stream, const c10::DeviceIndex index,
                         const c10::EventFlag flag) const {
  TORCH_CHECK(index == -1 || index == stream.device_index(), "Event device index ", index,
              " does not match recording stream's device index ", stream.device_index(), ".");
  if (*event == nullptr) {
    *event = new Event();
    trace(&Tell::trace_gpu_event_creation, number_of(*event));
  }
  auto* state = static_cast<Event*>(*event);
  state->recorded = Clock::now();
  state->timed = flag == c10::EventFlag::BACKEND_DEFAULT;
  trace(&Tell::trace_gpu_event_record, number_of(*event), native_handle(stream.id()));
  if (C10_UNLIKELY(order::Monitor::is_on())) order::Monitor::instance().mark(lane_of(stream), state->mark);
}

void DeviceGuard::block(void* event, const c10::Stream& stream) const {
  if (event == nullptr) return;
  trace(&Tell::trace_gpu_event_wait, number_of(event), native_handle(stream.id()));
  join(lane_of(stream), event);
}

// What is done here at once, the program may learn by asking: it then goes on as after a wait.
bool DeviceGuard::queryEvent(void* event) const {
  if (event != nullptr) join(order::kHost, event);
  return true;
}

void DeviceGuard::destroyEvent(void* event, const c10::DeviceIndex /*index*/) const noexcept {
  if (event == nullptr) return;
  trace(&Tell::trace_gpu_event_deletion, number_of(event));
  delete static_cast<Event*>(event);
}

void DeviceGuard::synchronizeEvent(void* event) const {
  if (event == nullptr) return;
  trace(&Tell::trace_gpu_event_synchronization, number_of(event));
  join(order::kHost, event);
}

double DeviceGuard::elapsedTime(void* start, void* end, const c10::DeviceIndex /*index*/) const {
  TORCH_CHECK(start != nullptr && end != nullptr, "Both events must be recorded before calculating elapsed time.");
  const auto span = static_cast<Event*>(end)->recorded - static_cast<Event*>(start)->recorded;
  return std::chrono::duration<double, std::milli>(span).count();
}

// It is put in at every start: between two emulations, FakeTensorMode replaces a guard that counts no GPU
// (c10::impl::ensureCUDADeviceGuardSet).
void install_device_guard() {
  // Leaked like torch's own guards: a thread may ask for its device while the process ends.
  static const auto* guard = new DeviceGuard();
  const c10::impl::DeviceGuardImplInterface* before = registry_slot().exchange(guard);
  if (before != guard) g_torch_guard = before;
}

// Where torch has no guard for CUDA, or one without a GPU, this one stays: autograd asks it for the stream of a tensor
// that is left, and an exception there ends the process (torch::autograd::InputMetadata's constructor must not throw).
void remove_device_guard() {
  if (g_torch_guard == nullptr || g_torch_guard->deviceCount() == 0) return;
  registry_slot().store(g_torch_guard);
}

}  // namespace devsan::emulate
