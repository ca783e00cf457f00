#include "intercept/hand_written.h"

#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/view_native.h>

#include "emulate/operators/attention/attention_choice.h"
#include "emulate/operators/copy.h"
#include "emulate/operators/factories.h"
#include "emulate/operators/networks/layers.h"
#include "intercept/device_check.h"
#include "intercept/layouts.h"

namespace devsan::intercept {
namespace {

void register_views(torch::Library& library) {
  // torch's own functions work on any tensor with storage, and keep its keys.
  library.impl("as_strided", TORCH_FN(at::native::as_strided_tensorimpl));
  library.impl("view", TORCH_FN(at::native::view));
  library.impl("_reshape_alias", TORCH_FN(at::native::_reshape_alias));
}

void register_copies(torch::Library& library) {
  library.impl("copy_", TORCH_FN(emulate::copy_));
  library.impl("_copy_from", TORCH_FN(emulate::copy_from));
  library.impl("_to_copy", TORCH_FN(emulate::to_copy));
  // Copied at once: c10::impl::cow takes storages of one context only, and an emulated one has two.
  library.impl("_lazy_clone", [](const at::Tensor& self) { return self.clone(); });
  library.impl("set_", TORCH_FN(emulate::set_empty));
  library.impl("set_.source_Storage", TORCH_FN(emulate::set_whole_storage));
  library.impl("set_.source_Storage_storage_offset", TORCH_FN(emulate::set_storage));
  library.impl("set_.source_Tensor", TORCH_FN(emulate::set_tensor));
  library.impl("record_stream", TORCH_FN(emulate::record_stream_of));
  library.impl("_has_compatible_shallow_copy_type", TORCH_FN(emulate::has_compatible_shallow_copy_type));
  // torch makes sparse tensors anew (detach) by an `empty` on the device that their key names.
  library.impl("empty.memory_format", TORCH_FN(emulate::empty));
}

/// See NOTE [Operators taken whole].
void register_whole(torch::Library& library) {
  for (const char* name : {"_use_cudnn_ctc_loss", "_use_miopen_ctc_loss"}) {
    library.impl(name, TORCH_FN(emulate::use_no_ctc_library));
  }
  for (const char* name : {"_use_cudnn_ctc_loss.Tensor", "_use_miopen_ctc_loss.Tensor"}) {
    library.impl(name, TORCH_FN(emulate::use_no_ctc_library_for_lengths));
  }
}

}  // namespace

void register_hand_written(torch::Library& library, torch::Library& autograd) {
  register_views(library);
  register_copies(library);
  register_whole(library);
  register_cuda_only(library);
  register_half_precision(library);
  register_linear_algebra(library);
  register_sparse_construction(library, autograd);
  register_types_of_cuda(library);
  for (torch::Library* keyed : {&library, &autograd}) {
    keyed->impl("scaled_dot_product_attention",
                device_checked("aten::scaled_dot_product_attention", "", &emulate::scaled_dot_product_attention));
  }
}

}  // namespace devsan::intercept
