#include "guard/kernel_checks.h"

#include <algorithm>
#include <array>

#include <c10/util/Exception.h>

#include "guard/operands.h"

namespace devsan::guard {
namespace {

/// The operands of a binary operator; in-place forms write `self`, and others make a result like `like`.
struct Binary {
  const at::Tensor& self;
  const at::Tensor& other;
  const at::Tensor& result;  ///< or a tensor on its device
};

Binary binary_of(const Call& call, const at::Tensor& like) {
  const OperandRef* out = find(call.operands, "out");
  const OperandRef* self = find(call.operands, "self");
  const OperandRef* other = find(call.operands, "other");
  const at::Tensor& result = out != nullptr ? *out->tensor : self->is_written ? *self->tensor : like;
  return {*self->tensor, *other->tensor, result};
}

bool is_strided(const at::Tensor& tensor) { return tensor.layout() == at::kStrided; }

/// cuda::check_device, of tensors that must all be on the GPU of the wrapper's guard: that of `self`.
void check_one_gpu(const Binary& binary, const char* tensors) {
  const c10::Device device = binary.self.device();
  TORCH_CHECK(binary.other.device() == device && binary.result.device() == device, "Expected cuda::check_device({",
              tensors, "}) to be true, but got false.  ",
              "(Could this error message be improved?  If so, please report an enhancement request to PyTorch.)");
}

/// aten/src/ATen/native/sparse/cuda/SparseCUDATensorMath.cu, add_out_sparse_cuda and add_out_dense_sparse_cuda; sub comes
/// to them too (SparseTensorMath.cpp, sub_sparse).
bool add(const Call& call) {
  const Binary binary = binary_of(call, *find(call.operands, "self")->tensor);
  const bool dense = is_strided(binary.self);
  if (!dense && is_strided(binary.other)) return true;  // the kernel refuses the layouts
  const char* wanted = dense ? "a CUDA tensor, but got a CPU tensor" : "CUDA, but got CPU";
  TORCH_CHECK(!binary.self.is_cpu(), "add: expected 'self' to be ", wanted);
  TORCH_CHECK(!binary.other.is_cpu(), "add: expected 'other' to be ", wanted);
  TORCH_CHECK(!binary.result.is_cpu(), "add: expected 'out' to be ", wanted);
  check_one_gpu(binary, dense ? "sparse, r_, dense" : "r_, t, src");
  return true;
}

/// aten/src/ATen/native/sparse/SparseTensorMath.cpp, intersection_binary_op_sparse_dense_out: the dense factor is indexed
/// by the other's indices, unless only dense dimensions meet; then the values are multiplied.
void check_dense_factor(const at::Tensor& dense, const at::Tensor& sparse) {
  if (sparse._nnz() == 0 || sparse.numel() == 0 || dense.numel() == 0) return;
  TORCH_CHECK_INDEX(dense.dim() <= sparse.dense_dim() || dense.device() == sparse.device() || sparse.is_cpu(),
                    "indices should be either on cpu or on the same device as the indexed tensor (", dense.device(),
                    ")");
  OperandRef factor{&dense, "self", -1, false, false, false};
  OperandRef values{&sparse, "other", -1, false, false, false};
  check_tensor_iterator({factor, values});
}

/// SparseCUDATensorMath.cu, mul_out_sparse_cuda.
bool mul(const Call& call) {
  const at::Tensor& self = *find(call.operands, "self")->tensor;
  const at::Tensor& other = *find(call.operands, "other")->tensor;
  const Binary binary = binary_of(call, is_strided(self) ? other : self);
  TORCH_CHECK(!binary.result.is_cpu(), "mul: expected 'out' to be CUDA, but got CPU");
  if (is_strided(other) || is_strided(self)) {
    const bool dense_other = is_strided(other);
    check_dense_factor(dense_other ? other : self, dense_other ? self : other);
    return true;
  }
  if (other.dim() == 0 || self.dim() == 0) return false;  // one is a number: its value is the other's factor
  TORCH_CHECK(!self.is_cpu(), "mul: expected 'self' to be CUDA, but got CPU");
  TORCH_CHECK(!other.is_cpu(), "mul: expected 'other' to be CUDA, but got CPU");
  check_one_gpu(binary, "r_, t_, src_");
  return true;
}

/// aten/src/ATen/native/sparse/cuda/SparseCsrTensorMath.cu, add_out_sparse_compressed_cuda. It compares no two GPUs and
/// reads through raw pointers: those are refused in TensorIterator's words.
bool add_compressed(const Call& call) {
  const at::Tensor& self = *find(call.operands, "self")->tensor;
  const at::Tensor& other = *find(call.operands, "other")->tensor;
  const bool mixed_layouts = is_strided(self) || is_strided(other);
  const Binary binary = binary_of(call, is_strided(other) ? other : self);
  if (mixed_layouts) {
    const at::Tensor& dense = is_strided(self) ? self : other;
    const at::Tensor& sparse = is_strided(self) ? other : self;
    TORCH_CHECK(!dense.is_cpu(), "dense.is_cuda() INTERNAL ASSERT FAILED at \"",
                "/__w/pytorch/pytorch/aten/src/ATen/native/sparse/cuda/SparseCsrTensorMath.cu\":148, ",
                "please report a bug to PyTorch. ");
    TORCH_CHECK(!binary.result.is_cpu(),
                "add: expected 'out' to be CUDA tensor, but got tensor on device: ", binary.result.device());
    TORCH_CHECK(!sparse.is_cpu(),
                "add: expected 'other' to be a CUDA tensor, but got tensor on device: ", sparse.device());
    return false;
  }
  if (!self.sizes().equals(other.sizes())) return true;  // the kernel says so
  const char* wanted = " to be CUDA tensor, but got tensor on device: ";
  TORCH_CHECK(!self.is_cpu(), "add: expected 'self'", wanted, self.device());
  TORCH_CHECK(!other.is_cpu(), "add: expected 'other'", wanted, other.device());
  TORCH_CHECK(!binary.result.is_cpu(), "add: expected 'out'", wanted, binary.result.device());
  return false;
}

/// aten/src/ATen/native/sparse/SparseCsrTensorMath.cpp, mul_sparse_csr: by a number through the values, by a dense tensor
/// through sparse_mask, by another compressed one as COO tensors.
bool mul_compressed(const Call& call) {
  const OperandRef& self = *find(call.operands, "self");
  const OperandRef& other = *find(call.operands, "other");
  if (!is_strided(*self.tensor) && !is_strided(*other.tensor)) return mul(call);
  const OperandRef& dense = is_strided(*self.tensor) ? self : other;
  const OperandRef& sparse = is_strided(*self.tensor) ? other : self;
  if (dense.tensor->dim() == 0) {
    check_tensor_iterator({sparse, dense});
    return true;
  }
  check_generated_for(call.operands, "wrapper_SparseCsrCUDA__sparse_mask",
                      {{dense.argument.data(), "self"}, {sparse.argument.data(), "mask"}});
  return true;
}

/// The operator without its overload and the mark of its in-place form: "add" of "aten::add_.Tensor".
std::string_view base_of(std::string_view op) {
  op.remove_prefix(std::string_view("aten::").size());
  op = op.substr(0, op.find('.'));
  return op.substr(0, op.find_last_not_of('_') + 1);
}

bool is_binary(const Call& call) {
  return find(call.operands, "self") != nullptr && find(call.operands, "other") != nullptr;
}

}  // namespace

bool check_sparse(std::string_view op, const Call& call) {
  if (!is_binary(call)) return false;
  const std::string_view base = base_of(op);
  if (base == "add" || base == "sub") return add(call);
  // SparseTensorMath.cpp, div_out_sparse_zerodim and floor_divide_out_sparse_zerodim: the divisor's shape comes first.
  if (base == "div" || base == "floor_divide") return find(call.operands, "other")->tensor->dim() != 0;
  return base == "mul" && mul(call);
}

bool check_sparse_compressed(std::string_view op, const Call& call) {
  if (!is_binary(call)) return false;
  const std::string_view base = base_of(op);
  if (base == "add") return add_compressed(call);
  return base == "mul" && mul_compressed(call);
}

}  // namespace devsan::guard
