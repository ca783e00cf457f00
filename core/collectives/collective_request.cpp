#include "collectives/collective_request.h"

#include <torch/csrc/distributed/c10d/Backend.hpp>

#include "collectives/left_out.h"

namespace devsan::collectives {
namespace {

using std::chrono::milliseconds;

std::int64_t bytes_in(const at::Tensor& tensor) { return static_cast<std::int64_t>(tensor.nbytes()); }

/// What each rank has of a row, in bytes.
std::vector<std::int64_t> shares_of(const at::Tensor& row, const std::vector<std::int64_t>& sizes, int ranks) {
  const auto width = static_cast<std::int64_t>(row.element_size());
  if (sizes.empty()) return std::vector<std::int64_t>(static_cast<std::size_t>(ranks), row.numel() / ranks * width);
  std::vector<std::int64_t> bytes = sizes;
  for (std::int64_t& each : bytes) each *= width;
  return bytes;
}

}  // namespace

CollectiveRequest all_reduce(const at::Tensor& tensor, const c10d::ReduceOp& op) {
  note_results(tensor, {tensor});
  return {Route::kAllReduce,
          bytes_in(tensor),
          -1,
          tensor.scalar_type(),
          {},
          {},
          [tensor = moved(tensor), op](c10d::Backend& gloo, milliseconds timeout) {
            c10d::AllreduceOptions options;
            options.reduceOp = op;
            options.timeout = timeout;
            std::vector<at::Tensor> tensors = {tensor};
            return gloo.allreduce(tensors, options);
          }};
}

CollectiveRequest reduce(const at::Tensor& tensor, const c10d::ReduceOp& op, std::int64_t root) {
  note_results(tensor, {tensor});
  return {Route::kReduce,
          bytes_in(tensor),
          static_cast<int>(root),
          tensor.scalar_type(),
          {},
          {},
          [tensor = moved(tensor), op, root](c10d::Backend& gloo, milliseconds timeout) {
            c10d::ReduceOptions options;
            options.reduceOp = op;
            options.rootRank = root;
            options.timeout = timeout;
            std::vector<at::Tensor> tensors = {tensor};
            return gloo.reduce(tensors, options);
          }};
}

CollectiveRequest broadcast(const at::Tensor& tensor, std::int64_t root) {
  note_results(tensor, {tensor});
  return {Route::kBroadcast,
          bytes_in(tensor),
          static_cast<int>(root),
          at::ScalarType::Undefined,
          {},
          {},
          [tensor = moved(tensor), root](c10d::Backend& gloo, milliseconds timeout) {
            c10d::BroadcastOptions options;
            options.rootRank = root;
            options.timeout = timeout;
            std::vector<at::Tensor> tensors = {tensor};
            return gloo.broadcast(tensors, options);
          }};
}

CollectiveRequest all_gather(const std::vector<at::Tensor>& outputs, const at::Tensor& input) {
  note_results(input, outputs);
  return {Route::kAllGather,
          bytes_in(input),
          -1,
          at::ScalarType::Undefined,
          {},
          {},
          [outputs = moved(outputs), input = moved(input)](c10d::Backend& gloo, milliseconds timeout) {
            c10d::AllgatherOptions options;
            options.timeout = timeout;
            std::vector<std::vector<at::Tensor>> lists = {outputs};
            std::vector<at::Tensor> inputs = {input};
            return gloo.allgather(lists, inputs, options);
          }};
}

CollectiveRequest all_gather(const at::Tensor& output, const at::Tensor& input) {
  note_results(input, {output});
  // Both or neither: the input decides, which is smaller.
  const at::Tensor given = moved(input);
  const at::Tensor taken = is_left_out(input) ? moved(output, output.numel() / input.numel()) : output;
  return {Route::kAllGather,
          bytes_in(input),
          -1,
          at::ScalarType::Undefined,
          {},
          {},
          [taken, given](c10d::Backend& gloo, milliseconds timeout) {
            c10d::AllgatherOptions options;
            options.timeout = timeout;
            at::Tensor out = taken;
            at::Tensor in = given;
            return gloo._allgather_base(out, in, options);
          }};
}

CollectiveRequest gather(const std::vector<at::Tensor>& outputs, const at::Tensor& input, std::int64_t root) {
  note_results(input, outputs);
  return {Route::kGather,
          bytes_in(input),
          static_cast<int>(root),
          at::ScalarType::Undefined,
          {},
          {},
          [outputs = moved(outputs), input = moved(input), root](c10d::Backend& gloo, milliseconds timeout) {
            c10d::GatherOptions options;
            options.rootRank = root;
            options.timeout = timeout;
            std::vector<std::vector<at::Tensor>> lists;
            if (!outputs.empty()) lists.push_back(outputs);
            std::vector<at::Tensor> inputs = {input};
            return gloo.gather(lists, inputs, options);
          }};
}

CollectiveRequest scatter(const at::Tensor& output, const std::vector<at::Tensor>& inputs, std::int64_t root) {
  note_results(output, {output});
  return {Route::kScatter,
          bytes_in(output),
          static_cast<int>(root),
          at::ScalarType::Undefined,
          {},
          {},
          [output = moved(output), inputs = moved(inputs), root](c10d::Backend& gloo, milliseconds timeout) {
            c10d::ScatterOptions options;
            options.rootRank = root;
            options.timeout = timeout;
            std::vector<std::vector<at::Tensor>> lists;
            if (!inputs.empty()) lists.push_back(inputs);
            std::vector<at::Tensor> outputs = {output};
            return gloo.scatter(outputs, lists, options);
          }};
}

CollectiveRequest all_to_all(const at::Tensor& output, const at::Tensor& input, std::vector<std::int64_t> output_sizes,
                             std::vector<std::int64_t> input_sizes, int ranks) {
  std::vector<std::int64_t> given = shares_of(input, input_sizes, ranks);
  std::vector<std::int64_t> wanted = shares_of(output, output_sizes, ranks);
  return {Route::kAllToAll,
          0,
          -1,
          at::ScalarType::Undefined,
          std::move(given),
          std::move(wanted),
          [output, input, output_sizes, input_sizes](c10d::Backend& gloo, milliseconds timeout) {
            c10d::AllToAllOptions options;
            options.timeout = timeout;
            at::Tensor out = output;
            at::Tensor in = input;
            std::vector<std::int64_t> out_sizes = output_sizes;
            std::vector<std::int64_t> in_sizes = input_sizes;
            return gloo.alltoall_base(out, in, out_sizes, in_sizes, options);
          }};
}

}  // namespace devsan::collectives
