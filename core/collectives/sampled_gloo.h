#pragma once

#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "collectives/attendance.h"
#include "collectives/communicator.h"

namespace devsan::collectives {

/// gloo in a group of which some ranks do not run: see NOTE [A sample of ranks]. It has the group's size and ranks, and
/// gives gloo, among those that run, what comes to the same. Connects at its first call: torch says only after it has made
/// a backend which ranks the group has.
class SampledGloo final : public c10d::Backend {
 public:
  using WorkPtr = c10::intrusive_ptr<c10d::Work>;
  using OptionsPtr = c10::intrusive_ptr<Options>;
  using Tensors = std::vector<at::Tensor>;

  SampledGloo(c10::intrusive_ptr<c10d::Store> store, int rank, int size, OptionsPtr options, MakeGloo make_gloo);

  const std::string getBackendName() const override { return "gloo"; }
  bool supportsSplitting() const override { return true; }
  /// A copy: splitGroup of torch's ProcessGroup.cpp writes into it what it makes.
  OptionsPtr getBackendOptions() override { return c10::make_intrusive<Options>(*options_); }
  const OptionsPtr& options() const { return options_; }
  /// Connects to the other ranks, as the first call would.
  void connect() { gloo(); }
  void setTimeout(std::chrono::milliseconds timeout) override;
  void setSequenceNumberForGroup() override {}
  std::uint64_t getSequenceNumberForGroup() override { return sequence_; }
  void enableCollectivesTiming() override {}

  WorkPtr broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) override;
  WorkPtr allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) override;
  WorkPtr allreduce_sparse(Tensors& tensors, const c10d::AllreduceOptions& options) override;
  WorkPtr allreduce_coalesced(Tensors& tensors, const c10d::AllreduceCoalescedOptions& options) override;
  WorkPtr reduce(Tensors& tensors, const c10d::ReduceOptions& options) override;
  WorkPtr allgather(std::vector<Tensors>& outputs, Tensors& inputs, const c10d::AllgatherOptions& options) override;
  WorkPtr _allgather_base(at::Tensor& output, at::Tensor& input, const c10d::AllgatherOptions& options) override;
  WorkPtr allgather_coalesced(std::vector<Tensors>& outputs, Tensors& inputs,
                              const c10d::AllgatherOptions& options) override;
  WorkPtr allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                          const c10d::AllgatherOptions& options) override;
  WorkPtr gather(std::vector<Tensors>& outputs, Tensors& inputs, const c10d::GatherOptions& options) override;
  WorkPtr scatter(Tensors& outputs, std::vector<Tensors>& inputs, const c10d::ScatterOptions& options) override;
  WorkPtr reduce_scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                         const c10d::ReduceScatterOptions& options) override;
  WorkPtr _reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                               const c10d::ReduceScatterOptions& options) override;
  WorkPtr reduce_scatter_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                          const c10d::ReduceScatterOptions& options) override;
  WorkPtr alltoall_base(at::Tensor& output, at::Tensor& input, std::vector<std::int64_t>& output_sizes,
                        std::vector<std::int64_t>& input_sizes, const c10d::AllToAllOptions& options) override;
  WorkPtr alltoall(Tensors& outputs, Tensors& inputs, const c10d::AllToAllOptions& options) override;
  WorkPtr send(Tensors& tensors, int destination, int tag) override;
  WorkPtr recv(Tensors& tensors, int source, int tag) override;
  WorkPtr recvAnysource(Tensors& tensors, int tag) override;
  WorkPtr barrier(const c10d::BarrierOptions& options) override;
  void monitoredBarrier(const c10d::BarrierOptions& options, bool wait_all_ranks) override;

  c10::intrusive_ptr<c10d::Backend> split(const c10::intrusive_ptr<c10d::Store>& store, const std::vector<int>& ranks,
                                          const OptionsPtr& options) override;

 private:
  const Attendance& attendance();
  c10d::Backend& gloo();
  /// Of one tensor a rank, those of the ranks that run.
  Tensors present(const Tensors& by_rank);
  /// Makes this rank's addends count for those that it stands for.
  void weigh(const Tensors& tensors, const c10d::ReduceOp& op);
  WorkPtr sum_and_take(const at::Tensor& given, const at::Tensor& mine, const at::Tensor& result,
                       const c10d::ReduceScatterOptions& options);
  WorkPtr exchange(const Tensors& outputs, const Tensors& inputs, const c10d::AllToAllOptions& options);
  /// The work of this call: done when gloo's is, and `after` has run in gloo's thread.
  WorkPtr follow(c10d::OpType op, const WorkPtr& carrier, const Tensors& outputs, const Tensors& inputs,
                 std::function<void()> after = nullptr);
  /// gloo's threads may still be at work with the memory of these.
  void wait_for_earlier(const Tensors& tensors);

  c10::intrusive_ptr<c10d::Store> store_;
  OptionsPtr options_;
  MakeGloo make_gloo_;
  std::mutex connecting_;  // of the next two
  std::optional<Attendance> attendance_;
  GlooPtr gloo_;
  std::mutex calls_mutex_;  // of the next two
  std::uint64_t sequence_ = 0;
  /// Nothing here keeps memory: while a call is under way, gloo does.
  struct UnderWay {
    c10::weak_intrusive_ptr<c10d::Work> work;
    std::vector<const c10::StorageImpl*> touched;
  };
  std::deque<UnderWay> under_way_;
};

}  // namespace devsan::collectives
