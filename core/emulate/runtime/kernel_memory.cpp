#include "emulate/runtime/kernel_memory.h"

#include <algorithm>

#include <c10/util/Exception.h>

#include "emulate/runtime/charged_memory.h"
#include "emulate/runtime/device.h"
#include "emulate/runtime/host_allocator.h"
#include "emulate/runtime/layouts.h"
#include "emulate/runtime/momentary.h"
#include "emulate/runtime/peak_cause.h"
#include "emulate/runtime/storage.h"
#include "emulate/runtime/stream.h"
#include "emulate/runtime/tensor.h"
#include "memory/out_of_memory.h"

namespace devsan::emulate {
namespace {

thread_local KernelMemory* t_kernel = nullptr;

}  // namespace

KernelMemory::KernelMemory(c10::DeviceIndex index) noexcept : device_(find_device(index)), previous_(t_kernel) {
  t_kernel = this;
}

KernelMemory::~KernelMemory() {
  close();
  if (device_ == nullptr) return;
  for (memory::Block* block : results_) device_->allocator.free(block);
  for (memory::Block* block : scratch_) device_->allocator.free(block);
}

KernelMemory* KernelMemory::current() noexcept { return t_kernel; }

memory::Block* KernelMemory::take(std::size_t bytes) {
  // Within another kernel only that one's memory counts.
  if (device_ == nullptr || previous_ != nullptr) return nullptr;
  try {
    memory::Block* block = device_->allocator.allocate(bytes, current_stream_id(device_->index), /*stack=*/0,
                                                       /*tag=*/0, computes_for_a_moment());
    tell_peak_cause(device_->allocator);
    return block;
  } catch (const memory::OutOfMemory& error) {
    TORCH_CHECK_WITH(OutOfMemoryError, false, error.what());
  }
}

void KernelMemory::result(std::size_t bytes) {
  if (memory::Block* block = take(bytes)) results_.push_back(block);
}

void KernelMemory::scratch(std::size_t bytes) {
  if (memory::Block* block = take(bytes)) scratch_.push_back(block);
}

void KernelMemory::for_a_moment(std::initializer_list<std::size_t> sizes) {
  const std::size_t held = scratch_.size();
  for (const std::size_t bytes : sizes) scratch(bytes);
  while (scratch_.size() > held) {
    device_->allocator.free(scratch_.back());
    scratch_.pop_back();
  }
}

void KernelMemory::close() noexcept {
  if (t_kernel == this) t_kernel = previous_;
}

void KernelMemory::keep(const at::Tensor& tensor) {
  if (previous_ != nullptr || !is_virtual(tensor)) return;
  if (!tensor.unsafeGetTensorImpl()->has_storage()) {
    for (const at::Tensor& member : sparse_members(tensor)) keep(member);
    return;
  }
  const auto host = host_storage(*tensor.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl());
  if (!is_pending(host->data_ptr())) return;
  const auto found = std::find_if(results_.begin(), results_.end(),
                                  [&](const memory::Block* block) { return block->requested_size == host->nbytes(); });
  if (found == results_.end() || tensor.device().index() != device_->index) {
    charge_if_pending(host->data_ptr(), host->nbytes(), tensor.device());
    return;
  }
  device_->allocator.set_tag(*found, tag_of(origin_of(host->data_ptr())));
  set_charge(host->data_ptr(), device_->allocator, *found);
  results_.erase(found);
}

}  // namespace devsan::emulate
