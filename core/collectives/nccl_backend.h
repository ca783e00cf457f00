#pragma once

#include <climits>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <c10/util/intrusive_ptr.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>

#include "collectives/communicators.h"
#include "collectives/work.h"

namespace devsan::collectives {

class NcclBackend;

/// ncclConfig_t, as far as Python sees it. The values are kept and change nothing.
struct NcclConfig {
  static constexpr int kUndefined = INT_MIN;  ///< NCCL_CONFIG_UNDEF_INT

  int blocking = kUndefined;
  int cga_cluster_size = kUndefined;
  int min_ctas = kUndefined;
  int max_ctas = kUndefined;
  int split_share = kUndefined;
  int traffic_class = kUndefined;
  int collnet_enable = kUndefined;
  int cta_policy = kUndefined;
  int shrink_share = kUndefined;
  int nvls_ctas = kUndefined;
  std::string net_name;
};

/// ProcessGroupNCCL.Options.
struct NcclOptions final : c10d::Backend::Options {
  static constexpr std::chrono::milliseconds kDefaultTimeout{10 * 60 * 1000};
  static constexpr int kNoColor = -1;  ///< NCCL_SPLIT_NOCOLOR

  explicit NcclOptions(bool high_priority = false)
      : Options("nccl", kDefaultTimeout), is_high_priority_stream(high_priority) {}

  bool is_high_priority_stream;
  NcclConfig config;
  c10::intrusive_ptr<NcclBackend> split_from;
  std::int64_t split_color = kNoColor - 1;
};

// NOTE [NCCL over gloo]
// torch.distributed sees ProcessGroupNCCL: its name, its options, its refusals in its words, a communicator that is made
// at the first collective. The work is done by a gloo backend on the CPU aliases of the emulated tensors, so that the
// results appear in the memory that the program passed. gloo runs one thread for each group: collectives of a group
// are carried out in the order in which they were called, as on NCCL's stream, and the caller goes on meanwhile.
// What gloo cannot do (float8, averages of integers, premultiplied sums) is done before or after it, on that thread.

/// The c10d backend that answers to "nccl" while GPUs are emulated.
class NcclBackend final : public c10d::Backend {
 public:
  NcclBackend(c10::intrusive_ptr<c10d::Store> store, int rank, int size, c10::intrusive_ptr<NcclOptions> options,
              MakeGloo make_gloo);

  const std::string getBackendName() const override { return "nccl"; }
  bool supportsSplitting() const override { return true; }
  bool supportsCoalescing() const override { return true; }
  c10::intrusive_ptr<Options> getBackendOptions() override { return options_; }
  const c10::intrusive_ptr<NcclOptions>& nccl_options() const { return options_; }
  void setTimeout(std::chrono::milliseconds timeout) override { options_->timeout = timeout; }
  std::uint64_t id() const { return group_.id; }
  bool is_initialized() const;

  void startCoalescing() override;
  c10::intrusive_ptr<c10d::Work> endCoalescing() override;

  c10::intrusive_ptr<c10d::Work> broadcast(std::vector<at::Tensor>& tensors,
                                           const c10d::BroadcastOptions& options) override;
  c10::intrusive_ptr<c10d::Work> allreduce(std::vector<at::Tensor>& tensors,
                                           const c10d::AllreduceOptions& options) override;
  c10::intrusive_ptr<c10d::Work> allreduce_sparse(std::vector<at::Tensor>& tensors,
                                                  const c10d::AllreduceOptions& options) override;
  c10::intrusive_ptr<c10d::Work> allreduce_coalesced(std::vector<at::Tensor>& tensors,
                                                     const c10d::AllreduceCoalescedOptions& options) override;
  c10::intrusive_ptr<c10d::Work> reduce(std::vector<at::Tensor>& tensors, const c10d::ReduceOptions& options) override;
  c10::intrusive_ptr<c10d::Work> allgather(std::vector<std::vector<at::Tensor>>& outputs,
                                           std::vector<at::Tensor>& inputs,
                                           const c10d::AllgatherOptions& options) override;
  c10::intrusive_ptr<c10d::Work> _allgather_base(at::Tensor& output, at::Tensor& input,
                                                 const c10d::AllgatherOptions& options) override;
  c10::intrusive_ptr<c10d::Work> allgather_coalesced(std::vector<std::vector<at::Tensor>>& outputs,
                                                     std::vector<at::Tensor>& inputs,
                                                     const c10d::AllgatherOptions& options) override;
  c10::intrusive_ptr<c10d::Work> allgather_into_tensor_coalesced(std::vector<at::Tensor>& outputs,
                                                                 std::vector<at::Tensor>& inputs,
                                                                 const c10d::AllgatherOptions& options) override;
  c10::intrusive_ptr<c10d::Work> gather(std::vector<std::vector<at::Tensor>>& outputs, std::vector<at::Tensor>& inputs,
                                        const c10d::GatherOptions& options) override;
  c10::intrusive_ptr<c10d::Work> scatter(std::vector<at::Tensor>& outputs, std::vector<std::vector<at::Tensor>>& inputs,
                                         const c10d::ScatterOptions& options) override;
  c10::intrusive_ptr<c10d::Work> reduce_scatter(std::vector<at::Tensor>& outputs,
                                                std::vector<std::vector<at::Tensor>>& inputs,
                                                const c10d::ReduceScatterOptions& options) override;
  c10::intrusive_ptr<c10d::Work> _reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                                                      const c10d::ReduceScatterOptions& options) override;
  c10::intrusive_ptr<c10d::Work> reduce_scatter_tensor_coalesced(std::vector<at::Tensor>& outputs,
                                                                 std::vector<at::Tensor>& inputs,
                                                                 const c10d::ReduceScatterOptions& options) override;
  c10::intrusive_ptr<c10d::Work> alltoall_base(at::Tensor& output, at::Tensor& input,
                                               std::vector<std::int64_t>& output_sizes,
                                               std::vector<std::int64_t>& input_sizes,
                                               const c10d::AllToAllOptions& options) override;
  c10::intrusive_ptr<c10d::Work> alltoall(std::vector<at::Tensor>& outputs, std::vector<at::Tensor>& inputs,
                                          const c10d::AllToAllOptions& options) override;
  c10::intrusive_ptr<c10d::Work> send(std::vector<at::Tensor>& tensors, int destination, int tag) override;
  c10::intrusive_ptr<c10d::Work> recv(std::vector<at::Tensor>& tensors, int source, int tag) override;
  c10::intrusive_ptr<c10d::Work> recvAnysource(std::vector<at::Tensor>& tensors, int tag) override;
  c10::intrusive_ptr<c10d::Work> barrier(const c10d::BarrierOptions& options) override;

  void setSequenceNumberForGroup() override {}
  std::uint64_t getSequenceNumberForGroup() override { return sequence_; }
  void enableCollectivesTiming() override {}
  void setGroupUid(const std::string& uid) override;
  void eagerConnectSingleDevice(at::Device device) override;
  void perform_nocolor_split(at::Device device);
  std::uint64_t split_count() const { return splits_; }
  c10d::ErrorType getError() override;
  void abort() override;
  void shutdown() override;
  void waitForPendingWorks() override;

  c10::intrusive_ptr<c10d::Backend> split(const c10::intrusive_ptr<c10d::Store>& store, const std::vector<int>& ranks,
                                          const c10::intrusive_ptr<Options>& options) override;

 private:
  /// Starts one collective: connects, gives gloo what carries it out, and returns the work that follows that.
  c10::intrusive_ptr<c10d::Work> start(Call call, c10::ArrayRef<CollectiveRequest> requests,
                                       std::function<void()> after = nullptr,
                                       std::optional<at::Device> on = std::nullopt);
  Noted note(const Call& call, const CallSite& site);
  /// A call that is made of several: a profile shows them as one.
  Call together(const char* name, const std::vector<at::Tensor>& inputs, const std::vector<at::Tensor>& outputs) const;
  std::shared_ptr<Communicator> communicator_on(c10::Device device);
  std::shared_ptr<Communicator> communicator_with(int peer, c10::Device device);
  c10::intrusive_ptr<c10d::Work> point_to_self(Call call);
  c10::intrusive_ptr<c10d::Work> point_to_nobody(Call call);
  c10::intrusive_ptr<c10d::Work> point(c10d::OpType op, std::vector<at::Tensor>& tensors, int peer);
  std::chrono::milliseconds timeout_of(std::chrono::milliseconds asked) const;
  void wait_for_earlier(const std::vector<at::Tensor>& read);
  /// Earlier collectives that are not done and write into the memory of one of these.
  std::vector<c10::intrusive_ptr<NcclWork>> writing(const std::vector<at::Tensor>& tensors) const;
  at::Device guess_device() const;
  void refresh_group();
  c10::Device bound_to(c10::Device device) const;
  c10::intrusive_ptr<c10d::Work> remember(c10::intrusive_ptr<c10d::Work> work);

  c10::intrusive_ptr<NcclOptions> options_;
  Group group_;
  std::mutex calls_mutex_;  // one call after the other: a backward pass calls from its own thread
  Communicators communicators_;
  std::uint64_t sequence_ = 0;
  std::uint64_t point_sequence_ = 0;
  std::uint64_t splits_ = 0;
  std::optional<std::uint32_t> group_number_;
  std::deque<c10::weak_intrusive_ptr<NcclWork>> under_way_;
  bool coalescing_ = false;
  std::vector<c10::intrusive_ptr<c10d::Work>> coalesced_;
  std::deque<at::Tensor> sent_to_self_;
  std::deque<at::Tensor> wanted_from_self_;
};

}  // namespace devsan::collectives
