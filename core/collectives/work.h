#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include <ATen/core/ivalue.h>
#include <torch/csrc/distributed/c10d/Work.hpp>

#include "collectives/call.h"
#include "collectives/communicator.h"
#include "order/access.h"

namespace devsan::collectives {

/// One call of a group under way: what collectives and messages have in common.
class GroupWork : public c10d::Work {
 public:
  using Clock = std::chrono::steady_clock;

  bool isSuccess() const override;
  void synchronize() override { wait(kNoTimeout); }
  void blockCurrentStream() override { synchronize(); }
  std::vector<at::Tensor> result() override { return call_.outputs; }
  std::uint64_t getSequencenumber() const override { return call_.sequence; }

  const Call& call() const { return call_; }

  /// Has the check of streams see the call: NCCL's stream of the group waits for the current one, then reads and writes.
  void note_order(std::uint64_t group);

  /// What is only known weakly any more (NcclBackend keeps such a list) holds no tensors, and no communicator.
  void release_resources() override;

 protected:
  /// The current stream goes on after NCCL's, as `wait` has it do on a GPU.
  void join_order() const;
  GroupWork(std::shared_ptr<Communicator> communicator, Call call, Noted noted);
  /// What an error of gloo's means for this call.
  std::exception_ptr translated(const std::exception_ptr& error) const;
  /// Ends the work: in the flight recorder, in its future, for who waits.
  /// @param error null for a success
  void conclude(const std::exception_ptr& error);
  /// "[...] Watchdog caught collective operation timeout: ...", as checkTimeout of ProcessGroupNCCL::WorkNCCL.
  std::exception_ptr timeout_error() const;

  std::shared_ptr<Communicator> communicator_;
  Call call_;
  Noted noted_;
  Clock::time_point started_;
  Clock::time_point ended_;
  c10::intrusive_ptr<c10::ivalue::Future> future_;
  order::VectorClock order_;  ///< what NCCL's stream knows behind this call, while the order of streams is watched
  int order_device_ = -1;
};

/// One collective. gloo carries it out in its own thread; that thread finishes this, and then the emulated tensors are
/// handed out.
class NcclWork final : public GroupWork {
 public:
  NcclWork(std::shared_ptr<Communicator> communicator, Call call, Noted noted)
      : GroupWork(std::move(communicator), std::move(call), noted) {}

  /// Follows the work of gloo that carries this out. `after` runs in gloo's thread once all of it has succeeded.
  void follow(const std::vector<c10::intrusive_ptr<c10d::Work>>& carriers, std::function<void()> after);

  bool isCompleted() override;
  bool wait(std::chrono::milliseconds timeout) override;
  void abort() override;
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override;
  c10::intrusive_ptr<c10::ivalue::Future> getFutureResult() override;
  float getDuration() const override;

 private:
  void carrier_done(const std::exception_ptr& error);
  void complete(std::exception_ptr error);

  std::function<void()> after_;
  std::atomic<std::size_t> left_{0};
  std::atomic<bool> ended_once_{false};
  std::exception_ptr first_error_;
  std::mutex first_error_mutex_;
};

/// Several works as one: what a coalesced group of calls gives.
c10::intrusive_ptr<c10d::Work> join(std::vector<c10::intrusive_ptr<c10d::Work>> works);

// NOTE [Futures are complete]
// On a GPU the future of a work is complete when the call returns: what is chained to it runs at once, in the program's
// order, and its kernels wait on the stream. Here the numbers have to be there first, so Python is given a future only
// when the work is done. Callbacks that issue collectives (PowerSGD) would otherwise run in gloo's threads, in another
// order on each rank, and the ranks would wait for each other for ever. DDP's own reducer asks without Python's lock,
// issues nothing from its callbacks, and goes on meanwhile.

/// Waits for `work` where the caller is Python: see NOTE [Futures are complete]. An error stays in the future.
void wait_for_python(c10d::Work& work);

}  // namespace devsan::collectives
