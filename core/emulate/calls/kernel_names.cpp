#include "emulate/calls/kernel_names.h"

#include <algorithm>
#include <iterator>

namespace devsan::emulate {
namespace {

struct KernelName {
  std::string_view host;
  std::string_view cuda;
  std::string_view op{};  ///< where one name of the host stands in the kernels of several operators
};

// aten/src/ATen/native/cuda, compared with the strings in libtorch_cuda.so of torch 2.13.0. What is not here differs by
// its suffix alone: "silu_cpu" and "silu_cuda", "exp_vml_cpu" and "exp_cuda".
constexpr KernelName kNames[] = {
    {"GeluKernelImpl", "GeluCUDAKernelImpl"},
    {"adaptive_avg_pool2d", "adaptive_avg_pool2d_cuda"},
    {"adaptive_max_pool2d", "adaptive_max_pool2d_cuda"},
    {"add_stub", "ufunc_add_CUDA"},
    {"addcdiv_cpu_out", "addcdiv_cuda"},
    {"addcmul_cpu_out", "addcmul_cuda"},
    {"clamp_min_scalar_cpu", "clamp_scalar_cuda"},
    {"clamp_max_scalar_cpu", "clamp_scalar_cuda"},
    {"compute_indices_weights_linear", "upsample_linear1d_out_frame", "aten::upsample_linear1d"},
    {"compute_indices_weights_linear", "upsample_trilinear3d_out_frame", "aten::upsample_trilinear3d"},
    {"compute_indices_weights_nearest", "upsample_nearest1d_out_frame", "aten::upsample_nearest1d"},
    {"compute_indices_weights_nearest", "upsample_nearest2d_out_frame", "aten::upsample_nearest2d"},
    {"compute_indices_weights_nearest", "upsample_nearest3d_out_frame", "aten::upsample_nearest3d"},
    {"upsample_nearest2d_channels_last", "upsample_nearest2d_out_frame"},
    {"bernoulli_tensor_cpu_self_", "bernoulli_tensor_cuda_self_"},
    {"cross", "cross_cuda"},
    {"cumprod_out_cpu", "cumprod_cuda"},
    {"cumsum_out_cpu", "cumsum_cuda"},
    {"eq_cpu", "compare_eq_ne_cuda"},
    {"fractional_max_pool2d_out_frame", "fractional_max_pool2d_out_cuda_frame"},
    {"ge_cpu", "compare_cuda"},
    {"grid_sampler3d_cpu", "grid_sampler_3d_cuda"},
    {"grid_sampler_2d_cpu_kernel_impl", "grid_sampler_2d_cuda"},
    {"gt_cpu", "compare_cuda"},
    {"index_add_", "index_add"},
    {"index_select", "index_select_out_cuda"},
    {"le_cpu", "compare_cuda"},
    {"log_sigmoid_cpu", "log_sigmoid_forward_cuda"},
    {"log_softmax_kernel_impl", "host_softmax"},
    {"log_softmax_lastdim_kernel_impl", "host_softmax"},
    {"logcumsumexp_out_cpu", "logcumsumexp_cuda"},
    {"lt_cpu", "compare_cuda"},
    {"masked_fill", "masked_fill_"},
    {"max_cpu", "max_cuda"},
    {"maximum_cpu", "max_elementwise_cuda"},
    {"median_cpu", "median_out_impl", "aten::median"},
    {"median_cpu", "median_out_impl", "aten::nanmedian"},
    {"minimum_cpu", "min_elementwise_cuda"},
    {"mode_cpu", "cuda_mode"},
    {"mul_cpu_reduced_float", "mul_cuda"},
    {"multi_margin_loss_cpu_kernel", "multi_margin_loss_cuda"},
    {"multilabel_margin_loss_forward_out_frame", "multilabel_margin_loss_forward_kernel"},
    {"ne_cpu", "compare_eq_ne_cuda"},
    {"nonzero_count_cpu", "nonzero_cuda"},
    {"prod_out_cpu", "prod_cuda"},
    {"reflection_pad2d", "reflection_pad2d_out_template"},
    {"replication_pad1d", "replication_pad1d_cuda"},
    {"replication_pad2d", "replication_pad2d_cuda"},
    {"replication_pad3d", "replication_pad3d_cuda"},
    {"scatter_gather_tensor_cpu", "cuda_scatter_gather_base_kernel_func"},
    {"scatter_gather_tensor_cpu_reduce_amax", "cuda_scatter_gather_base_kernel_func"},
    {"scatter_gather_tensor_cpu_reduce_amin", "cuda_scatter_gather_base_kernel_func"},
    {"scatter_gather_tensor_cpu_reduce_mean", "cuda_scatter_gather_base_kernel_func"},
    {"sigmoid_cpu_reduced_float", "sigmoid_cuda"},
    {"softmax_kernel_impl", "host_softmax"},
    {"softmax_lastdim_kernel_impl", "host_softmax"},
    {"take_put_cpu", "put_cuda"},
    {"topk_cpu", "topk_out_cuda"},
    {"tril", "triu_tril_cuda_template"},
    {"triu", "triu_tril_cuda_template"},
    // Of backward passes.
    {"GeluBackwardKernelImpl", "GeluBackwardCUDAKernelImpl"},
    {"_upsample_nearest3d_backward_cl", "upsample_nearest3d_backward_out_frame"},
    {"_upsample_nearest_exact1d_backward", "upsample_nearest1d_backward_out_frame"},
    {"_upsample_nearest_exact2d_backward", "upsample_nearest2d_backward_out_frame"},
    {"_upsample_nearest_exact2d_backward_cl", "upsample_nearest2d_backward_nhwc_out_frame"},
    {"_upsample_nearest_exact3d_backward", "upsample_nearest3d_backward_out_frame"},
    {"_upsample_nearest_exact3d_backward_cl", "upsample_nearest3d_backward_out_frame"},
    {"adaptive_avg_pool2d_backward", "adaptive_avg_pool2d_backward_cuda"},
    {"adaptive_avg_pool2d_backward_channels_last", "adaptive_avg_pool2d_backward_nhwc_cuda"},
    {"adaptive_avg_pool3d_backward_channels_last", "adaptive_avg_pool3d_backward_cuda"},
    {"adaptive_max_pool2d_backward", "adaptive_max_pool2d_backward_cuda"},
    {"adaptive_max_pool2d_backward_channels_last", "adaptive_max_pool2d_backward_cuda"},
    {"adaptive_max_pool3d_backward", "adaptive_max_pool3d_backward_cuda"},
    {"adaptive_max_pool3d_backward_channels_last", "adaptive_max_pool3d_backward_cuda"},
    {"avg_pool2d_backward", "avg_pool2d_backward_out_cuda_frame"},
    {"avg_pool2d_backward_channels_last", "avg_pool2d_backward_out_cuda_frame"},
    {"avg_pool3d_backward_channels_last", "avg_pool3d_backward_out_frame"},
    {"binary_cross_entropy_backward", "binary_cross_entropy_backward_out_cuda"},
    {"cdist_backward", "cdist_cuda_backward"},
    {"fractional_max_pool2d_backward_out_frame", "fractional_max_pool2d_backward_out_cuda_frame"},
    {"grid_sampler_2d_backward_cpu_kernel_impl", "grid_sampler_2d_backward_cuda"},
    {"hardsigmoid_backward", "hardsigmoid_backward_cuda"},
    {"huber_backward_cpu_out", "huber_backward_cuda"},
    {"log_softmax_backward_kernel_impl", "host_softmax_backward"},
    {"log_softmax_backward_lastdim_kernel_impl", "host_softmax_backward"},
    {"logit_backward_cpu", "logit_cuda"},
    {"max_pool2d_backward", "max_pool2d_with_indices_out_cuda_frame"},
    {"max_pool2d_backward_channels_last", "max_pool2d_with_indices_out_cuda_frame"},
    {"max_pool3d_backward", "max_pool3d_with_indices_backward_out_frame"},
    {"max_pool3d_backward_channels_last", "max_pool3d_with_indices_backward_out_frame"},
    {"mse_backward_cpu_out", "mse_backward_cuda"},
    {"multi_margin_loss_backward_cpu_kernel", "multi_margin_loss_backward_cuda"},
    {"multilabel_margin_loss_backward_out_frame", "multilabel_margin_loss_backward_kernel"},
    {"pdist_backward", "pdist_cuda_backward"},
    {"reflection_pad1d_backward", "reflection_pad1d_backward_out_cuda"},
    {"reflection_pad2d_backward", "reflection_pad2d_backward_out_template"},
    {"reflection_pad2d_backward_channels_last", "reflection_pad2d_backward_out_template"},
    {"reflection_pad3d_backward", "reflection_pad3d_backward_out_cuda"},
    {"reflection_pad3d_backward_channels_last", "reflection_pad3d_backward_out_cuda"},
    {"replication_pad1d_backward", "replication_pad1d_backward_cuda"},
    {"replication_pad2d_backward", "replication_pad2d_backward_cuda"},
    {"replication_pad2d_backward_channels_last", "replication_pad2d_backward_cuda"},
    {"replication_pad3d_backward", "replication_pad3d_backward_cuda"},
    {"replication_pad3d_backward_channels_last", "replication_pad3d_backward_cuda"},
    {"smooth_l1_backward_cpu_out", "smooth_l1_backward_cuda"},
    {"softmax_backward_kernel_impl", "host_softmax_backward"},
    {"softmax_backward_lastdim_kernel_impl", "host_softmax_backward"},
    {"upsample_bicubic2d_aa_backward_cpu", "upsample_gen2d_backward_out_frame"},
    {"upsample_bicubic2d_backward", "upsample_bicubic2d_backward_out_frame"},
    {"upsample_bilinear2d_aa_backward_cpu", "upsample_gen2d_backward_out_frame"},
    {"upsample_bilinear2d_backward", "upsample_bilinear2d_backward_out_frame"},
    {"upsample_bilinear2d_backward_channels_last", "upsample_bilinear2d_backward_out_frame"},
    {"upsample_linear1d_backward", "upsample_linear1d_out_frame_backward"},
    {"upsample_nearest1d_backward", "upsample_nearest1d_backward_out_frame"},
    {"upsample_nearest2d_backward", "upsample_nearest2d_backward_out_frame"},
    {"upsample_nearest2d_backward_cl", "upsample_nearest2d_backward_nhwc_out_frame"},
    {"upsample_nearest3d_backward", "upsample_nearest3d_backward_out_frame"},
    {"upsample_trilinear3d_backward", "upsample_trilinear3d_backward_out_frame"},
    {"upsample_trilinear3d_backward_channels_last", "upsample_trilinear3d_backward_out_frame"},
};

}  // namespace

std::string_view stem_of(std::string_view op) {
  op = op.substr(0, op.find('.'));
  if (op.ends_with('_')) op.remove_suffix(1);
  return op;
}

std::string name_of_cuda_kernel(std::string_view op, std::string_view kernel) {
  const std::string_view stem = stem_of(op);
  const auto* found = std::ranges::find_if(
      kNames, [&](const KernelName& name) { return name.host == kernel && (name.op.empty() || name.op == stem); });
  if (found != std::end(kNames)) return std::string(found->cuda);
  for (const std::string_view suffix : {"_vml_cpu", "_cpu", "_cpu_", "_cpu_kernel"}) {
    if (!kernel.ends_with(suffix)) continue;
    std::string name(kernel.substr(0, kernel.size() - suffix.size()));
    return name + (suffix == "_cpu_" ? "_cuda_" : suffix == "_cpu_kernel" ? "_cuda_kernel" : "_cuda");
  }
  return std::string(kernel);
}

}  // namespace devsan::emulate
