// NcclBackend's collectives that compute: all_reduce, reduce, reduce_scatter.
#include <ATen/Functions.h>

#include "collectives/checks.h"
#include "collectives/nccl_backend.h"
#include "collectives/payload.h"
#include "collectives/profile.h"
#include "collectives/reduction.h"
#include "emulate/runtime/device.h"
#include "emulate/runtime/tensor.h"

namespace devsan::collectives {
namespace {

using c10d::OpType;
using c10d::ReduceOp;
using WorkPtr = c10::intrusive_ptr<c10d::Work>;

/// One tensor on its way through a reduction: what gloo computes in, and where the result belongs.
struct Reduced {
  Reduction reduction;
  at::Tensor given;
  at::Tensor result;

  void finish() const { reduction.after(given, result); }
  bool has_after() const { return reduction.divisor != 1 || !given.is_alias_of(result); }
};

/// The elements of an emulated tensor, as gloo reduces them.
at::Tensor computable(const at::Tensor& tensor) {
  at::Tensor host = emulate::host_alias(tensor);
  if (!host.is_contiguous()) host = flat(host);
  return host.scalar_type() == at::kBool ? host.view(at::kByte) : host;
}

Reduced in_place(const ReduceOp& op, const at::Tensor& tensor, int ranks) {
  Reduced reduced{reduction_of(op, tensor, ranks), {}, computable(tensor)};
  reduced.given = reduced.reduction.needs_before() ? reduced.reduction.before(reduced.result) : reduced.result;
  return reduced;
}

}  // namespace

WorkPtr NcclBackend::allreduce(std::vector<at::Tensor>& tensors, const c10d::AllreduceOptions& options) {
  const at::Tensor& tensor = expect_single(tensors);
  if (tensor.is_complex()) {
    TORCH_CHECK(c10d::isComplexViewAsRealAllowed(options.reduceOp), "all_reduce does not support ",
                "this reduction on complex tensors");
    std::vector<at::Tensor> real = {at::view_as_real(tensor)};
    return allreduce(real, options);
  }
  expect_tensor(tensor);
  expect_type(tensor);
  const at::AutoDispatchBelowADInplaceOrView below;
  const ReduceOp::RedOpType kind = options.reduceOp;
  if (kind == ReduceOp::PREMUL_SUM || kind == ReduceOp::AVG || at::isFloat8Type(tensor.scalar_type())) {
    wait_for_earlier(tensors);
  }
  const Reduced reduced = in_place(options.reduceOp, tensor, size_);
  std::function<void()> after;
  if (reduced.has_after()) after = [reduced] { reduced.finish(); };
  return start({OpType::ALLREDUCE, "all_reduce", tensor.numel(), tensor.numel(), options.timeout, {}, tensors},
               all_reduce(reduced.given, reduced.reduction.op), std::move(after));
}

WorkPtr NcclBackend::allreduce_sparse(std::vector<at::Tensor>& /*tensors*/, const c10d::AllreduceOptions& /*options*/) {
  C10_THROW_ERROR(ValueError,
                  "NCCL does not support all_reduce with sparse tensors. Please use dense tensors instead.");
}

WorkPtr NcclBackend::allreduce_coalesced(std::vector<at::Tensor>& tensors,
                                         const c10d::AllreduceCoalescedOptions& options) {
  const std::int64_t numel = expect_on_one_device(tensors);
  for (const at::Tensor& tensor : tensors) expect_type(tensor);
  const at::AutoDispatchBelowADInplaceOrView below;
  wait_for_earlier(tensors);
  std::vector<Reduced> all;
  std::vector<CollectiveRequest> requests;
  for (const at::Tensor& tensor : tensors) {
    all.push_back(in_place(options.reduceOp, tensor, size_));
    requests.push_back(all_reduce(all.back().given, all.back().reduction.op));
  }
  return start({OpType::COALESCED, "all_reduce_coalesced", numel, numel, options.timeout, {}, tensors}, requests,
               [all] {
                 for (const Reduced& each : all) each.finish();
               });
}

WorkPtr NcclBackend::reduce(std::vector<at::Tensor>& tensors, const c10d::ReduceOptions& options) {
  const at::Tensor& tensor = expect_single(tensors);
  if (tensor.is_complex()) {
    std::vector<at::Tensor> real = {at::view_as_real(tensor)};
    return reduce(real, options);
  }
  expect_tensor(tensor);
  expect_type(tensor);
  expect_root(options.rootRank, size_);
  const at::AutoDispatchBelowADInplaceOrView below;
  // gloo leaves partial sums in the tensors of the other ranks; NCCL leaves those alone.
  wait_for_earlier(tensors);
  Reduced reduced{reduction_of(options.reduceOp, tensor, size_), {}, computable(tensor)};
  const bool is_root = options.rootRank == rank_;
  const bool copied = reduced.reduction.needs_before() || !is_root;
  reduced.given = copied ? reduced.reduction.before(reduced.result) : reduced.result;
  std::function<void()> after;
  if (is_root && reduced.has_after()) after = [reduced] { reduced.finish(); };
  return start({OpType::REDUCE,
                "reduce",
                tensor.numel(),
                tensor.numel(),
                options.timeout,
                {},
                tensors,
                static_cast<int>(options.rootRank)},
               collectives::reduce(reduced.given, reduced.reduction.op, options.rootRank), std::move(after));
}

WorkPtr NcclBackend::_reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                                          const c10d::ReduceScatterOptions& options) {
  if (output.scalar_type() != input.scalar_type()) {
    C10_THROW_ERROR(TypeError, "input tensor must be the same type as the output tensor.");
  }
  if (input.numel() != output.numel() * size_) {
    C10_THROW_ERROR(ValueError, "input tensor must be the same size as output size times world size");
  }
  expect_tensor(input);
  expect_tensor(output);
  expect_type(input);
  const at::AutoDispatchBelowADInplaceOrView below;
  wait_for_earlier({input});
  // NCCL leaves the input as it is, and gloo computes in it.
  const Reduction reduction = reduction_of(options.reduceOp, input, size_);
  const at::Tensor given = flat(reduction.before(computable(input)));
  const at::Tensor result = flat(computable(output));
  const std::int64_t chunk = result.numel();
  const at::Tensor mine = given.narrow(0, rank_ * chunk, chunk);
  return start({OpType::_REDUCE_SCATTER_BASE,
                "reduce_scatter_tensor",
                input.numel(),
                output.numel(),
                options.timeout,
                {input},
                {output}},
               all_reduce(given, reduction.op), [reduction, mine, result] { reduction.after(mine, result); });
}

WorkPtr NcclBackend::reduce_scatter_tensor_coalesced(std::vector<at::Tensor>& outputs, std::vector<at::Tensor>& inputs,
                                                     const c10d::ReduceScatterOptions& options) {
  const Profiled profiled(group_, together("reduce_scatter_tensor_coalesced", inputs, outputs), coalescing_);
  std::vector<WorkPtr> works;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    works.push_back(_reduce_scatter_base(outputs[i], inputs.at(i), options));
  }
  return join(std::move(works));
}

WorkPtr NcclBackend::reduce_scatter(std::vector<at::Tensor>& outputs, std::vector<std::vector<at::Tensor>>& inputs,
                                    const c10d::ReduceScatterOptions& options) {
  at::Tensor output = expect_single(outputs);
  expect_tensor(output);
  TORCH_CHECK(inputs.size() == 1, "Expecting one tensor list only but got multiple");
  expect_on_one_device(inputs.front());
  TORCH_CHECK_WITH(ValueError, inputs.front().size() == static_cast<std::size_t>(size_),
                   "Tensor list input to scatter/gather must match number of collective participants");
  expect_type(output);
  const at::AutoDispatchBelowADInplaceOrView below;
  wait_for_earlier(inputs.front());
  const Reduction reduction = reduction_of(options.reduceOp, inputs.front().front(), size_);
  // Lists of unequal lengths are NCCL's ncclReduce of each in turn; a sum over all of them at once is the same.
  std::vector<at::Tensor> rows;
  std::int64_t offset = 0;
  std::int64_t numel = 0;
  for (std::size_t i = 0; i < inputs.front().size(); ++i) {
    if (i == static_cast<std::size_t>(rank_)) offset = numel;
    rows.push_back(flat(computable(inputs.front()[i])));
    numel += rows.back().numel();
  }
  at::Tensor given = at::cat(rows);
  if (reduction.needs_before()) given = reduction.before(given);
  const at::Tensor result = flat(computable(output));
  TORCH_CHECK_WITH(ValueError, rows[static_cast<std::size_t>(rank_)].numel() == result.numel(),
                   "Tensor list operand to scatter/gather must have the same number of elements");
  const at::Tensor mine = given.narrow(0, offset, result.numel());
  return start(
      {OpType::REDUCE_SCATTER, "reduce_scatter", numel, output.numel(), options.timeout, inputs.front(), {output}},
      all_reduce(given, reduction.op), [reduction, mine, result] { reduction.after(mine, result); });
}

WorkPtr NcclBackend::barrier(const c10d::BarrierOptions& options) {
  const at::AutoDispatchBelowADInplaceOrView below;
  at::Device device = guess_device();
  if (!options.device_ids.empty()) {
    device = {at::kCUDA, static_cast<c10::DeviceIndex>(options.device_ids.front())};
  } else if (options.device.has_value() && options.device->is_cuda()) {
    device = emulate::resolve(*options.device);
  }
  return start({OpType::ALLREDUCE, "barrier", 1, 1, options.timeout, {}, {}},
               all_reduce(at::zeros({1}, at::kFloat), ReduceOp(ReduceOp::SUM)), nullptr, device);
}

}  // namespace devsan::collectives
