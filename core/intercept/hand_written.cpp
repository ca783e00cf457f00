#include "intercept/hand_written.h"

#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/view_native.h>

#include "emulate/copy.h"
#include "emulate/factories.h"
#include "emulate/whole_ops.h"
#include "emulate/wide_products.h"
#include "intercept/judged.h"

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
  library.impl("native_dropout", TORCH_FN(emulate::native_dropout));
}

void register_products(torch::Library& library) {
  if (!has_operator("aten::mm", "dtype")) return;
  library.impl("mm.dtype", judged("aten::mm", "dtype", &emulate::mm_to));
  library.impl("mm.dtype_out", judged("aten::mm", "dtype_out", &emulate::mm_to_out));
  library.impl("bmm.dtype", judged("aten::bmm", "dtype", &emulate::bmm_to));
  library.impl("bmm.dtype_out", judged("aten::bmm", "dtype_out", &emulate::bmm_to_out));
  library.impl("addmm.dtype", judged("aten::addmm", "dtype", &emulate::addmm_to));
  library.impl("addmm.dtype_out", judged("aten::addmm", "dtype_out", &emulate::addmm_to_out));
  library.impl("baddbmm.dtype", judged("aten::baddbmm", "dtype", &emulate::baddbmm_to));
  library.impl("baddbmm.dtype_out", judged("aten::baddbmm", "dtype_out", &emulate::baddbmm_to_out));
}

}  // namespace

void register_hand_written(torch::Library& library, torch::Library& autograd) {
  register_views(library);
  register_copies(library);
  register_whole(library);
  register_products(library);
  for (torch::Library* keyed : {&library, &autograd}) {
    keyed->impl("scaled_dot_product_attention",
                judged("aten::scaled_dot_product_attention", "", &emulate::scaled_dot_product_attention));
  }
}

}  // namespace devsan::intercept
