#pragma once

#include <c10/core/Allocator.h>
#include <c10/core/Device.h>

#include "record/placement.h"

namespace devsan::emulate {

/// Where the bytes come from.
///
/// The bytes of an emulated tensor lie in host memory. While an operator runs for an emulated GPU (see DeviceScope), what
/// its CPU kernel allocates is charged to that GPU's budget if the kernel returns it (NOTE [Charged when it is kept]). A
/// result that the budget does not hold is refused before host memory is touched. Outside such a scope an allocation goes
/// straight to torch's own allocator, unless it is one whose placement is noted: see NOTE [Origins] in
/// emulate/runtime/origin.h.
class HostAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t bytes) override;
  bool is_simple_data_ptr(const c10::DataPtr& data_ptr) const override;
  c10::DeleterFnPtr raw_deleter() const override;
  void copy_data(void* dest, const void* src, std::size_t count) const override;

  /// Allocates and charges `bytes` to `cuda:index`; inside of a KernelMemory they stay pending. The result is labeled
  /// `cpu`.
  /// Raises torch.OutOfMemoryError when the budget does not hold them.
  c10::DataPtr allocate_charged(size_t bytes, c10::DeviceIndex index) {
    return allocate_charged(bytes, index, Source::kTorch);
  }

  /// As `allocate`, of memory that nobody writes: see NOTE [Tensors without numbers].
  c10::DataPtr allocate_unwritten(size_t bytes);

  /// Puts this allocator before torch's CPU allocator, for good: memory that was allocated raw through it may be freed
  /// long after an emulation has ended. Outside a DeviceScope it costs one thread-local read.
  void install();

 private:
  enum class Source : std::uint8_t { kTorch, kUnwritten };

  c10::DataPtr allocate_charged(size_t bytes, c10::DeviceIndex index, Source source);
  c10::DataPtr allocate_pending(size_t bytes, c10::DeviceIndex index, Source source);
};

HostAllocator& host_allocator();

/// `allocate_unwritten` as an allocator.
c10::Allocator& unwritten_memory();

/// Charges `data_ptr` to `device` if it is pending, for a tensor there is about to hold its `bytes`.
/// Raises torch.OutOfMemoryError when the budget does not hold them.
void charge_if_pending(const c10::DataPtr& data_ptr, size_t bytes, c10::Device device);

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

/// What a call of a kernel is going to return, as far as it can be told while the kernel runs.
class ExpectedResults {
 public:
  ExpectedResults() = default;
  ExpectedResults(const ExpectedResults&) = delete;
  ExpectedResults& operator=(const ExpectedResults&) = delete;

  /// Whether an allocation of `bytes` is one of the results, which it takes from those that are expected. Asked only for
  /// what the GPU may have no room for.
  virtual bool take(size_t bytes) = 0;

 protected:
  ~ExpectedResults() = default;
};

/// While it lives, the calling thread's CPU allocations are charged to `cuda:index`: at once, or, where `results` says what
/// the call returns, when they are kept. They say that they come from `origin`, or as it was said before.
class DeviceScope {
 public:
  explicit DeviceScope(c10::DeviceIndex index, record::Origin origin = current_origin(),
                       ExpectedResults* results = nullptr) noexcept;
  ~DeviceScope();
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  c10::DeviceIndex previous_;
  ExpectedResults* previous_results_;
  OriginScope origin_;
};

}  // namespace devsan::emulate
