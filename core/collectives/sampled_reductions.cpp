// SampledGloo's collectives that compute: all_reduce, reduce, reduce_scatter.
#include <ATen/Functions.h>
#include <ATen/core/LegacyTypeDispatch.h>

#include "collectives/payload.h"
#include "collectives/sampled_gloo.h"
#include "collectives/sampled_work.h"
#include "collectives/work.h"

namespace devsan::collectives {
namespace {

using c10d::OpType;
using c10d::ReduceOp;
using Tensors = SampledGloo::Tensors;
using WorkPtr = SampledGloo::WorkPtr;

/// Turns `tensor` into what `times` of it come to. A maximum, a minimum, a bitwise and or or of equal ones is that one.
void repeat(const at::Tensor& tensor, const ReduceOp& op, int times) {
  if (times == 1 || tensor.scalar_type() == at::kBool) return;
  const ReduceOp::RedOpType kind = op;
  if (kind == ReduceOp::SUM) {
    tensor.mul_(times);
  } else if (kind == ReduceOp::PRODUCT) {
    tensor.pow_(times);
  } else if (kind == ReduceOp::BXOR && times % 2 == 0) {
    tensor.zero_();
  }
}

}  // namespace

void SampledGloo::weigh(const Tensors& tensors, const ReduceOp& op) {
  const at::AutoDispatchBelowADInplaceOrView below;
  wait_for_earlier(tensors);
  for (const at::Tensor& tensor : tensors) repeat(tensor, op, attendance().weight(rank_));
}

WorkPtr SampledGloo::allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) {
  weigh(tensors, options.reduceOp);
  return follow(OpType::ALLREDUCE, gloo().allreduce(tensors, options), tensors, {});
}

WorkPtr SampledGloo::allreduce_sparse(Tensors& tensors, const c10d::AllreduceOptions& options) {
  return allreduce(tensors, options);  // as ProcessGroupGloo
}

WorkPtr SampledGloo::allreduce_coalesced(Tensors& tensors, const c10d::AllreduceCoalescedOptions& options) {
  std::vector<WorkPtr> works;
  for (const at::Tensor& tensor : tensors) {
    Tensors one = {tensor};
    works.push_back(allreduce(one, options));
  }
  return join(std::move(works));
}

WorkPtr SampledGloo::reduce(Tensors& tensors, const c10d::ReduceOptions& options) {
  const int root = static_cast<int>(options.rootRank);
  if (!attendance().is_present(root)) return done_work(OpType::REDUCE);
  weigh(tensors, options.reduceOp);
  c10d::ReduceOptions among = options;
  among.rootRank = attendance().place(root);
  return follow(OpType::REDUCE, gloo().reduce(tensors, among), tensors, {});
}

/// @param given of this rank for all, which gloo computes in; `mine` is this rank's share of it
WorkPtr SampledGloo::sum_and_take(const at::Tensor& given, const at::Tensor& mine, const at::Tensor& result,
                                  const c10d::ReduceScatterOptions& options) {
  Tensors all = {given};
  weigh(all, options.reduceOp);
  c10d::AllreduceOptions whole;
  whole.reduceOp = options.reduceOp;
  whole.timeout = options.timeout;
  return follow(OpType::REDUCE_SCATTER, gloo().allreduce(all, whole), {result}, {},
                [mine, result] { flat(result).copy_(mine); });
}

WorkPtr SampledGloo::reduce_scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                                    const c10d::ReduceScatterOptions& options) {
  const at::AutoDispatchBelowADInplaceOrView below;
  Tensors rows;
  std::int64_t offset = 0;
  for (const at::Tensor& input : inputs.at(0)) {
    if (rows.size() < static_cast<std::size_t>(rank_)) offset += input.numel();
    rows.push_back(flat(input));
  }
  wait_for_earlier(rows);
  const at::Tensor given = at::cat(rows);
  const at::Tensor& result = outputs.at(0);
  return sum_and_take(given, given.narrow(0, offset, result.numel()), result, options);
}

WorkPtr SampledGloo::_reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                                          const c10d::ReduceScatterOptions& options) {
  const at::AutoDispatchBelowADInplaceOrView below;
  wait_for_earlier({input});
  const at::Tensor given = flat(input).clone();
  return sum_and_take(given, given.narrow(0, rank_ * output.numel(), output.numel()), output, options);
}

WorkPtr SampledGloo::reduce_scatter_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                                     const c10d::ReduceScatterOptions& options) {
  std::vector<WorkPtr> works;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    works.push_back(_reduce_scatter_base(outputs.at(i), inputs[i], options));
  }
  return join(std::move(works));
}

}  // namespace devsan::collectives
