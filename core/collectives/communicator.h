#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "collectives/eager_sends.h"
#include "collectives/fingerprint_check.h"
#include "collectives/group.h"

namespace devsan::collectives {

using GlooPtr = c10::intrusive_ptr<c10d::Backend>;

/// Makes the gloo backend of a group whose ranks meet in `store`. Called without Python's lock; connects to all ranks.
using MakeGloo = std::function<GlooPtr(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                                       std::chrono::milliseconds timeout)>;

/// Ranks may have the same GPU, and another one than their groups are bound to, both of which NCCL refuses. Of this
/// process, from here on.
void share_gpus(bool wanted);
bool shares_gpus() noexcept;

/// The ranks of one group, connected: what an ncclComm_t is. Made at the group's first collective, as NCCL does.
class Communicator {
 public:
  /// @param key under which its ranks meet in `store`
  Communicator(Group group, c10::intrusive_ptr<c10d::Store> store, const std::string& key, MakeGloo make_gloo);
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  /// Connects to the other ranks, which have to come too. Later calls find them connected.
  /// Raises DistBackendError: a rank does not come within `timeout`, or two ranks have the same GPU (ncclInvalidUsage).
  GlooPtr connect(c10::Device device, std::chrono::milliseconds timeout);
  bool is_connected() const noexcept { return gloo_ready_.load(std::memory_order_acquire); }

  /// Raises DistBackendError (ncclInvalidUsage) when another rank of this communicator has the GPU.
  void expect_free(c10::Device device) const;

  /// Gives a collective to gloo. Only once connected, and one call at a time.
  /// Raises DistBackendError: another rank makes another call at this place, or one of another size.
  std::vector<c10::intrusive_ptr<c10d::Work>> launch(c10d::Backend& gloo, Call& call, const CallSite& site,
                                                     c10::ArrayRef<CollectiveRequest> requests);
  /// A message of so many bytes is about to be given to gloo. Raises as `launch`.
  void expect_message(bool sends, int peer, std::int64_t bytes);

  const Group& group() const { return group_; }

  /// What an error of gloo means, in NCCL's words, with the ranks that are known to be gone.
  std::exception_ptr explain(const std::exception_ptr& error) const;

  /// An error where ranks differ in a call up to `number` (see FingerprintCheck), or null. This communicator ends with
  /// it.
  std::exception_ptr refusal(std::uint64_t number);

  void work_begun() noexcept { under_way_.fetch_add(1, std::memory_order_relaxed); }
  void work_ended() noexcept { under_way_.fetch_sub(1, std::memory_order_relaxed); }
  bool is_idle() const noexcept { return under_way_.load(std::memory_order_acquire) <= 0; }

  EagerSends& eager_sends() { return eager_sends_; }

  /// No collective can be started any more; what is under way is left to its end.
  void abort(const std::string& reason);
  /// Raises DistBackendError: the communicator was aborted.
  [[noreturn]] void refuse() const;
  bool is_aborted() const noexcept { return aborted_.load(std::memory_order_acquire); }

 private:
  void meet(c10::Device device, std::chrono::milliseconds timeout);
  GlooPtr make_gloo(std::chrono::milliseconds timeout) const;
  GlooPtr take_gloo();
  std::vector<int> ended_ranks() const;

  const Group group_;
  c10::intrusive_ptr<c10d::Store> store_;
  MakeGloo make_gloo_;
  const int process_;
  std::mutex connecting_;
  std::mutex mutex_;  // of the next two
  GlooPtr gloo_;
  std::string abort_reason_;
  std::unique_ptr<FingerprintCheck> fingerprint_check_;  // with the ranks, before gloo_ready_
  std::atomic<bool> gloo_ready_{false};
  std::atomic<bool> aborted_{false};
  std::atomic<int> under_way_{0};
  std::vector<Identity> ranks_;  // nothing of those that do not run
  EagerSends eager_sends_;
};

// NOTE [How gloo is shut down]
// ~ProcessGroupGloo waits for what is queued and joins its threads (torch/csrc/distributed/c10d/ProcessGroupGloo.cpp).
// The last that holds a communicator may be one of those threads, which cannot join itself; and what is queued may wait
// for ranks that never come. So a thread of its own does it. A process that forked has none of the threads, and the
// sockets are its parent's: there the backend is left as it is.

/// Releases a gloo backend in another thread, which shuts it down, and waits for that until `limit`; not at all in a
/// thread of gloo's.
/// @param process that made the backend
void async_shutdown(c10::intrusive_ptr<c10d::Backend> gloo, int process, std::chrono::milliseconds limit);

/// The calling thread is one of gloo's: it is never to wait for gloo.
void mark_thread_of_gloo() noexcept;

}  // namespace devsan::collectives
