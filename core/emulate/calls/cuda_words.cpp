#include "emulate/calls/cuda_words.h"

#include <algorithm>

#include "emulate/calls/kernel_names.h"
#include "emulate/calls/named_index.h"
#include "emulate/runtime/device.h"

namespace devsan::emulate {
namespace {

/// Parts of sentences in kernels of both: LinearAlgebra.cpp and cuda/Blas.cpp, cpu/SortingKernel.cpp and cuda/Sort.cpp,
/// LossCTC.cpp and cuda/LossCTC.cu, mkl/SpectralOps.cpp and cuda/CuFFTPlanCache.h.
struct Sentence {
  std::string_view host;
  std::string_view cuda;
};

constexpr Sentence kSentences[] = {
    {"expected m1 and m2 to have the same dtype", "expected mat1 and mat2 to have the same dtype"},
    {" Sort does not support complex dtypes on CPU", "Sort currently does not support complex dtypes on CUDA."},
    {"(while checking arguments for ctc_loss_allocate_outputs)", "(while checking arguments for ctc_loss_gpu)"},
    {"MKL FFT doesn't support tensors of type: ", "cuFFT doesn't support tensor of type: "},
};

/// A sentence of the CPU's kernel where CUDA's kernel has a CUDA_KERNEL_ASSERT.
struct Assertion {
  std::string_view op;  ///< without overload, in-place and out= forms included
  std::string_view sentence;
  const char* unless = nullptr;  ///< a flag with which CUDA compares on the host too
};

/// Said without naming the index: by lookups of rows, and by index_select of another dimension.
constexpr std::string_view kIndexInSelf = "index out of range in self";
constexpr std::string_view kIndexInData = "INDICES element is out of DATA bounds";

constexpr Assertion kAssertions[] = {
    // cuda/Indexing.cu, cuda/IndexKernel.cu, cuda/ScatterGatherKernel.cu
    {"aten::embedding", kIndexInSelf},
    {"aten::index_select", kIndexInSelf},
    {"aten::index_select", kIndexInData},
    {"aten::index", "is out of bounds for dimension"},
    {"aten::_unsafe_index", "is out of bounds for dimension"},
    {"aten::_index_put_impl", "is out of bounds for dimension", "accumulate"},
    {"aten::index_fill", "is out of bounds for dimension"},
    {"aten::index_copy", "is out of bounds for dimension"},
    {"aten::index_add", kIndexInSelf},
    {"aten::index_add", "is out of bounds for dimension"},
    {"aten::index_reduce", kIndexInSelf},
    {"aten::gather", "is out of bounds for dimension"},
    {"aten::scatter", "is out of bounds for dimension"},
    {"aten::scatter_add", "is out of bounds for dimension"},
    {"aten::scatter_reduce", "is out of bounds for dimension"},
    {"aten::take", "out of range: tried to access index"},
    {"aten::put", "out of range: tried to access index"},
    // cuda/Embedding.cu: its renorm_kernel reads beyond the table, and the embedding that follows has the assertion.
    {"aten::embedding_renorm", "out of range for tensor of size"},
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

/// The name of the kernel in the sentence of AT_DISPATCH_SWITCH (aten/src/ATen/Dispatch.h), or nothing.
std::string_view kernel_in(std::string_view sentence) {
  if (!sentence.starts_with('"')) return {};
  const std::size_t end = sentence.find('"', 1);
  const bool is_refusal =
      end != std::string_view::npos && sentence.substr(end + 1).starts_with(" not implemented for '");
  return is_refusal ? sentence.substr(1, end - 1) : std::string_view();
}

/// What stands in `sentence` after `before` and up to `after`, or nothing.
std::string_view between(std::string_view sentence, std::string_view before, std::string_view after) {
  const std::size_t start = sentence.find(before);
  if (start == std::string_view::npos) return {};
  sentence.remove_prefix(start + before.size());
  const std::size_t end = sentence.find(after);
  return end == std::string_view::npos ? std::string_view() : sentence.substr(0, end);
}

/// cuda/DistributionTemplates.h, bernoulli_kernel: probabilities are of a floating type.
void check_probabilities(std::string_view kernel, std::string_view sentence) {
  TORCH_CHECK(kernel != "bernoulli_tensor_cpu_p_", "expected probabilities tensor to have floating type, got ",
              between(sentence, " not implemented for '", "'"));
}

/// cuda/EmbeddingBag.cu, _embedding_bag_cuda: the table's dtype is dispatched on. The CPU has a list of them.
void check_embedding_bag(const c10::FunctionSchema& schema, std::string_view sentence) {
  if (!stem_of(schema.name()).starts_with("aten::_embedding_bag")) return;
  if (sentence.find("'weight' to have one of the following scalar types") == std::string_view::npos) return;
  TORCH_CHECK_NOT_IMPLEMENTED(false, "\"embedding_bag_cuda\" not implemented for '",
                              between(sentence, "but got CPU", "Type instead"), "'");
}

bool is_set(const c10::FunctionSchema& schema, const torch::jit::Stack& arguments, const char* flag) {
  const c10::IValue* value = argument_of(schema, arguments, flag);
  return value != nullptr && value->isBool() && value->toBool();
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

void raise_in_words_of_cuda(const c10::FunctionSchema& schema, const torch::jit::Stack& arguments,
                            const c10::Error& error) {
  if (!std::string_view(schema.name()).starts_with("aten::")) return;
  const std::string_view sentence = error.what_without_backtrace();
  const std::string_view kernel = kernel_in(sentence);
  if (!kernel.empty()) {
    check_probabilities(kernel, sentence);
    const std::string name = name_of_cuda_kernel(schema.name(), kernel);
    if (name != kernel) TORCH_CHECK_NOT_IMPLEMENTED(false, '"', name, sentence.substr(kernel.size() + 1));
    return;
  }
  if (is_device_assert(schema, arguments, sentence)) {
    const bool unnamed = sentence.starts_with(kIndexInSelf) || sentence.starts_with(kIndexInData);
    const std::string named = unnamed ? index_out_of_range(schema, arguments) : "";
    raise_device_assert(named.empty() ? sentence : named);
  }
  check_embedding_bag(schema, sentence);
  for (const Sentence& each : kSentences) {
    const std::size_t start = sentence.find(each.host);
    TORCH_CHECK(start == std::string_view::npos, sentence.substr(0, start), each.cuda,
                sentence.substr(std::min(sentence.size(), start + each.host.size())));
  }
}

}  // namespace devsan::emulate
