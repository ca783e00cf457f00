#include "emulate/calls/cuda_words.h"

#include <algorithm>
#include <iterator>

#include "emulate/runtime/device.h"

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
    {"sigmoid_cpu_reduced_float", "sigmoid_cuda"},
    {"softmax_kernel_impl", "host_softmax"},
    {"softmax_lastdim_kernel_impl", "host_softmax"},
    {"take_put_cpu", "put_cuda"},
    {"topk_cpu", "topk_out_cuda"},
    {"tril", "triu_tril_cuda_template"},
    {"triu", "triu_tril_cuda_template"},
};

/// The beginnings of sentences in kernels of both: LinearAlgebra.cpp and cuda/Blas.cpp, cpu/SortingKernel.cpp and
/// cuda/Sort.cpp.
struct Sentence {
  std::string_view host;
  std::string_view cuda;
};

constexpr Sentence kSentences[] = {
    {"expected m1 and m2 to have the same dtype", "expected mat1 and mat2 to have the same dtype"},
    {" Sort does not support complex dtypes on CPU", "Sort currently does not support complex dtypes on CUDA."},
};

/// A sentence of the CPU's kernel where CUDA's kernel has a CUDA_KERNEL_ASSERT.
struct Assertion {
  std::string_view op;  ///< without overload, in-place and out= forms included
  std::string_view sentence;
  const char* unless = nullptr;  ///< a flag with which CUDA compares on the host too
};

constexpr Assertion kAssertions[] = {
    // cuda/Indexing.cu, cuda/IndexKernel.cu, cuda/ScatterGatherKernel.cu
    {"aten::embedding", "index out of range in self"},
    {"aten::index_select", "index out of range in self"},
    {"aten::index", "is out of bounds for dimension"},
    {"aten::_unsafe_index", "is out of bounds for dimension"},
    {"aten::_index_put_impl", "is out of bounds for dimension", "accumulate"},
    {"aten::index_fill", "is out of bounds for dimension"},
    {"aten::index_copy", "is out of bounds for dimension"},
    {"aten::index_add", "index out of range in self"},
    {"aten::index_add", "is out of bounds for dimension"},
    {"aten::index_reduce", "index out of range in self"},
    {"aten::gather", "is out of bounds for dimension"},
    {"aten::scatter", "is out of bounds for dimension"},
    {"aten::scatter_add", "is out of bounds for dimension"},
    {"aten::scatter_reduce", "is out of bounds for dimension"},
    {"aten::take", "out of range: tried to access index"},
    {"aten::put", "out of range: tried to access index"},
    // cuda/EmbeddingBag.cu
    {"aten::_embedding_bag", "which is not in the valid range"},
    {"aten::_embedding_bag", "Expected i < index_size"},
    {"aten::_embedding_bag", "Expected idx >= 0 && idx < num_embeddings"},
    {"aten::_embedding_bag_forward_only", "which is not in the valid range"},
    {"aten::_embedding_bag_forward_only", "Expected i < index_size"},
    {"aten::_embedding_bag_forward_only", "Expected idx >= 0 && idx < num_embeddings"},
    // cuda/Loss.cu, cuda/NLLLoss2d.cu, cuda/MultiMarginLoss.cu
    {"aten::nll_loss_forward", "is out of bounds."},
    {"aten::nll_loss2d_forward", "is out of bounds."},
    {"aten::multi_margin_loss", "target out of range"},
    {"aten::binary_cross_entropy", "all elements of input should be between 0 and 1"},
    // cuda/MaxUnpooling.cu, cuda/DistributionBernoulli.cu, cuda/TensorCompare.cu
    {"aten::max_unpool2d", "Found an invalid max index"},
    {"aten::max_unpool3d", "found an invalid max index"},
    {"aten::bernoulli", "Expected p_in >= 0 && p_in <= 1"},
    {"aten::_assert_async", "Expected Tensor with single nonzero value"},
};

std::string_view stem_of(std::string_view op) {
  op = op.substr(0, op.find('.'));
  if (op.ends_with('_')) op.remove_suffix(1);
  return op;
}

/// The name of the kernel in the sentence of AT_DISPATCH_SWITCH (aten/src/ATen/Dispatch.h), or nothing.
std::string_view kernel_in(std::string_view sentence) {
  if (!sentence.starts_with('"')) return {};
  const std::size_t end = sentence.find('"', 1);
  const bool is_refusal =
      end != std::string_view::npos && sentence.substr(end + 1).starts_with(" not implemented for '");
  return is_refusal ? sentence.substr(1, end - 1) : std::string_view();
}

bool is_set(const c10::FunctionSchema& schema, const torch::jit::Stack& arguments, const char* flag) {
  const std::optional<int> index = schema.argumentIndexWithName(flag);
  const std::size_t count = schema.arguments().size();
  if (!index.has_value() || arguments.size() < count) return false;
  const c10::IValue& value = torch::jit::peek(arguments, static_cast<std::size_t>(*index), count);
  return value.isBool() && value.toBool();
}

/// Whether CUDA's kernel asserts what the CPU's refuses by `sentence`.
bool is_device_assert(const c10::FunctionSchema& schema, const torch::jit::Stack& arguments,
                      std::string_view sentence) {
  const std::string_view stem = stem_of(schema.name());
  return std::ranges::any_of(kAssertions, [&](const Assertion& each) {
    return each.op == stem && sentence.find(each.sentence) != std::string_view::npos &&
           (each.unless == nullptr || !is_set(schema, arguments, each.unless));
  });
}

}  // namespace

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

void raise_in_words_of_cuda(const c10::FunctionSchema& schema, const torch::jit::Stack& arguments,
                            const c10::Error& error) {
  if (!std::string_view(schema.name()).starts_with("aten::")) return;
  const std::string_view sentence = error.what_without_backtrace();
  const std::string_view kernel = kernel_in(sentence);
  if (!kernel.empty()) {
    const std::string name = name_of_cuda_kernel(schema.name(), kernel);
    if (name != kernel) TORCH_CHECK_NOT_IMPLEMENTED(false, '"', name, sentence.substr(kernel.size() + 1));
    return;
  }
  if (is_device_assert(schema, arguments, sentence)) raise_device_assert(sentence);
  for (const Sentence& each : kSentences) {
    TORCH_CHECK(!sentence.starts_with(each.host), each.cuda, sentence.substr(each.host.size()));
  }
}

}  // namespace devsan::emulate
