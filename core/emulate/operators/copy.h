#pragma once

#include <ATen/core/Tensor.h>

namespace devsan::emulate {

/// Operators that may join tensors of several devices, or that bind a tensor to a storage.

/// aten::copy_: from any device to any device.
at::Tensor& copy_(at::Tensor& self, const at::Tensor& source, bool non_blocking);

/// aten::copy_ between sparse, or nested, tensors of any two devices.
at::Tensor& copy_any_layout_(at::Tensor& self, const at::Tensor& source, bool non_blocking);

/// aten::_to_copy: torch's own. A copy to the host says where it comes from.
at::Tensor to_copy(const at::Tensor& self, std::optional<at::ScalarType> dtype, std::optional<at::Layout> layout,
                   std::optional<at::Device> device, std::optional<bool> pin_memory, bool non_blocking,
                   std::optional<at::MemoryFormat> memory_format);

/// aten::_copy_from: the other way round, used by torch where the source decides.
at::Tensor copy_from(const at::Tensor& self, const at::Tensor& destination, bool non_blocking);

/// aten::set_.source_Storage_storage_offset.
at::Tensor& set_storage(at::Tensor& self, at::Storage source, std::int64_t offset, at::IntArrayRef size,
                        at::IntArrayRef stride);
/// aten::set_.source_Storage: the whole storage as one dimension.
at::Tensor& set_whole_storage(at::Tensor& self, at::Storage source);
/// aten::set_.source_Tensor: the storage, sizes and strides of `source`.
at::Tensor& set_tensor(at::Tensor& self, const at::Tensor& source);
/// aten::set_: no elements, no bytes.
at::Tensor& set_empty(at::Tensor& self);

/// aten::record_stream: the block may not be reused before `stream` is done with it.
void record_stream_of(at::Tensor& self, at::Stream stream);

/// aten::_has_compatible_shallow_copy_type: a tensor may change from and to an emulated GPU in place, as between the
/// CPU and CUDA, so that a Parameter stays the same object under `.to` and `.data =`.
bool has_compatible_shallow_copy_type(const at::Tensor& self, const at::Tensor& from);

}  // namespace devsan::emulate
