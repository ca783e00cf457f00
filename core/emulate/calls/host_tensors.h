#pragma once

#include <cstdint>

#include <c10/util/SmallVector.h>

#include "emulate/runtime/full_size/unknown.h"
#include "emulate/runtime/tensor.h"
#include "record/placement.h"

namespace devsan::emulate {

/// Where a call's tensors are. Filled without a lock or an allocation.
struct Placement {
  c10::Device device = c10::Device(c10::DeviceType::CPU);  ///< of the first emulated operand
  bool any = false;                                        ///< some operand is emulated
  bool mixed = false;                                      ///< some operand is on another device
  int host_scalars = 0;      ///< 0-dim CPU tensors that are only read; not counted in `mixed`
  std::uint64_t dtypes = 0;  ///< of the emulated operands, a bit for each at::ScalarType

  void look_at(const at::Tensor& tensor, bool written) {
    if (!tensor.defined()) return;
    if (C10_LIKELY(is_virtual(tensor))) {
      dtypes |= std::uint64_t{1} << static_cast<unsigned>(tensor.scalar_type());
      if (!any) {
        any = true;
        device = tensor.device();
      } else if (tensor.device() != device) {
        mixed = true;
      }
    } else if (!written && tensor.is_cpu() && tensor.dim() == 0) {
      ++host_scalars;
    } else {
      mixed = true;
    }
  }
};

/// The emulated tensors of one call and their host aliases: which alias stands for which tensor, so that results can be
/// recognized.
class HostTensors {
 public:
  HostTensors() = default;
  HostTensors(const HostTensors&) = delete;
  HostTensors& operator=(const HostTensors&) = delete;
  ~HostTensors() {
    for (Pair& pair : pairs_) recycle(std::move(pair.alias));
  }

  /// References that `alias` returns stay valid while there are no more tensors than this.
  static constexpr std::size_t kFew = 4;
  /// Among so many operands the same one is looked for; longer lists are those of optimizers.
  static constexpr std::size_t kMany = 16;

  /// So many more tensors will follow.
  void expect(std::size_t count) { pairs_.reserve(pairs_.size() + count); }

  /// The alias to call the CPU kernel with.
  /// @param written the operator writes it: see `follow_writes`
  const at::Tensor& alias(c10::MaybeOwned<at::Tensor>&& tensor, bool written) {
    // One tensor given twice is one alias: kernels ask whether their `out` is their operand (at::cat, at::gather).
    for (Pair& pair : pairs_) {
      if (C10_UNLIKELY(pair.tensor->unsafeGetTensorImpl() == tensor->unsafeGetTensorImpl())) {
        pair.written |= written;
        return pair.alias;
      }
      if (&pair == &pairs_.front() + kMany) break;
    }
    at::Tensor host = host_alias(*tensor);
    if (C10_UNLIKELY(is_unknown_on_host(host))) any_unknown_ = true;
    pairs_.push_back({std::move(tensor), std::move(host), written});
    return pairs_.back().alias;
  }

  /// A CPU tensor that the operator writes beside emulated ones; it is returned as it is.
  void writes_host(const at::Tensor& tensor) { host_written_ = tensor.unsafeGetTensorImpl(); }

  /// An operand on the host, which is given to the kernel as it is.
  const at::Tensor& as_it_is(const at::Tensor& tensor) {
    if (C10_UNLIKELY(is_unknown_on_host(tensor))) any_unknown_ = true;
    return tensor;
  }

  bool empty() const { return pairs_.empty(); }

  /// Whether the numbers of some operand were never computed.
  bool any_unknown() const noexcept { return any_unknown_; }

  /// Whether some operand has a mebibyte or more, so that a kernel takes longer than a look at it.
  bool any_large() const noexcept {
    constexpr std::size_t kLarge = std::size_t{1} << 20;
    for (const Pair& pair : pairs_) {
      const c10::TensorImpl* impl = pair.alias.unsafeGetTensorImpl();
      if (C10_UNLIKELY(impl->has_storage() && impl->unsafe_storage().nbytes() >= kLarge)) return true;
    }
    return false;
  }

  /// What the results of `op` on these say about where they come from: see NOTE [Origins].
  record::Origin origin(record::OperatorId op) const;

  /// Has what `op` writes come from the first operand that it only reads, where it was made for that: see `note_written`.
  void note_writes(record::OperatorId op) const;

  /// What the caller gets for a tensor that the kernel returned: the caller's own tensor where the kernel wrote one, a
  /// view of it where the kernel made a view, otherwise a tensor on `device`.
  at::Tensor take_back(at::Tensor&& host, c10::Device device) const;

  /// After the kernel: operands that it wrote may have new sizes, or new memory.
  void follow_writes() const {
    for (const Pair& pair : pairs_) {
      if (!pair.written) continue;
      if (C10_LIKELY(pair.alias.unsafeGetTensorImpl()->has_storage())) {
        follow_alias(*pair.tensor, pair.alias);
      } else {
        follow_sparse_alias(pair);
      }
    }
  }

 private:
  struct Pair {
    c10::MaybeOwned<at::Tensor> tensor;
    at::Tensor alias;
    bool written;
  };

  void follow_sparse_alias(const Pair& pair) const;
  const c10::Storage* storage_over(const c10::Storage& host) const;

  c10::SmallVector<Pair, kFew> pairs_;
  const c10::TensorImpl* host_written_ = nullptr;
  bool any_unknown_ = false;
};

}  // namespace devsan::emulate
