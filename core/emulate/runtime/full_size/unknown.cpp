#include "emulate/runtime/full_size/unknown.h"

#include <algorithm>

#include <ATen/EmptyTensor.h>

#include "emulate/runtime/charged_memory.h"
#include "emulate/runtime/full_size/lazy_memory.h"
#include "emulate/runtime/host_allocator.h"
#include "emulate/runtime/storage.h"
#include "emulate/runtime/tensor.h"

namespace devsan::emulate {

std::atomic<bool> FullSize::on_{false};
std::atomic<bool> FullSize::was_on_{false};
std::atomic<std::size_t> FullSize::real_below_{0};

namespace {

/// Of a complex number, the largest. A single number has its value wherever the line is: torch makes a tensor of each scalar.
constexpr std::size_t kOneNumber = 16;

/// Pointers to protected members, named through a derived class as the language allows.
struct Members : c10::TensorImpl {
  static constexpr c10::DispatchKeySet c10::TensorImpl::*keys_member() { return &Members::key_set_; }
};

/// What is small has memory, for its stand-ins.
c10::Allocator* allocator_of(std::size_t bytes) {
  if (bytes <= FullSize::real_below()) return &host_allocator();
  return &unwritten_memory();
}

/// By how much a tensor of this type may be larger and still have numbers.
std::size_t width(at::ScalarType dtype) {
  switch (dtype) {
    case at::kLong:
    case at::kInt:
    case at::kShort:
    case at::kBool:
      return 256;
    case at::kByte:
      return 16;  // pickled objects, which ranks exchange; but quantized weights, too
    default:
      return 1;
  }
}

}  // namespace

void FullSize::start(std::size_t real_below) noexcept {
  real_below_.store(std::max(real_below, kOneNumber), std::memory_order_relaxed);
  was_on_.store(true, std::memory_order_relaxed);
  on_.store(true, std::memory_order_relaxed);
}

void FullSize::stop() noexcept { on_.store(false, std::memory_order_relaxed); }

bool FullSize::leaves_out(std::size_t bytes, at::ScalarType dtype) noexcept {
  if (!is_on()) return false;
  return bytes / width(dtype) > real_below();
}

bool is_unknown(const at::Tensor& tensor) noexcept {
  if (C10_LIKELY(!FullSize::was_on()) || !tensor.defined()) return false;
  if (!is_virtual(tensor)) return is_unknown_on_host(tensor);
  const c10::TensorImpl* impl = tensor.unsafeGetTensorImpl();
  return impl->has_storage() &&
         is_unknown_memory(host_storage(*impl->unsafe_storage().unsafeGetStorageImpl())->data_ptr());
}

bool is_untouched(const at::Tensor& tensor) noexcept {
  const c10::TensorImpl* impl = tensor.unsafeGetTensorImpl();
  if (!is_unknown_on_host(tensor) || !impl->has_storage()) return false;
  return static_cast<std::size_t>(impl->numel()) * impl->itemsize() > FullSize::real_below() ||
         is_lazy_memory(impl->unsafe_storage().data_ptr());
}

void set_unknown(const at::Tensor& host) {
  c10::TensorImpl* impl = host.unsafeGetTensorImpl();
  auto& keys = impl->*Members::keys_member();
  keys = keys.add(kUnknownKey);
  if (impl->has_storage()) set_unknown_memory(impl->unsafe_storage().data_ptr());
}

at::Tensor make_unknown(at::IntArrayRef sizes, at::IntArrayRef strides, at::ScalarType dtype) {
  at::Tensor made = at::detail::empty_strided_generic(
      sizes, strides, allocator_of(at::detail::computeStorageNbytes(sizes, strides, at::elementSize(dtype))),
      c10::DispatchKeySet(c10::DispatchKey::CPU), dtype);
  set_unknown(made);
  return made;
}

at::Tensor make_unknown(at::IntArrayRef sizes, at::ScalarType dtype, std::optional<at::MemoryFormat> memory_format) {
  at::Tensor made = at::detail::empty_generic(
      sizes, allocator_of(at::detail::computeStorageNbytesContiguous(sizes, at::elementSize(dtype))),
      c10::DispatchKeySet(c10::DispatchKey::CPU), dtype, memory_format);
  set_unknown(made);
  return made;
}

void resize_unknown(const at::Tensor& host, std::size_t bytes) {
  c10::StorageImpl* storage = host.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl();
  storage->set_data_ptr_noswap(unwritten_memory().allocate(bytes));
  storage->set_nbytes(bytes);
}

}  // namespace devsan::emulate
