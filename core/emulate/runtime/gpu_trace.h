#pragma once

#include <type_traits>

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/impl/GPUTrace.h>

namespace devsan::emulate {

// NOTE [What torch.cuda._gpu_trace is told]
// Events, streams, memory and waiting are told where torch's CUDA code tells them (c10/cuda/CUDACachingAllocator.cpp,
// CUDAStream.cpp, CUDAFunctions.h, impl/CUDAGuardImpl.h), in the same order and with the numbers that Python sees:
// cuda_stream, cuda_event, data_ptr. torch.cuda._sanitizer makes an order of these, and takes what is missing for a race.
// The emulation does not wait anywhere, and so it also tells where CUDA would: when bytes come from the host or go there,
// and for operators whose result the host must know. Who follows the order of streams learns of that waiting here too.

/// Whether somebody listens: torch._C._activate_gpu_trace was called.
inline bool is_traced() noexcept { return c10::impl::GPUTrace::get_trace() != nullptr; }

/// Tells whoever listens. One load of a flag while nobody does.
template <class... Arguments>
void trace(void (c10::impl::PyInterpreterVTable::*tell)(c10::DeviceType, Arguments...) const,
           std::type_identity_t<Arguments>... arguments) {
  const c10::impl::PyInterpreter* interpreter = c10::impl::GPUTrace::get_trace();
  if (C10_UNLIKELY(interpreter != nullptr)) (interpreter->vtable_->*tell)(c10::kCUDA, arguments...);
}

/// Tells of the waiting of a copy, as aten/src/ATen/native/cuda/Copy.cu does: the host waits for the stream, unless it
/// need not; two GPUs wait for each other.
void trace_copy(const at::Tensor& target, const at::Tensor& source, bool non_blocking);

/// Whether CUDA's kernel of `op` makes the host wait, because the host must know what comes out: a number, a size.
bool is_awaited(const c10::OperatorHandle& op);

/// Tells that the host waits for `op` on `device`, if it does.
void trace_waiting(const c10::OperatorHandle& op, c10::Device device);

}  // namespace devsan::emulate
