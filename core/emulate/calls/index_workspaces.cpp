#include "emulate/calls/workspace_rows.h"

#include <array>

#include <ATen/CPUFunctions.h>
#include <ATen/ExpandUtils.h>
#include <c10/util/llvmMathExtras.h>

#include "emulate/calls/radix_sort.h"
#include "emulate/calls/scan_table.h"
#include "emulate/runtime/device.h"
#include "emulate/runtime/full_size/unknown.h"
#include "emulate/runtime/tensor.h"

namespace devsan::emulate {
namespace {

/// aten/src/ATen/cuda/cub.cuh, get_num_bits.
std::size_t bits_of(std::size_t largest) { return largest == 0 ? 1 : c10::llvm::Log2_64(largest) + 1; }

bool is_mask(const at::Tensor& index) { return index.scalar_type() == at::kBool || index.scalar_type() == at::kByte; }

/// How many elements a mask selects; all where its numbers were never computed, as those of a result then are.
std::size_t selected_by(const at::Tensor& mask) {
  const at::Tensor host = on_host(mask);
  if (!host.is_cpu() || is_unknown_on_host(host)) return count_of(mask);
  return static_cast<std::size_t>(*at::cpu::count_nonzero(host, at::IntArrayRef{}).const_data_ptr<std::int64_t>());
}

/// aten/src/ATen/native/IndexingUtils.h, expandTensors: the places that a mask selects, a number for each dimension.
std::size_t places_of_masks(const c10::IValue& indices) {
  std::size_t bytes = 0;
  for (const c10::IValue& index : indices.toListRef()) {
    if (!is_given(index) || !is_mask(index.toTensor())) continue;
    const at::Tensor& mask = index.toTensor();
    bytes += rounded(selected_by(mask) * static_cast<std::size_t>(mask.dim()) * kLongBytes);
  }
  return bytes;
}

std::size_t picked(Workspace::Arguments arguments) { return places_of_masks(arguments[1]); }

/// aten/src/ATen/native/cuda/IndexKernel.cpp, masked_select_out_cuda_impl: self[mask], both expanded.
std::size_t selected(Workspace::Arguments arguments) {
  const at::Tensor& self = arguments[0].toTensor();
  const at::Tensor& mask = arguments[1].toTensor();
  if (mask.numel() == 0 || mask.scalar_type() != at::kBool) return 0;
  const auto sizes = at::infer_size_dimvector(self.sizes(), mask.sizes());
  const std::size_t copies = static_cast<std::size_t>(c10::multiply_integers(sizes)) / count_of(mask);
  return selected_by(mask) * copies * std::max<std::size_t>(sizes.size(), 1) * kLongBytes;
}

/// The same file, masked_scatter__cuda, and IndexKernel.cu: how many are selected before each element, by a scan.
std::size_t scattered(Workspace::Arguments arguments) {
  const at::Tensor& self = arguments[0].toTensor();
  const at::Tensor& mask = arguments[1].toTensor();
  const at::Tensor& source = arguments[2].toTensor();
  const std::size_t count = count_of(self);
  if (count == 0) return 0;
  const bool is_whole = mask.sizes() == self.sizes() && mask.is_contiguous();
  const std::size_t copies =
      (is_whole ? 0 : rounded(count)) + (source.is_contiguous() ? 0 : rounded(count_of(source) * source.itemsize()));
  return count * kLongBytes + copies + scan_table(count, at::kLong);
}

/// aten/src/ATen/native/cuda/Indexing.cu, index_put_with_sort_kernel, which adds up what meets in one place: the places of
/// all values, and sorted, with where they come from before and after.
std::size_t added_up(const at::Tensor& self, const c10::IValue& indices) {
  at::DimVector shape;
  std::size_t places = 1;
  std::size_t dim = 0;
  bool any = false;
  for (const c10::IValue& index : indices.toListRef()) {
    if (!is_given(index)) {
      ++dim;
      continue;
    }
    const at::Tensor& tensor = index.toTensor();
    const std::size_t dims = is_mask(tensor) ? static_cast<std::size_t>(tensor.dim()) : 1;
    const at::DimVector found =
        is_mask(tensor) ? at::DimVector{static_cast<std::int64_t>(selected_by(tensor))} : at::DimVector(tensor.sizes());
    shape = any ? at::infer_size_dimvector(shape, found) : found;
    any = true;
    for (const std::size_t end = dim + dims; dim < end; ++dim) places *= static_cast<std::size_t>(self.sizes()[dim]);
  }
  if (shape.empty()) return 0;
  const auto count = static_cast<std::size_t>(c10::multiply_integers(shape));
  return 4 * count * kLongBytes + radix_sort_buffers(device(self.device().index()).spec, count, kLongBytes, kLongBytes,
                                                     bits_of(std::max<std::size_t>(places, 1) - 1));
}

/// aten/src/ATen/native/TensorAdvancedIndexing.cpp, _index_put_impl_: where a mask selects what one number of the host
/// replaces, its places are not looked for.
std::size_t put(Workspace::Arguments arguments) {
  const at::Tensor& self = arguments[0].toTensor();
  const at::Tensor& values = arguments[2].toTensor();
  if (!self.is_cuda()) return 0;  // indices of a GPU may lead into a tensor of the CPU
  if (arguments[3].toBool()) return added_up(self, arguments[1]);
  return values.is_cpu() && values.numel() == 1 ? 0 : places_of_masks(arguments[1]);
}

}  // namespace

c10::ArrayRef<WorkspaceRow> index_workspaces() {
  static constexpr auto kRows = std::to_array<WorkspaceRow>({
      {"aten::index.Tensor", &picked},
      {"aten::index.Tensor_out", &picked},
      {"aten::masked_select", &selected},
      {"aten::masked_select.out", &selected},
      {"aten::masked_scatter_", &scattered},
      {"aten::_index_put_impl_", &put},
  });
  return kRows;
}

}  // namespace devsan::emulate
