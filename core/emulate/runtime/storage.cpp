#include "emulate/runtime/storage.h"

#include <algorithm>
#include <cstring>

#include "emulate/runtime/charged_memory.h"
#include "emulate/runtime/device.h"
#include "emulate/runtime/device_allocator.h"
#include "emulate/runtime/host_allocator.h"
#include "emulate/runtime/origin.h"
#include "order/monitor.h"

namespace devsan::emulate {
namespace {

using HostPtr = c10::intrusive_ptr<c10::StorageImpl>;

/// The context of a virtual storage's DataPtr is a counted reference to the host storage, and nothing more.
void release_host(void* context) { HostPtr::reclaim(static_cast<c10::StorageImpl*>(context)); }

void release_derived(void* context) { delete static_cast<c10::Storage*>(context); }

/// What keeps moved bytes alive: their new home, and the allocation that carries the charge.
struct Moved {
  c10::Storage home;
  c10::DataPtr former;
};

void release_moved(void* context) { delete static_cast<Moved*>(context); }

c10::DataPtr label(HostPtr host, c10::Device device) {
  void* data = host->mutable_data();
  return {data, host.release(), &release_host, device};
}

}  // namespace

c10::Storage make_virtual_storage(HostPtr host, c10::Device device) {
  const size_t bytes = host->nbytes();
  charge_if_pending(host->data_ptr(), bytes, device);
  return c10::Storage(c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(), bytes,
                                                            label(std::move(host), device), &device_allocator(),
                                                            /*resizable=*/true));
}

c10::Storage allocate_virtual_storage(size_t bytes, c10::Device device) {
  const OriginScope origin(note_made(record::kNoOperator, device.index()));
  auto host = c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(), bytes,
                                                    host_allocator().allocate_charged(bytes, device.index()),
                                                    &host_allocator(), /*resizable=*/true);
  return make_virtual_storage(std::move(host), device);
}

bool is_virtual(const c10::StorageImpl& storage) noexcept { return storage.data_ptr().get_deleter() == &release_host; }

HostPtr host_storage(c10::StorageImpl& storage) {
  const c10::DataPtr& data_ptr = storage.data_ptr();
  if (C10_LIKELY(data_ptr.get_deleter() == &release_host)) {
    return HostPtr::reclaim_copy(static_cast<c10::StorageImpl*>(data_ptr.get_context()));
  }
  auto* keep = new c10::Storage(c10::intrusive_ptr<c10::StorageImpl>::reclaim_copy(&storage));
  return c10::make_intrusive<c10::StorageImpl>(
      c10::StorageImpl::use_byte_size_t(), storage.nbytes(),
      c10::DataPtr(storage.mutable_data(), keep, &release_derived, c10::Device(c10::DeviceType::CPU)), nullptr,
      /*resizable=*/false);
}

void follow_host(c10::StorageImpl& storage) {
  if (!is_virtual(storage)) return;
  auto* host = static_cast<c10::StorageImpl*>(storage.data_ptr().get_context());
  if (host->data() != storage.data()) {
    charge_if_pending(host->data_ptr(), host->nbytes(), storage.device());
    storage.set_data_ptr_noswap(label(HostPtr::reclaim_copy(host), storage.device()));
  }
  if (host->nbytes() != storage.nbytes()) storage.set_nbytes(host->nbytes());
}

void resize(c10::StorageImpl& storage, size_t bytes) {
  TORCH_CHECK(is_virtual(storage) && storage.resizable(), "Trying to resize storage that is not resizable");
  const HostPtr host = host_storage(storage);
  const OriginScope origin(origin_of(host->data_ptr()));
  c10::DataPtr fresh = host_allocator().allocate_charged(bytes, storage.device().index());
  const size_t kept = std::min(bytes, host->nbytes());
  if (kept != 0) std::memcpy(fresh.get(), host->data(), kept);
  host->set_data_ptr_noswap(std::move(fresh));
  host->set_nbytes(bytes);
  follow_host(storage);
}

void move_bytes(c10::StorageImpl& storage, const c10::Storage& home) {
  TORCH_CHECK(is_virtual(storage), "devsan: expected a storage of an emulated GPU, got one on ", storage.device());
  const HostPtr host = host_storage(storage);
  TORCH_CHECK(home.nbytes() >= host->nbytes(), "devsan: expected room for ", host->nbytes(), " bytes, got ",
              home.nbytes());
  void* data = home.mutable_data();
  if (host->nbytes() != 0) std::memcpy(data, host->data(), host->nbytes());
  auto* moved = new Moved{home, {}};
  moved->former = host->set_data_ptr(c10::DataPtr(data, moved, &release_moved, c10::Device(c10::DeviceType::CPU)));
  follow_host(storage);
}

std::optional<c10::Storage> home_of(c10::StorageImpl& storage) {
  const HostPtr host = host_storage(storage);
  if (host->data_ptr().get_deleter() != &release_moved) return std::nullopt;
  return static_cast<Moved*>(host->data_ptr().get_context())->home;
}

void record_stream(const c10::DataPtr& data_ptr, c10::StreamId stream) {
  if (data_ptr.get_deleter() != &release_host) return;
  const auto* host = static_cast<const c10::StorageImpl*>(data_ptr.get_context());
  memory::Block* block = block_of(host->data_ptr());
  if (block == nullptr) return;
  order::Monitor::follow();
  device(data_ptr.device().index()).allocator.record_stream(block, stream);
}

}  // namespace devsan::emulate
