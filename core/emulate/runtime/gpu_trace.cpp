#include "emulate/runtime/gpu_trace.h"

#include <ATen/core/enum_tag.h>
#include <c10/core/Event.h>

#include "emulate/runtime/device_guard.h"
#include "emulate/runtime/pinned_memory.h"
#include "emulate/runtime/stream.h"
#include "order/monitor.h"

namespace devsan::emulate {
namespace {

using Tell = c10::impl::PyInterpreterVTable;

bool is_followed() noexcept { return C10_UNLIKELY(is_traced() || order::Monitor::is_on()); }

/// The host knows from here on that the current stream of that GPU is done.
void learn(c10::DeviceIndex index) {
  if (order::Monitor::is_on()) order::Monitor::instance().wait(order::kHost, {index, current_stream_id(index)});
}

void wait_for_host(c10::DeviceIndex index) {
  trace(&Tell::trace_gpu_stream_synchronization, native_handle(current_stream_id(index)));
  learn(index);
}

/// What is done on the stream of `later` from here on comes after what was done on the stream of `earlier`.
void wait_for_each_other(c10::Device earlier, c10::Device later) {
  const DeviceGuard guard;
  c10::Event event(c10::kCUDA);
  event.record(guard.getStream(earlier));
  event.block(guard.getStream(later));
}

}  // namespace

void trace_copy(const at::Tensor& target, const at::Tensor& source, bool non_blocking) {
  if (!is_followed() || target.device() == source.device() || target.numel() == 0) return;
  if (target.is_cuda() && source.is_cuda()) {
    wait_for_each_other(target.device(), source.device());  // the copy runs on the source's stream
    wait_for_each_other(source.device(), target.device());
    return;
  }
  const c10::DeviceIndex gpu = target.is_cuda() ? target.get_device() : source.get_device();
  if (!non_blocking) {
    wait_for_host(gpu);
  } else if (target.is_cpu() && !is_pinned(target.storage().data())) {
    learn(gpu);  // cudaMemcpyAsync returns when pageable memory has been written
  }
}

bool is_awaited(const c10::OperatorHandle& op) {
  return op.hasTag(at::Tag::data_dependent_output) || op.hasTag(at::Tag::dynamic_output_shape);
}

void trace_waiting(const c10::OperatorHandle& op, c10::Device device) {
  if (is_followed() && is_awaited(op)) wait_for_host(device.index());
}

}  // namespace devsan::emulate
