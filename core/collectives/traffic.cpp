#include "collectives/traffic.h"

#include <atomic>

#include "emulate/runtime/origin.h"

namespace devsan::collectives {
namespace {

using c10d::OpType;

std::atomic<std::int64_t> g_sent{0};

}  // namespace

std::int64_t bytes_sent_for(const Call& call, int rank, int ranks) {
  const at::Tensor* first = call.first();
  if (first == nullptr || ranks < 2) return 0;
  const std::int64_t given = call.elements_in * static_cast<std::int64_t>(first->element_size());
  const std::int64_t but_own = given / ranks * (ranks - 1);
  switch (call.op) {
    case OpType::ALLREDUCE:
    case OpType::COALESCED:
      return 2 * but_own;
    case OpType::REDUCE_SCATTER:
    case OpType::_REDUCE_SCATTER_BASE:
    case OpType::ALLTOALL:
    case OpType::ALLTOALL_BASE:
    case OpType::BROADCAST:
    case OpType::REDUCE:
      return but_own;
    case OpType::ALLGATHER:
    case OpType::_ALLGATHER_BASE:
      return given * (ranks - 1);
    case OpType::GATHER:
      return rank == call.peer ? 0 : given;
    case OpType::SCATTER:
      return rank == call.peer ? but_own : 0;
    case OpType::SEND:
      return given;
    default:
      return 0;
  }
}

void note_traffic(const Call& call, int rank, int ranks) {
  for (const auto* tensors : {&call.inputs, &call.outputs}) {
    for (const at::Tensor& tensor : *tensors) emulate::set_use(tensor, memory::Use::kCommunication);
  }
  g_sent.fetch_add(bytes_sent_for(call, rank, ranks), std::memory_order_relaxed);
}

std::int64_t bytes_sent() noexcept { return g_sent.load(std::memory_order_relaxed); }

}  // namespace devsan::collectives
