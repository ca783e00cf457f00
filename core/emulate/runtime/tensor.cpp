#include "emulate/runtime/tensor.h"

#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include <c10/core/TensorImpl.h>

#include "emulate/runtime/charged_memory.h"
#include "emulate/runtime/full_size/unknown.h"
#include "emulate/runtime/layouts.h"
#include "emulate/runtime/storage.h"

namespace devsan::emulate {
namespace {

/// Pointers to protected members, named through a derived class as the language allows.
struct Members : c10::TensorImpl {
  static constexpr c10::DispatchKeySet c10::TensorImpl::*keys_member() { return &Members::key_set_; }
  static constexpr c10::Storage c10::TensorImpl::*storage_member() { return &Members::storage_; }
  static constexpr std::optional<c10::Device> c10::TensorImpl::*device_member() { return &Members::device_opt_; }
  /// Sizes, strides, dtype, device and the flags that follow from them: cheaper than working them out again.
  static void copy_metadata(const c10::TensorImpl* source, c10::TensorImpl* target) {
    copy_generic_tensor_metadata(source, target);
  }
};

/// An ordinary dense CPU tensor's keys. A view that a kernel makes of an alias takes its keys, those of autograd too.
constexpr c10::DispatchKeySet kHostKeys({c10::DispatchKey::CPU, c10::DispatchKey::ADInplaceOrView,
                                         c10::DispatchKey::AutogradCPU, c10::DispatchKey::AutocastCPU});
/// What a tensor may be besides; torch's structured kernels and copies look at these of their operands.
constexpr c10::DispatchKeySet kKinds({c10::DispatchKey::Conjugate, c10::DispatchKey::Negative,
                                      c10::DispatchKey::ZeroTensor});
/// What has more to it than bytes and a shape.
constexpr c10::DispatchKeySet kSpecial({c10::DispatchKey::NestedTensor, c10::DispatchKey::Quantized});
/// What tensors made in inference mode lack.
constexpr c10::DispatchKeySet kTracked(c10::DispatchKey::ADInplaceOrView);

/// Aliases of the calling thread that no call uses: CPU tensors without storage.
class AliasPool {
 public:
  // A thread's last operators may run after its pool is gone, in the destructors of its other thread-local objects.
  ~AliasPool() {
    size_ = 0;
    open_ = false;
  }

  at::Tensor take() noexcept { return size_ == 0 ? at::Tensor() : std::move(aliases_[--size_]); }

  void give(at::Tensor&& alias) noexcept {
    if (open_ && size_ < kCapacity) aliases_[size_++] = std::move(alias);
  }

 private:
  static constexpr std::size_t kCapacity = 256;  // a list of tensors takes as many at once
  std::array<at::Tensor, kCapacity> aliases_;
  std::size_t size_ = 0;
  bool open_ = true;
};

/// The keys of a plain CPU tensor, with what its constructor adds.
c10::DispatchKeySet plain_keys() {
  return kHostKeys | c10::getAutogradRelatedKeySetFromBackend(c10::BackendComponent::CPUBit) |
         c10::getAutocastRelatedKeySetFromBackend(c10::BackendComponent::CPUBit);
}

AliasPool& alias_pool() {
  thread_local AliasPool pool;
  return pool;
}

at::Tensor alias_over(c10::Storage&& host, const c10::TensorImpl* shape) {
  at::Tensor alias = alias_pool().take();
  if (!alias.defined()) {
    alias = at::detail::make_tensor<c10::TensorImpl>(c10::TensorImpl::VIEW, std::move(host), kHostKeys, shape->dtype());
  } else {
    alias.unsafeGetTensorImpl()->*Members::storage_member() = std::move(host);
  }
  c10::TensorImpl* impl = alias.unsafeGetTensorImpl();
  Members::copy_metadata(shape, impl);
  impl->*Members::device_member() = c10::Device(c10::DeviceType::CPU);
  return alias;
}

void take_kinds(c10::TensorImpl* alias, c10::DispatchKeySet keys) {
  auto& alias_keys = alias->*Members::keys_member();
  alias_keys = alias_keys | (keys & kKinds);
  if (!keys.has_all(kTracked)) alias_keys = alias_keys - c10::autograd_dispatch_keyset_with_ADInplaceOrView;
}

/// Whether the host can read all of `bytes` from `address`, as far as its first and last byte tell.
bool is_readable(const void* address, std::size_t bytes) {
  for (const std::size_t at : {std::size_t{0}, bytes - 1}) {
    char byte = 0;
    const iovec target{&byte, 1};
    const iovec source{static_cast<char*>(const_cast<void*>(address)) + at, 1};
    if (process_vm_readv(getpid(), &target, 1, &source, 1, 0) < 0 && errno == EFAULT) return false;
  }
  return true;
}

at::Tensor move_to(at::Tensor&& host, const c10::Storage& storage) {
  c10::TensorImpl* impl = host.unsafeGetTensorImpl();
  impl->set_storage_keep_dtype(storage);  // takes the device from the storage
  impl->*Members::keys_member() = virtual_keys(impl->key_set());
  return std::move(host);
}

}  // namespace

c10::DispatchKeySet virtual_keys(c10::DispatchKeySet host) noexcept {
  const auto autocast = c10::getAutocastRelatedKeySetFromBackend(c10::BackendComponent::CPUBit);
  return ((host - autocast).remove(kUnknownKey).remove_backend(c10::BackendComponent::CPUBit)) |
         c10::DispatchKeySet(c10::BackendComponent::PrivateUse1Bit) |
         c10::DispatchKeySet(c10::DispatchKey::AutocastCUDA);
}

at::Tensor host_alias(const at::Tensor& tensor) {
  const c10::TensorImpl* impl = tensor.unsafeGetTensorImpl();
  if (C10_UNLIKELY(!impl->has_storage())) return sparse_to_host(tensor, &host_alias);
  if (C10_UNLIKELY(impl->key_set().has_any(kSpecial))) {
    if (is_nested(*impl)) return rebuild_nested(tensor, &host_alias);
    return quantized_alias(tensor, c10::Storage(host_storage(*impl->unsafe_storage().unsafeGetStorageImpl())));
  }
  at::Tensor alias = alias_over(c10::Storage(host_storage(*impl->unsafe_storage().unsafeGetStorageImpl())), impl);
  c10::TensorImpl* alias_impl = alias.unsafeGetTensorImpl();
  const c10::DispatchKeySet keys = impl->key_set();
  if (C10_UNLIKELY((keys & (kKinds | kTracked)) != kTracked)) take_kinds(alias_impl, keys);
  if (C10_UNLIKELY(FullSize::was_on()) && is_unknown_memory(alias_impl->unsafe_storage().data_ptr())) {
    set_unknown(alias);
  }
  return alias;
}

void recycle(at::Tensor&& alias) noexcept {
  c10::TensorImpl* impl = alias.unsafeGetTensorImpl();
  // Not one that a kernel kept, changed the kind of, or showed to Python.
  if (alias.use_count() != 1 || alias.weak_use_count() != 1 || impl->key_set() != plain_keys() ||
      impl->is_wrapped_number() || impl->autograd_meta() != nullptr || impl->pyobj_slot()->load_pyobj() != nullptr) {
    return;
  }
  impl->*Members::storage_member() = c10::Storage();
  alias_pool().give(std::move(alias));
}

at::Tensor adopt(at::Tensor&& host, c10::Device device) {
  const c10::TensorImpl* impl = host.unsafeGetTensorImpl();
  if (C10_UNLIKELY(!impl->has_storage())) {
    return sparse_to_device(host, device, [device](const at::Tensor& part) { return adopt(at::Tensor(part), device); });
  }
  if (C10_UNLIKELY(is_nested(*impl))) {
    return rebuild_nested(host, [device](const at::Tensor& buffer) { return adopt(at::Tensor(buffer), device); });
  }
  auto* storage = impl->unsafe_storage().unsafeGetStorageImpl();
  return move_to(std::move(host),
                 make_virtual_storage(c10::intrusive_ptr<c10::StorageImpl>::reclaim_copy(storage), device));
}

at::Tensor adopt_view(at::Tensor&& host, const c10::Storage& storage) {
  if (C10_UNLIKELY(is_nested(*host.unsafeGetTensorImpl()))) {
    return rebuild_nested(host, [&storage](const at::Tensor& buffer) { return move_to(at::Tensor(buffer), storage); });
  }
  return move_to(std::move(host), storage);
}

void take_over(const at::Tensor& tensor) {
  c10::TensorImpl* impl = tensor.unsafeGetTensorImpl();
  auto* storage = impl->unsafe_storage().unsafeGetStorageImpl();
  TORCH_CHECK(
      storage->nbytes() == 0 || is_readable(storage->data(), storage->nbytes()),
      "devsan: expected memory of an emulated GPU, got an address that the host cannot read: ", storage->data());
  impl->set_storage_keep_dtype(make_virtual_storage(host_storage(*storage), storage->device()));
  impl->*Members::keys_member() = virtual_keys(impl->key_set().remove_backend(c10::BackendComponent::CUDABit));
}

void follow_alias(const at::Tensor& tensor, const at::Tensor& alias) {
  c10::TensorImpl* impl = tensor.unsafeGetTensorImpl();
  const c10::TensorImpl* changed = alias.unsafeGetTensorImpl();
  follow_host(*impl->unsafe_storage().unsafeGetStorageImpl());
  if (C10_UNLIKELY(impl->key_set().has_any(kSpecial))) {
    if (is_nested(*impl)) return;  // in-place operators keep the parts
    follow_quantizer(tensor, alias);
  }
  if (impl->sizes() != changed->sizes() || impl->strides() != changed->strides() ||
      impl->storage_offset() != changed->storage_offset()) {
    impl->set_sizes_and_strides(changed->sizes(), changed->strides(), changed->storage_offset());
  }
}

}  // namespace devsan::emulate
