#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <vector>

#include <ATen/core/Tensor.h>
#include <torch/csrc/distributed/c10d/Types.hpp>
#include <torch/csrc/distributed/c10d/Work.hpp>

namespace c10d {
class Backend;
}

namespace devsan::collectives {

/// Which of gloo's collectives carries a call out.
enum class Route : std::uint32_t { kNone, kAllReduce, kReduce, kBroadcast, kAllGather, kGather, kScatter, kAllToAll };

/// What gloo is given once for a call: what the ranks have to agree in, and how gloo is called. Tensors are of the host.
struct CollectiveRequest {
  using Launch = std::function<c10::intrusive_ptr<c10d::Work>(c10d::Backend& gloo, std::chrono::milliseconds timeout)>;

  Route route = Route::kNone;
  std::int64_t bytes = 0;                           ///< that a rank gives; 0 where `given` tells
  int root = -1;                                    ///< rank in the group, where there is one
  at::ScalarType type = at::ScalarType::Undefined;  ///< in which gloo computes; none for what is only moved
  std::vector<std::int64_t> given;                  ///< of all_to_all: bytes for each rank
  std::vector<std::int64_t> wanted;                 ///< and from each
  Launch launch;
};

CollectiveRequest all_reduce(const at::Tensor& tensor, const c10d::ReduceOp& op);
CollectiveRequest reduce(const at::Tensor& tensor, const c10d::ReduceOp& op, std::int64_t root);
CollectiveRequest broadcast(const at::Tensor& tensor, std::int64_t root);
CollectiveRequest all_gather(const std::vector<at::Tensor>& outputs, const at::Tensor& input);
CollectiveRequest all_gather(const at::Tensor& output, const at::Tensor& input);
/// @param outputs one for each rank at the root, none elsewhere
CollectiveRequest gather(const std::vector<at::Tensor>& outputs, const at::Tensor& input, std::int64_t root);
/// @param inputs one for each rank at the root, none elsewhere
CollectiveRequest scatter(const at::Tensor& output, const std::vector<at::Tensor>& inputs, std::int64_t root);
/// @param output, input rows of elements
/// @param output_sizes, input_sizes how many of them are from and for each rank; empty for even shares among `ranks`
CollectiveRequest all_to_all(const at::Tensor& output, const at::Tensor& input, std::vector<std::int64_t> output_sizes,
                             std::vector<std::int64_t> input_sizes, int ranks);

}  // namespace devsan::collectives
