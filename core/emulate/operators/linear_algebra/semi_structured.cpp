#include "emulate/operators/linear_algebra/semi_structured.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include "emulate/operators/linear_algebra/semi_structured_matrix.h"
#include "emulate/runtime/tensor.h"

namespace devsan::emulate {
namespace {

/// CUTLASS's matrix as a dense one on the device of its values.
at::Tensor dense_of(const at::Tensor& values, const at::Tensor& codes) {
  return from_cutlass(values.cpu(), codes.cpu()).dense().to(values.device());
}

/// A product in the type that the tensor cores sum up in.
at::Tensor upcast_product(const at::Tensor& left, const at::Tensor& right) {
  TORCH_CHECK(left.dtype() == right.dtype(), "two_four_sgemm: Expected tensors of one datatype, but got ", left.dtype(),
              " and ", right.dtype());
  if (left.scalar_type() != at::kChar) return at::matmul(left.to(at::kFloat), right.to(at::kFloat));
  // CUDA multiplies no dense integers; sums of products of eight bits are exact in double.
  return at::matmul(left.to(at::kDouble), right.to(at::kDouble)).to(at::kInt);
}

at::Tensor narrowed(const at::Tensor& product, at::ScalarType type) {
  if (type == at::kChar) return product.clamp(-128, 127).to(type);
  return product.to(type);
}

at::ScalarType result_type(const at::Tensor& values, std::optional<at::ScalarType> out_dtype) {
  return out_dtype.value_or(values.scalar_type());
}

}  // namespace

std::tuple<at::Tensor, at::Tensor> to_semi_structured(const at::Tensor& dense) {
  const SemiStructured matrix = SemiStructured::of(dense.cpu());
  return {matrix.values.to(dense.device()), to_cutlass(matrix).to(dense.device())};
}

at::Tensor semi_structured_mm(const at::Tensor& values, const at::Tensor& codes, const at::Tensor& dense,
                              std::optional<at::ScalarType> out_dtype) {
  return narrowed(upcast_product(dense_of(values, codes), dense), result_type(values, out_dtype));
}

at::Tensor semi_structured_addmm(const at::Tensor& input, const at::Tensor& values, const at::Tensor& codes,
                                 const at::Tensor& dense, const at::Scalar& alpha, const at::Scalar& beta,
                                 std::optional<at::ScalarType> out_dtype) {
  at::Tensor product = upcast_product(dense_of(values, codes), dense) * alpha;
  product = product + input.to(product.scalar_type()).unsqueeze(1) * beta;  // a bias per row
  return narrowed(product, result_type(values, out_dtype));
}

at::Tensor semi_structured_linear(const at::Tensor& input, const at::Tensor& values, const at::Tensor& codes,
                                  const std::optional<at::Tensor>& bias, std::optional<c10::string_view> activation,
                                  std::optional<at::ScalarType> out_dtype) {
  at::Tensor product = upcast_product(input, dense_of(values, codes).t());
  if (is_given(bias)) product = product + bias->to(product.scalar_type());
  const c10::string_view name = activation.value_or("none");
  TORCH_CHECK(name == "none" || name == "relu" || name == "silu", "_sparse_semi_structured_linear: Activation \"", name,
              "\" not supported");
  if (name == "relu") product = product.relu();
  if (name == "silu") product = at::silu(product);
  return narrowed(product, result_type(values, out_dtype));
}

at::Tensor cslt_compress(const at::Tensor& dense) {
  TORCH_CHECK(dense.scalar_type() == at::kChar || dense.scalar_type() == at::kHalf ||
                  dense.scalar_type() == at::kBFloat16 || dense.scalar_type() == at::kFloat,
              "Unsupported dtype for cuSPARSELt compressed matrix");
  return to_run(SemiStructured::of(dense.cpu())).to(dense.device());
}

at::Tensor cslt_mm(const at::Tensor& compressed, const at::Tensor& dense, const std::optional<at::Tensor>& bias,
                   const std::optional<at::Tensor>& alpha, std::optional<at::ScalarType> out_dtype, bool transposed,
                   std::int64_t /*algorithm*/, std::int64_t /*split_k*/, std::int64_t /*split_k_mode*/) {
  const at::Tensor matrix = from_run(compressed.cpu().contiguous(), dense.size(0)).dense().to(compressed.device());
  at::Tensor product = upcast_product(matrix, dense);
  if (is_given(alpha)) product = product * alpha->to(at::kFloat).reshape({-1, 1});
  if (is_given(bias)) product = product + bias->to(product.scalar_type()).unsqueeze(1);
  const at::Tensor result = narrowed(product, result_type(compressed, out_dtype));
  return transposed ? result.t().contiguous() : result;
}

std::int64_t cslt_search(const at::Tensor& /*compressed*/, const at::Tensor& /*dense*/,
                         const std::optional<at::Tensor>& /*bias*/, const std::optional<at::Tensor>& /*alpha*/,
                         std::optional<at::ScalarType> /*out_dtype*/, bool /*transposed*/) {
  return 0;
}

}  // namespace devsan::emulate
