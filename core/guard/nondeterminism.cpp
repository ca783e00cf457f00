#include "guard/nondeterminism.h"

#include <string_view>
#include <unordered_map>

#include <ATen/Context.h>
#include <ATen/core/Reduction.h>
#include <ATen/core/Tensor.h>

namespace devsan::guard {
namespace {

using c10::FunctionSchema;
using torch::jit::Stack;

const c10::IValue& argument(const FunctionSchema& schema, const Stack& stack, const char* name) {
  const auto index = schema.argumentIndexWithName(name);
  TORCH_INTERNAL_ASSERT(index.has_value(), schema.name(), " has no argument ", name);
  return stack[stack.size() - schema.arguments().size() + static_cast<std::size_t>(*index)];
}

// aten/src/ATen/native/cuda/SummaryOps.cu: _bincount_cuda, _histc_cuda.
bool has_weights(const FunctionSchema& schema, const Stack& stack) {
  return !argument(schema, stack, "weights").isNone();
}

bool has_floating_input(const FunctionSchema& schema, const Stack& stack) {
  return argument(schema, stack, "self").toTensor().is_floating_point();
}

// aten/src/ATen/native/TensorAdvancedIndexing.cpp: put_; the host's kernel raises for the other half itself.
bool accumulates(const FunctionSchema& schema, const Stack& stack) {
  return argument(schema, stack, "accumulate").toBool();
}

// aten/src/ATen/native/cuda/NLLLoss2d.cu: nll_loss2d_forward_out_cuda_template, after the branch without reduction.
bool is_reduced(const FunctionSchema& schema, const Stack& stack) {
  return argument(schema, stack, "reduction").toInt() != at::Reduction::None;
}

// aten/src/ATen/native/cuda/EmbeddingBag.cu: _embedding_bag_dense_backward_cuda; 2 is EmbeddingBagMode::MAX. The host's
// kernel of _embedding_bag_backward calls the dense one where nobody sees it.
bool takes_maximum(const FunctionSchema& schema, const Stack& stack) {
  return argument(schema, stack, "mode").toInt() == 2;
}

// aten/src/ATen/native/TensorAdvancedIndexing.cpp: scatter_impl. Sums and means take a deterministic way instead.
bool multiplies(const FunctionSchema& schema, const Stack& stack) {
  const std::string_view reduce = argument(schema, stack, "reduce").toStringView();
  return reduce == "prod" || reduce == "multiply";
}

using Table = std::unordered_map<std::string, Nondeterminism>;

/// The calls of alertNotDeterministic under aten/src/ATen/native/cuda, for the operator and its out= forms.
Table make_table() {
  Table table;
  const auto put = [&table](const Nondeterminism& entry, std::initializer_list<const char*> names) {
    for (const char* name : names) table.emplace(std::string("aten::") + name, entry);
  };
  const auto put_backward = [&put](const char* caller, const char* backward) {
    put({caller, nullptr}, {backward, (std::string(backward) + ".grad_input").c_str()});
  };
  put_backward("adaptive_avg_pool2d_backward_cuda", "_adaptive_avg_pool2d_backward");
  put_backward("adaptive_avg_pool3d_backward_cuda", "_adaptive_avg_pool3d_backward");
  put({"adaptive_avg_pool3d_backward_out_cuda", nullptr}, {"adaptive_avg_pool3d_backward.grad_input"});
  put_backward("adaptive_max_pool2d_backward_cuda", "adaptive_max_pool2d_backward");
  put_backward("avg_pool3d_backward_cuda", "avg_pool3d_backward");
  put_backward("fractional_max_pool2d_backward_cuda", "fractional_max_pool2d_backward");
  put({"fractional_max_pool3d_backward_out_cuda", nullptr}, {"fractional_max_pool3d_backward.grad_input"});
  put_backward("fractional_max_pool3d_backward_cuda", "fractional_max_pool3d_backward");
  put({"max_pool3d_with_indices_backward_out_cuda", nullptr}, {"max_pool3d_with_indices_backward.grad_input"});
  put_backward("max_pool3d_with_indices_backward_cuda", "max_pool3d_with_indices_backward");
  put_backward("reflection_pad1d_backward_out_cuda", "reflection_pad1d_backward");
  put({"reflection_pad2d_backward_out_cuda", nullptr}, {"reflection_pad2d_backward.grad_input"});
  put_backward("reflection_pad2d_backward_cuda", "reflection_pad2d_backward");
  put_backward("reflection_pad3d_backward_out_cuda", "reflection_pad3d_backward");
  put_backward("replication_pad1d_backward_cuda", "replication_pad1d_backward");
  put({"replication_pad2d_backward_out_cuda", nullptr}, {"replication_pad2d_backward.grad_input"});
  put_backward("replication_pad2d_backward_cuda", "replication_pad2d_backward");
  put({"replication_pad3d_backward_out_cuda", nullptr}, {"replication_pad3d_backward.grad_input"});
  put_backward("replication_pad3d_backward_cuda", "replication_pad3d_backward");
  put_backward("upsample_linear1d_backward_out_cuda", "upsample_linear1d_backward");
  put_backward("upsample_bilinear2d_backward_out_cuda", "upsample_bilinear2d_backward");
  put_backward("upsample_bicubic2d_backward_out_cuda", "upsample_bicubic2d_backward");
  put_backward("upsample_trilinear3d_backward_out_cuda", "upsample_trilinear3d_backward");
  put_backward("upsample_bilinear2d_aa_backward_out_cuda", "_upsample_bilinear2d_aa_backward");
  put_backward("upsample_bicubic2d_aa_backward_out_cuda", "_upsample_bicubic2d_aa_backward");
  put({"grid_sampler_2d_backward_cuda", nullptr}, {"grid_sampler_2d_backward"});
  put({"grid_sampler_3d_backward_cuda", nullptr}, {"grid_sampler_3d_backward"});
  put({"ctc_loss_backward_gpu", nullptr}, {"_ctc_loss_backward", "_ctc_loss_backward.Tensor"});
  put({"median CUDA with indices output", nullptr},
      {"median.dim", "median.dim_values", "nanmedian.dim", "nanmedian.dim_values"});
  put({"index_reduce_cuda", nullptr}, {"index_reduce", "index_reduce.out", "index_reduce_"});
  put({"nll_loss2d_forward_out_cuda_template", &is_reduced}, {"nll_loss2d_forward", "nll_loss2d_forward.output"});
  put({"embedding_bag_backward_cuda_max", &takes_maximum},
      {"_embedding_bag_backward", "_embedding_bag_dense_backward"});
  put({"put_", &accumulates}, {"put_"});
  put({"_bincount_cuda", &has_weights}, {"bincount"});
  put({"_histc_cuda with floating point input", &has_floating_input}, {"histc", "histc.out"});
  put({"scatter_reduce_cuda_prod_", &multiplies},
      {"scatter_reduce.two", "scatter_reduce.two_out", "scatter_reduce_.two"});
  put({"scatter_reduce_cuda_kernel", &multiplies}, {"scatter.reduce", "scatter.reduce_out", "scatter_.reduce"});
  return table;
}

}  // namespace

const Nondeterminism* nondeterminism_of(const std::string& name) {
  static const Table table = make_table();
  const auto found = table.find(name);
  return found == table.end() ? nullptr : &found->second;
}

}  // namespace devsan::guard
