#include "emulate/runtime/gpu_trace.h"

#include <ATen/core/enum_tag.h>
#include <c10/core/Event.h>

#include "emulate/runtime/device_guard.h"
#include "emulate/runtime/stream.h"

namespace devsan::emulate {
namespace {

using Tell = c10::impl::PyInterpreterVTable;

void wait_for_host(c10::DeviceIndex index) {
  trace(&Tell::trace_gpu_stream_synchronization, native_handle(current_stream_id(index)));
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
  if (C10_LIKELY(!is_traced()) || target.device() == source.device() || target.numel() == 0) return;
  if (target.is_cuda() && source.is_cuda()) {
    wait_for_each_other(target.device(), source.device());  // the copy runs on the source's stream
    wait_for_each_other(source.device(), target.device());
  } else if (!non_blocking) {
    wait_for_host(target.is_cuda() ? target.get_device() : source.get_device());
  }
}

bool is_awaited(const c10::OperatorHandle& op) {
  return op.hasTag(at::Tag::data_dependent_output) || op.hasTag(at::Tag::dynamic_output_shape);
}

void trace_waiting(const c10::OperatorHandle& op, c10::Device device) {
  if (C10_UNLIKELY(is_traced()) && is_awaited(op)) wait_for_host(device.index());
}

}  // namespace devsan::emulate
