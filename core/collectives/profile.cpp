#include "collectives/profile.h"

#include <algorithm>
#include <array>
#include <tuple>

#include <torch/csrc/distributed/c10d/ParamCommsUtils.hpp>

namespace devsan::collectives {
namespace {

struct Named {
  std::string_view name;
  const char* comms;
  const char* work;
};

constexpr std::array<Named, 13> kNamed = {{
    {"all_reduce", "allreduce", "nccl:all_reduce"},
    {"all_reduce_coalesced", "allreduce_coalesced", "nccl:allreduce_coalesced"},
    {"barrier", "barrier", "nccl:all_reduce_barrier"},
    {"all_gather_into_tensor", "_allgather_base", "nccl:_all_gather_base"},
    {"all_gather_into_tensor_coalesced", "allgather_into_tensor_coalesced", "nccl:all_gather_into_tensor_coalesced"},
    {"reduce_scatter_tensor", "_reduce_scatter_base", "nccl:_reduce_scatter_base"},
    {"reduce_scatter_tensor_coalesced", "reduce_scatter_tensor_coalesced", "nccl:reduce_scatter_tensor_coalesced"},
    {"all_to_all", "all_to_all", "nccl:all_to_all"},
    {"all_to_all_single", "all_to_all", "nccl:all_to_all"},
    {"broadcast", "broadcast", "nccl:broadcast"},
    {"reduce", "reduce", "nccl:reduce"},
    {"all_gather", "all_gather", "nccl:all_gather"},
    {"reduce_scatter", "reduce_scatter", "nccl:reduce_scatter"},
}};

/// An event that begins with its construction. Work records it as an asynchronous one.
class Event final : public c10d::Work {
 public:
  Event(const char* title, const std::vector<at::Tensor>& inputs) : Work(-1, c10d::OpType::UNKNOWN, title, inputs) {}
  void end() { finish(); }
};

/// From rank to rank of the world: globalRankStride_ of ProcessGroupNCCL, -1 where it varies.
int stride_of(const std::vector<std::uint64_t>& ranks) {
  if (ranks.empty()) return 1;
  if (ranks.size() == 1) return 0;
  const auto stride = static_cast<std::int64_t>(ranks[1]) - static_cast<std::int64_t>(ranks[0]);
  for (std::size_t place = 2; place < ranks.size(); ++place) {
    if (static_cast<std::int64_t>(ranks[place]) - static_cast<std::int64_t>(ranks[place - 1]) != stride) return -1;
  }
  return static_cast<int>(stride);
}

struct Sizes {
  std::int64_t in = 0;
  std::int64_t out = 0;
  at::ScalarType type = at::kByte;
};

/// What ProcessGroupNCCL says of sizes: of gather and scatter the same in every rank.
Sizes sizes_of(const Call& call, const Group& group) {
  const at::Tensor* first = call.first();
  if (first == nullptr) return {};
  if (call.op == c10d::OpType::GATHER || call.op == c10d::OpType::SCATTER) {
    return {first->numel(), first->numel() * group.size, first->scalar_type()};
  }
  return {call.elements_in, call.elements_out, first->scalar_type()};
}

}  // namespace

Titles titles_of(const Call& call, int rank) {
  const std::string name = call.name;
  if (call.op == c10d::OpType::SEND || call.op == c10d::OpType::RECV) {
    const char* arrow = call.op == c10d::OpType::SEND ? "->" : "<-";
    return {name, "nccl:" + name + " " + std::to_string(rank) + arrow + std::to_string(call.peer)};
  }
  const auto* const found = std::ranges::find(kNamed, name, &Named::name);
  if (found == kNamed.end()) return {name, "nccl:" + name};
  const bool uneven = call.op == c10d::OpType::ALLTOALL_BASE && !call.splits_in.empty();
  return {uneven ? "all_to_allv" : found->comms, found->work};
}

Profiled::Profiled(const Group& group, const Call& call, bool coalesced) : comms_(at::RecordScope::FUNCTION) {
  if (C10_LIKELY(!comms_.isActive())) return;
  const Titles titles = titles_of(call, group.rank);
  const Sizes sizes = sizes_of(call, group);
  const int start = group.global_rank(0);
  const int stride = stride_of(group.global_ranks);
  const auto named = std::make_tuple(group.name, group.description);
  const auto number = static_cast<std::int64_t>(call.sequence);
  const bool is_message = call.op == c10d::OpType::SEND || call.op == c10d::OpType::RECV;
  auto info = std::make_shared<torch::ParamCommsDebugInfo>(named, group.rank, std::string(titles.comms), sizes.in,
                                                           sizes.out, sizes.type, call.splits_in, call.splits_out,
                                                           start, stride, group.size);
  [&](auto& made) {  // since torch 2.13
    if constexpr (requires { made.setSequenceInfo(number, is_message); }) made.setSequenceInfo(number, is_message);
  }(*info);
  info_.emplace(c10::DebugInfoKind::PARAM_COMMS_INFO, std::move(info));
  const std::vector<at::Tensor>& given = call.inputs.empty() ? call.outputs : call.inputs;
  if (comms_.needsInputs()) {
    inputs_ = {given,
               std::make_tuple(number, is_message),
               named,
               static_cast<std::int64_t>(group.rank),
               titles.comms,
               call.splits_in,
               call.splits_out,
               static_cast<std::int64_t>(start),
               static_cast<std::int64_t>(stride),
               static_cast<std::int64_t>(group.size),
               true};
    comms_.before(at::kParamCommsCallName, c10::ArrayRef<const c10::IValue>(inputs_.data(), inputs_.size()));
    comms_.setOutputs(std::vector<c10::IValue>(1, c10::IValue(call.outputs)));
  } else {
    comms_.before(at::kParamCommsCallName);
  }
  const at::RecordFunctionGuard heard(true);
  if (!coalesced) event_ = c10::make_intrusive<Event>(titles.work.c_str(), given);
}

Profiled::~Profiled() {
  if (event_) static_cast<Event&>(*event_).end();
}

void profile_coalesced() { c10::make_intrusive<Event>("nccl:coalesced", std::vector<at::Tensor>())->end(); }

}  // namespace devsan::collectives
