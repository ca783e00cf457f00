// NcclBackend's collectives in which every rank has something for every other: all_to_all.
#include <ATen/Functions.h>
#include <ATen/core/LegacyTypeDispatch.h>

#include "collectives/checks.h"
#include "collectives/nccl_backend.h"
#include "collectives/payload.h"

namespace devsan::collectives {

using c10d::OpType;
using WorkPtr = c10::intrusive_ptr<c10d::Work>;

WorkPtr NcclBackend::alltoall_base(at::Tensor& output, at::Tensor& input, std::vector<std::int64_t>& output_sizes,
                                   std::vector<std::int64_t>& input_sizes, const c10d::AllToAllOptions& options) {
  expect_on_one_device({output, input});
  expect_tensor(output);
  expect_tensor(input);
  expect_type(input);
  c10d::checkSplitSizes(input_sizes, input, size_);
  c10d::checkSplitSizes(output_sizes, output, size_);
  const at::AutoDispatchBelowADInplaceOrView below;
  // Splits count along the first dimension: a row has as many elements of each as one of its slices.
  const auto scaled = [](std::vector<std::int64_t> sizes, const at::Tensor& tensor) {
    const std::int64_t slice = tensor.size(0) > 0 ? tensor.numel() / tensor.size(0) : 1;
    for (std::int64_t& size : sizes) size *= slice * units(tensor);
    return sizes;
  };
  Call call{
      OpType::ALLTOALL_BASE, "all_to_all_single", input.numel(), output.numel(), options.timeout, {input}, {output}};
  call.splits_in = input_sizes;
  call.splits_out = output_sizes;
  return start(std::move(call),
               all_to_all(row(output), row(input), scaled(output_sizes, output), scaled(input_sizes, input), size_));
}

WorkPtr NcclBackend::alltoall(std::vector<at::Tensor>& outputs, std::vector<at::Tensor>& inputs,
                              const c10d::AllToAllOptions& options) {
  expect_on_one_device(outputs);
  expect_on_one_device(inputs);
  TORCH_CHECK(outputs.size() == static_cast<std::size_t>(size_) && inputs.size() == outputs.size(),
              "alltoall input/output list must have as many tensors as the group has ranks");
  for (const at::Tensor& tensor : outputs) expect_tensor(tensor);
  for (const at::Tensor& tensor : inputs) expect_tensor(tensor);
  expect_type(inputs.front());
  const at::AutoDispatchBelowADInplaceOrView below;
  wait_for_earlier(inputs);
  const std::vector<at::Tensor> out_rows = rows(outputs);
  const std::vector<at::Tensor> in_rows = rows(inputs);
  std::vector<std::int64_t> out_sizes;
  std::vector<std::int64_t> in_sizes;
  for (const at::Tensor& each : out_rows) out_sizes.push_back(each.numel());
  for (const at::Tensor& each : in_rows) in_sizes.push_back(each.numel());
  const at::Tensor in = at::cat(in_rows);
  const at::Tensor out = at::empty({count(out_rows)}, in.options());
  Call call{OpType::ALLTOALL, "all_to_all", count(inputs), count(outputs), options.timeout, inputs, outputs};
  for (const at::Tensor& each : inputs) call.splits_in.push_back(each.numel());
  for (const at::Tensor& each : outputs) call.splits_out.push_back(each.numel());
  return start(std::move(call), all_to_all(out, in, out_sizes, in_sizes, size_), [out, out_rows, out_sizes] {
    const std::vector<at::Tensor> parts = out.split_with_sizes(out_sizes);
    for (std::size_t i = 0; i < parts.size(); ++i) out_rows[i].copy_(parts[i]);
  });
}

}  // namespace devsan::collectives
