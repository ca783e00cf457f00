#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "collectives/communicator.h"

namespace devsan::collectives {

// NOTE [Communicators]
// As ProcessGroupNCCL has them: one for each GPU that the program called with, made by all ranks at the same call, and
// one for each pair of ranks that send to each other before that (getNCCLComm, getKeySendRecv). So a program whose ranks
// all use cuda:0 is refused when they first do, whatever they did before.

/// Those of one process group. Threads may call at the same time.
class Communicators {
 public:
  Communicators(c10::intrusive_ptr<c10d::Store> store, MakeGloo make_gloo)
      : store_(std::move(store)), make_gloo_(std::move(make_gloo)) {}

  /// With all ranks of the group. Raises DistBackendError after `abort`, and where two ranks have the GPU.
  std::shared_ptr<Communicator> with_all(const Group& group, c10::Device device);
  /// With one rank. Raises as `with_all`.
  std::shared_ptr<Communicator> with_peer(const Group& group, int peer, c10::Device device);

  const MakeGloo& make_gloo() const { return make_gloo_; }
  /// Whether the ranks of the newest one with all have met.
  bool is_connected() const;
  /// The GPU of the newest one with all.
  std::optional<c10::Device> latest_device() const;
  std::vector<std::shared_ptr<Communicator>> all() const;

  void abort(const std::string& reason);
  bool is_aborted() const;

 private:
  std::shared_ptr<Communicator> make(const std::string& name, Group group, const std::string& key);

  c10::intrusive_ptr<c10d::Store> store_;
  MakeGloo make_gloo_;
  mutable std::mutex mutex_;  // of all that follows
  std::map<std::string, std::shared_ptr<Communicator>> communicators_;
  std::shared_ptr<Communicator> latest_;
  std::optional<c10::Device> latest_device_;
  std::uint64_t made_ = 0;
  std::optional<std::string> abort_reason_;
};

}  // namespace devsan::collectives
