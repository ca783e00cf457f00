#include "guard/dtype_check.h"

#include <algorithm>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include <ATen/TensorUtils.h>
#include <c10/util/Exception.h>

#include "guard/meta_functions.h"

namespace devsan::guard {
namespace {

// The types of aten/src/ATen/Dispatch.h, and the two that most macros are given beside them.
constexpr DtypeSet kFloating = set_of(at::kFloat, at::kDouble);
constexpr DtypeSet kComplex = set_of(at::kComplexFloat, at::kComplexDouble);
constexpr DtypeSet kReduced = set_of(at::kHalf, at::kBFloat16);
constexpr DtypeSet kIntegral = set_of(at::kByte, at::kChar, at::kShort, at::kInt, at::kLong);
// Refused by code before the kernel, which backends share.
constexpr DtypeSet kShared = kIntegral | set_of(at::kBool);
// AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND3 as most elementwise kernels have it: neither float8 nor the unsigned types of 16 to 64
// bits, which some kernels of the CPU take.
constexpr DtypeSet kCommon = kFloating | kComplex | kReduced | kShared;
// Elementwise functions of integers are computed in the default dtype.
constexpr DtypeSet kPromoted = kFloating | kIntegral | set_of(at::kBool, at::kUInt16, at::kUInt32, at::kUInt64);

/// cuDNN's convolution (aten/src/ATen/cudnn/Descriptors.h, getCudnnDataTypeFromScalarType).
void refuse_convolution(const DtypeCheck& /*check*/, const Call& /*call*/, at::ScalarType type) {
  TORCH_CHECK(false, "getCudnnDataTypeFromScalarType() not supported for ", c10::toString(type));
}

void refuse(std::string_view kernel, at::ScalarType type) {
  // The words of AT_DISPATCH_SWITCH (aten/src/ATen/Dispatch.h).
  TORCH_CHECK_NOT_IMPLEMENTED(false, '"', kernel, "\" not implemented for '", c10::toString(type), "'");
}

/// Of a kernel that reads all tensors by pointers to one type: the words of Tensor::data_ptr, which come with the first
/// tensor of another (aten/src/ATen/templates/TensorMethods.cpp).
void compare_all(const Call& call, at::ScalarType type) {
  for (const OperandRef& operand : call.operands) {
    const at::ScalarType other = operand.tensor->scalar_type();
    TORCH_CHECK(other == type || operand.tensor->numel() == 0, "expected scalar type ", c10::toString(type),
                " but found ", c10::toString(other));
  }
}

/// aten/src/ATen/native/Normalization.cpp, _select_batch_norm_backend, of what the device check asks too.
bool takes_cudnn(const Call& call, const at::Tensor& input) {
  const OperandRef* weight = find(call.operands, "weight");
  const bool has_means =
      find(call.operands, "running_mean") != nullptr && find(call.operands, "running_var") != nullptr;
  if (weight == nullptr || find(call.operands, "bias") == nullptr || input.dim() < 3) return false;
  if (!has_means && !value_of(call, "training")->toBool()) return false;
  const at::ScalarType type = input.scalar_type();
  const at::ScalarType other = weight->tensor->scalar_type();
  return type != at::kBFloat16 && other != at::kBFloat16 && (type != at::kHalf || other == at::kFloat);
}

/// aten/src/ATen/native/cudnn/BatchNorm.cpp and cuda/Normalization.cu: parameters are of the type of the input, or all of
/// the one that sums of it are computed in.
void compare_parameters(const Call& call, at::ScalarType type) {
  const at::Tensor& input = tensor(call.operands, "input");
  if (call.schema.name() == "aten::native_batch_norm" && takes_cudnn(call, input)) {
    static constexpr const char* kNames[] = {"input", "weight", "bias", "running_mean", "running_var"};
    std::vector<at::TensorArg> arguments;
    for (const char* name : kNames) {
      const OperandRef* operand = find(call.operands, name);
      if (operand != nullptr) arguments.emplace_back(*operand->tensor, name, static_cast<int>(arguments.size()) + 1);
    }
    if (type != at::kHalf) at::checkSameType("cudnn_batch_norm", arguments[0], arguments[1]);
    at::checkAllSameType("cudnn_batch_norm", at::ArrayRef<at::TensorArg>(arguments).slice(1));
    return;
  }
  const at::ScalarType sums = type == at::kDouble ? at::kDouble : at::kFloat;
  at::ScalarType expected = at::ScalarType::Undefined;
  for (const char* name : {"weight", "bias"}) {
    const OperandRef* operand = find(call.operands, name);
    if (operand == nullptr) continue;
    const at::ScalarType other = operand->tensor->scalar_type();
    if (expected == at::ScalarType::Undefined) expected = other == type ? type : sums;
    TORCH_CHECK(other == expected, "expected scalar type ", c10::toString(expected), " but found ",
                c10::toString(other));
  }
}

/// aten/src/ATen/native/cuda/EmbeddingBag.cu: they are read by a pointer to the type of the weight.
void compare_sample_weights(const Call& call, at::ScalarType type) {
  const OperandRef* weights = find(call.operands, "per_sample_weights");
  if (weights == nullptr || weights->tensor->scalar_type() == type) return;
  TORCH_CHECK(false, "expected scalar type ", c10::toString(type), " but found ",
              c10::toString(weights->tensor->scalar_type()));
}

/// cuda/Normalization.cu, batch_norm_cuda_out: with running statistics the input is first read to normalize it.
void refuse_batch_norm(const DtypeCheck& check, const Call& call, at::ScalarType type) {
  const c10::IValue* training = value_of(call, "training");
  const bool trains = training == nullptr || training->toBool();
  refuse(trains ? check.kernel : "batch_norm_elementwise_cuda", type);
}

/// aten/src/ATen/native/cuda/SummaryOps.cu, _histc_cuda.
void refuse_histogram(const DtypeCheck& check, const Call& /*call*/, at::ScalarType type) {
  TORCH_CHECK(type != at::kHalf, "HalfTensor is not supported");
  refuse(check.kernel, type);
}

/// aten/src/ATen/native/Distance.cpp, cdist_impl: Euclidean distances of many rows are a product of matrices, which has the
/// reduced precisions.
void refuse_distance(const DtypeCheck& check, const Call& call, at::ScalarType type) {
  if (at::isIntegralType(type, /*includeBool=*/true)) return;  // refused by code that all backends share
  constexpr std::int64_t kFewRows = 25;
  const std::int64_t rows = std::max(tensor(call.operands, "x1").size(-2), tensor(call.operands, "x2").size(-2));
  const c10::IValue* mode = value_of(call, "compute_mode");
  const std::int64_t chosen = mode->isNone() ? 0 : mode->toInt();
  const bool by_product = chosen == 1 || (chosen == 0 && rows > kFewRows);
  if (value_of(call, "p")->toDouble() == 2 && by_product) return;
  refuse(check.kernel, type);
}

/// aten/src/ATen/native/cuda/Dropout.cu, native_dropout_cuda: evaluation and p = 1 need no kernel.
void refuse_dropout(const DtypeCheck& check, const Call& call, at::ScalarType type) {
  const c10::IValue* train = value_of(call, "train");
  const bool evaluates = train->isBool() && !train->toBool();
  if (!evaluates && value_of(call, "p")->toDouble() != 1) refuse(check.kernel, type);
}

/// aten/src/ATen/native/cuda/ScatterGatherKernel.cu: a sum has a kernel for all types, the other reductions have not.
void refuse_reduction(const DtypeCheck& check, const Call& call, at::ScalarType type) {
  if (value_of(call, "reduce")->toStringRef() != "sum") refuse(check.kernel, type);
}

/// aten/src/ATen/native/cuda/UpSampleBilinear2d.cu: an image that keeps its size is copied.
void refuse_resize(const DtypeCheck& check, const Call& call, at::ScalarType type) {
  const c10::IValue* size = value_of(call, "output_size");
  const bool keeps = size != nullptr && size->isIntList() &&
                     tensor(call.operands, "self").sizes().slice(2) == at::IntArrayRef(size->toIntVector());
  if (!keeps) refuse(check.kernel, type);
}

// The kernels are those of aten/src/ATen/native/cuda. Their names were compared with the strings in libtorch_cuda.so and
// libtorch_cuda_linalg.so of torch 2.4.0 and 2.15.0, and the dtypes with the lists of torch 2.4.0, 2.13.0 and 2.15.0.
constexpr DtypeCheck kChecks[] = {
    // Blas.cpp
    {.op = "aten::mm", .kernel = "addmm_cuda", .accepted = kFloating | kComplex | kReduced},
    {.op = "aten::addmm", .kernel = "addmm_cuda", .accepted = kFloating | kComplex | kReduced},
    {.op = "aten::addbmm", .kernel = "addmm_cuda", .accepted = kFloating | kComplex | kReduced},
    {.op = "aten::_addmm_activation", .kernel = "addmm_cuda", .accepted = kFloating | kComplex | kReduced},
    {.op = "aten::bmm", .kernel = "baddbmm_cuda", .accepted = kFloating | kComplex | kReduced},
    {.op = "aten::baddbmm", .kernel = "baddbmm_cuda", .accepted = kFloating | kComplex | kReduced},
    {.op = "aten::addmv", .kernel = "addmv_impl_cuda", .accepted = kFloating | kComplex | kReduced},
    {.op = "aten::dot", .kernel = "dot", .accepted = kFloating | kComplex | kReduced},
    {.op = "aten::vdot", .kernel = "dot", .accepted = kFloating | kComplex | kReduced},

    // AbsKernel.cu, BinaryMulKernel.cu, ReduceLogicKernel.cu, TensorTransformations.cu
    {.op = "aten::abs", .kernel = "abs_cuda", .accepted = kCommon | set_of(at::kComplexHalf)},
    {.op = "aten::mul", .kernel = "mul_cuda", .accepted = kCommon | set_of(at::kComplexHalf)},
    {.op = "aten::any", .kernel = "or_cuda", .accepted = kCommon},
    {.op = "aten::all", .kernel = "and_cuda", .accepted = kCommon},
    {.op = "aten::roll", .kernel = "roll_cuda", .accepted = kCommon | set_of(at::kComplexHalf)},

    // EmbeddingBag.cu
    {.op = "aten::_embedding_bag",
     .kernel = "embedding_bag_cuda",
     .accepted = kFloating | kReduced,
     .operand = "weight",
     .compare = compare_sample_weights},
    {.op = "aten::_embedding_bag_forward_only",
     .kernel = "embedding_bag_cuda",
     .accepted = kFloating | kReduced,
     .operand = "weight",
     .compare = compare_sample_weights},

    // ScatterGatherKernel.cu
    {.op = "aten::scatter_reduce",
     .kernel = "cuda_scatter_gather_base_kernel_func",
     .accepted = kFloating | kIntegral | kReduced,
     .refuse = refuse_reduction},

    // AveragePool2d.cu, AveragePool3d.cu, DilatedMaxPool2d.cu, DilatedMaxPool3d.cu
    {.op = "aten::avg_pool2d", .kernel = "avg_pool2d_out_cuda_frame", .accepted = kFloating | kReduced},
    {.op = "aten::avg_pool3d", .kernel = "avg_pool3d_out_cuda", .accepted = kFloating | kReduced},
    {.op = "aten::max_pool2d_with_indices",
     .kernel = "max_pool2d_with_indices_out_cuda_frame",
     .accepted = kFloating | kReduced,
     .operand = "self"},
    {.op = "aten::max_pool3d_with_indices",
     .kernel = "max_pool3d_with_indices_out_frame",
     .accepted = kFloating | kReduced,
     .operand = "self"},

    // layer_norm_kernel.cu, group_norm_kernel.cu: the type of the input is that of each pointer. The CPU takes parameters in
    // float32 beside an input of 16 bits.
    {.op = "aten::native_layer_norm",
     .kernel = "LayerNormKernelImpl",
     .accepted = kFloating | kReduced,
     .compare = compare_all,
     .last = {2, 13}},
    {.op = "aten::native_group_norm",
     .kernel = "GroupNormKernelImpl",
     .accepted = kFloating | kReduced,
     .compare = compare_all,
     .last = {2, 13}},

    // Normalization.cu
    {.op = "aten::native_batch_norm",
     .kernel = "batch_norm_stats_cuda",
     .accepted = kFloating | kReduced,
     .refuse = refuse_batch_norm,
     .compare = compare_parameters},
    {.op = "aten::_native_batch_norm_legit",
     .kernel = "batch_norm_stats_cuda",
     .accepted = kFloating | kReduced,
     .refuse = refuse_batch_norm,
     .compare = compare_parameters},
    {.op = "aten::_batch_norm_with_update",
     .kernel = "batch_norm_stats_cuda",
     .accepted = kFloating | kReduced,
     .refuse = refuse_batch_norm,
     .compare = compare_parameters},

    // What cuDNN has a type for is left to the kernel.
    {.op = "aten::convolution",
     .kernel = "",
     .accepted = kFloating | kComplex | kReduced | set_of(at::kComplexHalf, at::kByte, at::kChar, at::kInt),
     .operand = "input",
     .refuse = refuse_convolution},

    // linalg/BatchLinearAlgebraLib.cpp and BatchLinearAlgebraLibBlas.cpp, for one matrix and the default library. The
    // composites are torch's: a determinant is an LU factorization.
    {.op = "aten::cholesky", .kernel = "cholesky_cusolver", .accepted = kFloating | kComplex},
    {.op = "aten::linalg_cholesky_ex", .kernel = "cholesky_cusolver", .accepted = kFloating | kComplex},
    {.op = "aten::_cholesky_solve_helper", .kernel = "cholesky_cuda_potrs", .accepted = kFloating | kComplex},
    {.op = "aten::cholesky_inverse", .kernel = "cholesky_cuda_potri", .accepted = kFloating | kComplex},
    {.op = "aten::geqrf", .kernel = "geqrf_cuda", .accepted = kFloating | kComplex},
    {.op = "aten::linalg_qr", .kernel = "geqrf_cuda", .accepted = kFloating | kComplex},
    {.op = "aten::ormqr", .kernel = "orgmr_cuda", .accepted = kFloating | kComplex},
    {.op = "aten::linalg_householder_product", .kernel = "orgqr_cuda", .accepted = kFloating | kComplex},
    {.op = "aten::_linalg_svd", .kernel = "svd_cuda_gesvdj", .accepted = kFloating | kComplex},
    {.op = "aten::_linalg_eigh", .kernel = "linalg_eigh_cuda", .accepted = kFloating | kComplex},
    {.op = "aten::linalg_eig", .kernel = "linalg_eig_cuda", .accepted = kFloating | kComplex | kShared},
    {.op = "aten::_linalg_eigvals", .kernel = "linalg_eig_cuda", .accepted = kFloating | kComplex | kShared},
    {.op = "aten::linalg_eigvals", .kernel = "linalg_eig_cuda", .accepted = kFloating | kComplex | kShared},
    {.op = "aten::linalg_lu", .kernel = "lu_factor_cusolver", .accepted = kFloating | kComplex},
    {.op = "aten::linalg_lu_factor_ex", .kernel = "lu_factor_cusolver", .accepted = kFloating | kComplex},
    {.op = "aten::_linalg_det", .kernel = "lu_factor_cusolver", .accepted = kFloating | kComplex},
    {.op = "aten::_linalg_slogdet", .kernel = "lu_factor_cusolver", .accepted = kFloating | kComplex},
    {.op = "aten::_linalg_solve_ex", .kernel = "lu_factor_cusolver", .accepted = kFloating | kComplex},
    {.op = "aten::linalg_lu_solve",
     .kernel = "lu_solve_cusolver",
     .accepted = kFloating | kComplex | set_of(at::kInt),  // the pivots
     .operand = "LU"},
    {.op = "aten::linalg_ldl_factor_ex", .kernel = "ldl_factor_looped_cusolver", .accepted = kFloating | kComplex},
    {.op = "aten::linalg_ldl_solve",
     .kernel = "ldl_solve_looped_cusolver",
     .accepted = kFloating | kComplex | set_of(at::kInt),  // the pivots
     .operand = "LD"},
    {.op = "aten::triangular_solve", .kernel = "triangular_solve_cuda", .accepted = kFloating | kComplex},
    {.op = "aten::linalg_solve_triangular", .kernel = "triangular_solve_cuda", .accepted = kFloating | kComplex},

    // DistanceKernel.cu, LossCTC.cu
    {.op = "aten::_cdist_forward", .kernel = "cdist_cuda", .accepted = kFloating, .refuse = refuse_distance},
    {.op = "aten::_pdist_forward", .kernel = "pdist_cuda", .accepted = kFloating},
    {.op = "aten::_ctc_loss",
     .kernel = "ctc_loss_cuda",
     .accepted = kFloating | set_of(at::kInt, at::kLong),  // the targets and lengths
     .operand = "log_probs"},

    // SummaryOps.cu, ComplexKernel.cu, UnaryComplexKernels.cu, Dropout.cu
    {.op = "aten::histc", .kernel = "histc", .accepted = kFloating | kIntegral, .refuse = refuse_histogram},
    {.op = "aten::polar", .kernel = "polar_cuda", .accepted = kFloating, .last = {2, 13}},
    {.op = "aten::angle",
     .kernel = "angle_cuda",
     .accepted = kPromoted | kComplex | set_of(at::kComplexHalf),
     .last = {2, 13}},
    {.op = "aten::native_dropout",
     .kernel = "fused_dropout",
     .accepted = kFloating | kReduced,
     .refuse = refuse_dropout,
     .last = {2, 14}},
    {.op = "aten::native_dropout_backward",
     .kernel = "masked_scale",
     .accepted = kFloating | kReduced | set_of(at::kBool),  // the mask
     .operand = "grad_output",
     .last = {2, 14}},

    // UnfoldBackwardKernel.cu
    {.op = "aten::unfold_backward", .kernel = "unfold_backward_cuda", .accepted = kPromoted | kComplex | kReduced},

    // UpSampleBilinear2d.cu, UpSampleBicubic2d.cu
    {.op = "aten::upsample_bilinear2d",
     .kernel = "upsample_bilinear2d_out_frame",
     .accepted = kFloating | kReduced,
     .refuse = refuse_resize},
    {.op = "aten::upsample_bicubic2d", .kernel = "upsample_bicubic2d_out_frame", .accepted = kFloating | kReduced},
    {.op = "aten::_upsample_bilinear2d_aa",
     .kernel = "upsample_bilinear2d_out_frame",
     .accepted = kFloating | kReduced},
    {.op = "aten::_upsample_bicubic2d_aa", .kernel = "upsample_bilinear2d_out_frame", .accepted = kFloating | kReduced},

    // IGammaKernel.cu, UnarySpecialOpsKernel.cu, BinaryMiscOpsKernels.cu and a file for each of the others
    {.op = "aten::igamma", .kernel = "igamma_cuda", .accepted = kPromoted},
    {.op = "aten::igammac", .kernel = "igammac_cuda", .accepted = kPromoted},
    {.op = "aten::special_zeta", .kernel = "zeta_cuda", .accepted = kPromoted},
    {.op = "aten::special_ndtri", .kernel = "ndtri_cuda", .accepted = kPromoted},
    {.op = "aten::special_log_ndtr", .kernel = "log_ndtr_cuda", .accepted = kPromoted},
    {.op = "aten::special_erfcx", .kernel = "erfcx_cuda", .accepted = kPromoted},
    {.op = "aten::special_airy_ai", .kernel = "airy_ai_cuda", .accepted = kPromoted},
    {.op = "aten::special_bessel_j0", .kernel = "bessel_j0_cuda", .accepted = kPromoted},
    {.op = "aten::special_bessel_j1", .kernel = "bessel_j1_cuda", .accepted = kPromoted},
    {.op = "aten::special_bessel_y0", .kernel = "bessel_y0_cuda", .accepted = kPromoted},
    {.op = "aten::special_bessel_y1", .kernel = "bessel_y1_cuda", .accepted = kPromoted},
    {.op = "aten::special_modified_bessel_i0", .kernel = "modified_bessel_i0_cuda", .accepted = kPromoted},
    {.op = "aten::special_modified_bessel_i1", .kernel = "modified_bessel_i1_cuda", .accepted = kPromoted},
    {.op = "aten::special_modified_bessel_k0", .kernel = "modified_bessel_k0_cuda", .accepted = kPromoted},
    {.op = "aten::special_modified_bessel_k1", .kernel = "modified_bessel_k1_cuda", .accepted = kPromoted},
    {.op = "aten::special_scaled_modified_bessel_k0",
     .kernel = "scaled_modified_bessel_k0_cuda",
     .accepted = kPromoted},
    {.op = "aten::special_scaled_modified_bessel_k1",
     .kernel = "scaled_modified_bessel_k1_cuda",
     .accepted = kPromoted},
    {.op = "aten::special_spherical_bessel_j0", .kernel = "spherical_bessel_j0_cuda", .accepted = kPromoted},
    {.op = "aten::special_chebyshev_polynomial_t", .kernel = "chebyshev_polynomial_t_cuda", .accepted = kPromoted},
    {.op = "aten::special_chebyshev_polynomial_u", .kernel = "chebyshev_polynomial_u_cuda", .accepted = kPromoted},
    {.op = "aten::special_chebyshev_polynomial_v", .kernel = "chebyshev_polynomial_v_cuda", .accepted = kPromoted},
    {.op = "aten::special_chebyshev_polynomial_w", .kernel = "chebyshev_polynomial_w_cuda", .accepted = kPromoted},
    {.op = "aten::special_shifted_chebyshev_polynomial_t",
     .kernel = "shifted_chebyshev_polynomial_t_cuda",
     .accepted = kPromoted},
    {.op = "aten::special_shifted_chebyshev_polynomial_u",
     .kernel = "shifted_chebyshev_polynomial_u_cuda",
     .accepted = kPromoted},
    {.op = "aten::special_shifted_chebyshev_polynomial_v",
     .kernel = "shifted_chebyshev_polynomial_v_cuda",
     .accepted = kPromoted},
    {.op = "aten::special_shifted_chebyshev_polynomial_w",
     .kernel = "shifted_chebyshev_polynomial_w_cuda",
     .accepted = kPromoted},
    {.op = "aten::special_hermite_polynomial_h", .kernel = "hermite_polynomial_h_cuda", .accepted = kPromoted},
    {.op = "aten::special_hermite_polynomial_he", .kernel = "hermite_polynomial_he_cuda", .accepted = kPromoted},
    {.op = "aten::special_laguerre_polynomial_l", .kernel = "laguerre_polynomial_l_cuda", .accepted = kPromoted},
    {.op = "aten::special_legendre_polynomial_p", .kernel = "legendre_polynomial_p_cuda", .accepted = kPromoted},
};

/// The operator without its overload, and without the underscore of an in-place one: these have one kernel.
std::string_view stem_of(std::string_view name) {
  name = name.substr(0, name.find('.'));
  if (name.ends_with('_')) name.remove_suffix(1);
  return name;
}

}  // namespace

const DtypeCheck* dtype_check_of(std::string_view name, memory::TorchRelease release) {
  static const auto table = [] {
    std::unordered_map<std::string_view, const DtypeCheck*> made;
    for (const DtypeCheck& check : kChecks) made.emplace(check.op, &check);
    return made;
  }();
  const auto found = table.find(stem_of(name));
  return found == table.end() || release > found->second->last ? nullptr : found->second;
}

void check_dtypes(const DtypeCheck& check, const c10::FunctionSchema& schema, const torch::jit::Stack& arguments) {
  const Call call{schema, arguments, operands_of(schema, arguments)};
  const OperandRef* operand = check.operand.empty() ? call.operands.data() : find(call.operands, check.operand);
  if (operand == nullptr || call.operands.empty()) return;
  const at::ScalarType type = operand->tensor->scalar_type();
  if (operand->tensor->numel() == 0) return;  // most kernels are not called
  if ((set_of(type) & check.accepted) != 0) {
    if (check.compare != nullptr) check.compare(call, type);
    return;
  }
  // An elementwise function computes in the type that its operands have in common; other kernels say themselves that types
  // differ.
  const auto decides = [&](const OperandRef& other) {
    return (set_of(other.tensor->scalar_type()) & check.accepted & (kFloating | kComplex | kReduced)) != 0;
  };
  if (std::ranges::any_of(call.operands, decides)) return;
  ask_meta_function(c10::toString(schema.operator_name()), schema, arguments);
  check.refuse != nullptr ? check.refuse(check, call, type) : refuse(check.kernel, type);
}

}  // namespace devsan::guard
