// NcclBackend's collectives that move: broadcast, all_gather, gather, scatter.
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/view_as_real.h>

#include "collectives/checks.h"
#include "collectives/nccl_backend.h"
#include "collectives/payload.h"
#include "collectives/profile.h"

namespace devsan::collectives {
namespace {

using c10d::OpType;
using WorkPtr = c10::intrusive_ptr<c10d::Work>;

bool have_one_size(const std::vector<at::Tensor>& tensors) {
  for (const at::Tensor& tensor : tensors) {
    if (tensor.numel() != tensors.front().numel()) return false;
  }
  return true;
}

/// Complex numbers travel as pairs.
at::Tensor as_pairs(const at::Tensor& tensor) { return tensor.is_complex() ? at::view_as_real(tensor) : tensor; }

}  // namespace

WorkPtr NcclBackend::broadcast(std::vector<at::Tensor>& tensors, const c10d::BroadcastOptions& options) {
  const at::Tensor tensor = as_pairs(expect_single(tensors));
  expect_tensor(tensor);
  expect_type(tensor);
  expect_root(options.rootRank, size_);
  const at::AutoDispatchBelowADInplaceOrView below;
  return start({OpType::BROADCAST,
                "broadcast",
                tensor.numel(),
                tensor.numel(),
                options.timeout,
                {},
                tensors,
                static_cast<int>(options.rootRank)},
               collectives::broadcast(movable(tensor), options.rootRank));
}

WorkPtr NcclBackend::allgather(std::vector<std::vector<at::Tensor>>& outputs, std::vector<at::Tensor>& inputs,
                               const c10d::AllgatherOptions& options) {
  const at::Tensor input = expect_single(inputs);
  expect_tensor(input);
  expect_type(input);
  TORCH_CHECK(outputs.size() == 1, "Expecting one tensor list only but got multiple");
  const std::vector<at::Tensor> list = outputs.front();
  expect_on_one_device(list);
  const at::AutoDispatchBelowADInplaceOrView below;
  if (!have_one_size(list)) {
    // As ProcessGroupNCCL: a broadcast from each rank in turn, coalesced.
    profile_coalesced();
    const at::RecordFunctionGuard quiet(false);
    std::vector<WorkPtr> works;
    const bool was_coalescing = std::exchange(coalescing_, false);
    for (int rank = 0; rank < size_; ++rank) {
      std::vector<at::Tensor> one = {list.at(static_cast<std::size_t>(rank))};
      if (group_.attendance.stand_in(rank) == rank_) {
        wait_for_earlier({input});
        rank == rank_ ? row(one.front()).copy_(row(input)) : copy_what_fits(row(input), row(one.front()));
      }
      c10d::BroadcastOptions each;
      each.rootRank = rank;
      each.timeout = options.timeout;
      works.push_back(broadcast(one, each));
    }
    coalescing_ = was_coalescing;
    return remember(join(std::move(works)));
  }
  return start({OpType::ALLGATHER, "all_gather", input.numel(), count(list), options.timeout, inputs, list},
               all_gather(rows(list), row(input)));
}

WorkPtr NcclBackend::_allgather_base(at::Tensor& output, at::Tensor& input, const c10d::AllgatherOptions& options) {
  if (input.scalar_type() != output.scalar_type()) {
    C10_THROW_ERROR(TypeError, "output tensor must have the same type as input tensor");
  }
  if (input.numel() * size_ != output.numel()) {
    C10_THROW_ERROR(ValueError, "output tensor size must be equal to world_size times input tensor size");
  }
  expect_tensor(input);
  expect_tensor(output);
  expect_type(input);
  const at::AutoDispatchBelowADInplaceOrView below;
  // The program's input may be its own part of the output (DeepSpeed, FSDP): gloo copies onto itself.
  return start({OpType::_ALLGATHER_BASE,
                "all_gather_into_tensor",
                input.numel(),
                output.numel(),
                options.timeout,
                {input},
                {output}},
               all_gather(row(output), row(input)));
}

WorkPtr NcclBackend::allgather_coalesced(std::vector<std::vector<at::Tensor>>& /*outputs*/,
                                         std::vector<at::Tensor>& /*inputs*/,
                                         const c10d::AllgatherOptions& /*options*/) {
  C10_THROW_ERROR(NotImplementedError, "ProcessGroupNCCL does not support allgather_coalesced");
}

WorkPtr NcclBackend::allgather_into_tensor_coalesced(std::vector<at::Tensor>& outputs, std::vector<at::Tensor>& inputs,
                                                     const c10d::AllgatherOptions& options) {
  const Profiled profiled(group_, together("all_gather_into_tensor_coalesced", inputs, outputs), coalescing_);
  std::vector<WorkPtr> works;
  for (std::size_t i = 0; i < outputs.size(); ++i) works.push_back(_allgather_base(outputs[i], inputs.at(i), options));
  return join(std::move(works));
}

WorkPtr NcclBackend::gather(std::vector<std::vector<at::Tensor>>& outputs, std::vector<at::Tensor>& inputs,
                            const c10d::GatherOptions& options) {
  const at::Tensor input = expect_single(inputs);
  expect_tensor(input);
  expect_type(input);
  std::vector<at::Tensor> list;
  if (options.rootRank == rank_) list = expect_list("gather", "output", outputs, size_);
  const at::AutoDispatchBelowADInplaceOrView below;
  return start({OpType::GATHER, "gather", input.numel(), count(list), options.timeout, inputs, list,
                static_cast<int>(options.rootRank)},
               collectives::gather(rows(list), row(input), options.rootRank));
}

WorkPtr NcclBackend::scatter(std::vector<at::Tensor>& outputs, std::vector<std::vector<at::Tensor>>& inputs,
                             const c10d::ScatterOptions& options) {
  const at::Tensor output = expect_single(outputs);
  expect_tensor(output);
  expect_type(output);
  std::vector<at::Tensor> list;
  if (options.rootRank == rank_) list = expect_list("scatter", "input", inputs, size_);
  const at::AutoDispatchBelowADInplaceOrView below;
  return start({OpType::SCATTER, "scatter", count(list), output.numel(), options.timeout, list, outputs,
                static_cast<int>(options.rootRank)},
               collectives::scatter(row(output), rows(list), options.rootRank));
}

}  // namespace devsan::collectives
