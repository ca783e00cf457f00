#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include "emulate/calls/cpu_call.h"

namespace devsan::emulate {

/// Kernels of operators that make a tensor from no tensor; the only ones on the CUDA dispatch key, and on the CPU's.

/// aten::empty.memory_format on an emulated GPU: a dense tensor of `size` on `device` (default: the current one).
at::Tensor empty(at::IntArrayRef size, std::optional<at::ScalarType> dtype, std::optional<at::Layout> layout,
                 std::optional<at::Device> device, std::optional<bool> pin_memory,
                 std::optional<at::MemoryFormat> memory_format);

/// aten::empty_strided on an emulated GPU.
at::Tensor empty_strided(at::IntArrayRef size, at::IntArrayRef stride, std::optional<at::ScalarType> dtype,
                         std::optional<at::Layout> layout, std::optional<at::Device> device,
                         std::optional<bool> pin_memory);

/// aten::empty.memory_format and aten::empty_strided on the host: torch's own, noted.
at::Tensor empty_on_host(at::IntArrayRef size, std::optional<at::ScalarType> dtype, std::optional<at::Layout> layout,
                         std::optional<at::Device> device, std::optional<bool> pin_memory,
                         std::optional<at::MemoryFormat> memory_format);
at::Tensor empty_strided_on_host(at::IntArrayRef size, at::IntArrayRef stride, std::optional<at::ScalarType> dtype,
                                 std::optional<at::Layout> layout, std::optional<at::Device> device,
                                 std::optional<bool> pin_memory);

/// aten::_pin_memory of a host tensor: torch's own, whose copy keeps the origin.
at::Tensor pin_on_host(const at::Tensor& self, std::optional<at::Device> device);

/// aten::arange.start_out on the host: torch's own, noted.
at::Tensor& arange_out_on_host(const at::Scalar& start, const at::Scalar& end, const at::Scalar& step, at::Tensor& out);

/// Any other factory (tril_indices, _efficientzerotensor, ...): made by its CPU kernel, put on the device that its
/// `device` argument names.
void make_on_host(const c10::OperatorHandle& op, const CallPlan& plan, torch::jit::Stack* stack);

}  // namespace devsan::emulate
