#pragma once

#include <cstddef>
#include <string>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <c10/core/Device.h>
#include <c10/util/ArrayRef.h>

namespace devsan::emulate {

/// The memory that CUDA's kernel of an operator takes beside its results.
struct Workspace {
  using Arguments = c10::ArrayRef<c10::IValue>;

  /// How much it holds while it runs, by the call's arguments; null for nothing.
  std::size_t (*bytes)(Arguments arguments) = nullptr;
  /// How many bytes its first result keeps where these are more than its elements take; null for no more.
  std::size_t (*kept)(Arguments arguments) = nullptr;
  /// It calls cuBLAS: see NOTE [Workspaces of cuBLAS].
  bool uses_cublas = false;

  [[nodiscard]] bool is_needed() const noexcept { return bytes != nullptr || uses_cublas; }
};

/// That of an operator, by its full name ("aten::mm.out").
Workspace workspace_of(const std::string& name);

/// Charges a workspace to `device` once: to be called when the results of the kernel are charged.
/// @param bytes what it holds while it runs
/// Raises torch.OutOfMemoryError.
void take_workspace(const Workspace& workspace, std::size_t bytes, c10::Device device);

/// Gives a kernel's result, on the host yet, the memory that CUDA's has.
/// @param bytes of its storage, if they are more than it has
void keep_memory(const at::Tensor& result, std::size_t bytes);

}  // namespace devsan::emulate
