#pragma once

#include <optional>

#include <c10/core/Storage.h>
#include <c10/core/Stream.h>

namespace devsan::emulate {

// NOTE [Two storages over the same bytes]
// Kernels that make views inside themselves take the new tensor's device from the storage, so one storage with one
// label cannot serve both sides. A virtual storage, labeled cuda:k, is what the program holds; the context of its
// DataPtr owns a host storage, labeled cpu, over the same bytes. CPU kernels see only tensors on the host storage.

/// The storage labeled `device` over the bytes of `host`, which are charged to it if they are pending.
c10::Storage make_virtual_storage(c10::intrusive_ptr<c10::StorageImpl> host, c10::Device device);

/// A new virtual storage of `bytes` on `device`, charged to its budget.
c10::Storage allocate_virtual_storage(size_t bytes, c10::Device device);

/// Whether `storage` is one that this file made.
bool is_virtual(const c10::StorageImpl& storage) noexcept;

/// Whether `host` is the host storage under `storage`.
inline bool is_over(const c10::Storage& storage, const c10::Storage& host) noexcept {
  return storage.data_ptr().get_context() == host.unsafeGetStorageImpl();
}

/// The host storage under `storage`. For a storage on an emulated GPU that torch derived from ours (a slice of it), a
/// host storage over the same bytes that keeps it alive.
c10::intrusive_ptr<c10::StorageImpl> host_storage(c10::StorageImpl& storage);

/// Brings `storage` up to date after a kernel has resized its host storage.
void follow_host(c10::StorageImpl& storage);

/// As UntypedStorage.resize_: contents are kept up to the smaller size. Bytes are charged to the storage's device.
void resize(c10::StorageImpl& storage, size_t bytes);

/// Moves the bytes of `storage` into those of the CPU storage `home` (shared memory) and keeps `home` alive. The charge
/// stays as it is, and so do the old bytes, which a slice may still point to.
void move_bytes(c10::StorageImpl& storage, const c10::Storage& home);

/// Where the bytes of `storage` have been moved to, if they have.
std::optional<c10::Storage> home_of(c10::StorageImpl& storage);

/// Tells the memory model that `stream` uses the block under `data_ptr` (Tensor.record_stream).
void record_stream(const c10::DataPtr& data_ptr, c10::StreamId stream);

}  // namespace devsan::emulate
