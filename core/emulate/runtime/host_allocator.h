#pragma once

#include <c10/core/Allocator.h>
#include <c10/core/Device.h>

#include "record/placement.h"

namespace devsan::emulate {

/// Where the bytes come from.
///
/// The bytes of an emulated tensor lie in host memory. While an operator runs for an emulated GPU (see DeviceScope)
/// every allocation that its CPU kernel makes is charged to that GPU's budget first, so that running out of memory is
/// noticed before host memory is touched. Outside such a scope an allocation goes straight to torch's own allocator,
/// unless it is one whose placement is noted: see NOTE [Origins] in emulate/runtime/origin.h.
class HostAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t bytes) override;
  bool is_simple_data_ptr(const c10::DataPtr& data_ptr) const override;
  c10::DeleterFnPtr raw_deleter() const override;
  void copy_data(void* dest, const void* src, std::size_t count) const override;

  /// Allocates and charges `bytes` to `cuda:index`. The result is labeled `cpu`.
  /// Raises torch.OutOfMemoryError when the budget does not hold them.
  c10::DataPtr allocate_charged(size_t bytes, c10::DeviceIndex index);

  /// Puts this allocator before torch's CPU allocator, for good: memory that was allocated raw through it may be freed
  /// long after an emulation has ended. Outside a DeviceScope it costs one thread-local read.
  void install();
};

HostAllocator& host_allocator();

/// Has all memory begin with zeros, so that what a program reads before it writes it is the same in each run.
void begin_with_zeros(bool wanted);

/// While it lives, what the calling thread allocates says that it comes from `origin`.
class OriginScope {
 public:
  explicit OriginScope(record::Origin origin) noexcept;
  ~OriginScope();
  OriginScope(const OriginScope&) = delete;
  OriginScope& operator=(const OriginScope&) = delete;

 private:
  record::Origin previous_;
};

/// Whether it is known already where the calling thread's next allocation comes from: it is in one of these scopes.
bool has_origin() noexcept;

/// What the calling thread's next allocation of ours would say; unknown outside of these scopes.
record::Origin current_origin() noexcept;

/// While it lives, the calling thread's CPU allocations are charged to `cuda:index`.
class DeviceScope {
 public:
  explicit DeviceScope(c10::DeviceIndex index, record::Origin origin = {}) noexcept;
  ~DeviceScope();
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  c10::DeviceIndex previous_;
  OriginScope origin_;
};

}  // namespace devsan::emulate
