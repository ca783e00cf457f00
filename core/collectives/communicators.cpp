#include "collectives/communicators.h"

#include <algorithm>

#include <c10/util/Exception.h>

#include "collectives/failures.h"

namespace devsan::collectives {

std::shared_ptr<Communicator> Communicators::make(const std::string& name, Group group, const std::string& key) {
  if (abort_reason_.has_value()) C10_THROW_ERROR(DistBackendError, aborted(group, *abort_reason_));
  auto& communicator = communicators_[name];
  if (communicator == nullptr) {
    communicator = std::make_shared<Communicator>(std::move(group), store_, key, make_gloo_);
  }
  return communicator;
}

std::shared_ptr<Communicator> Communicators::with_all(const Group& group, c10::Device device) {
  const std::scoped_lock lock(mutex_);
  if (C10_LIKELY(latest_device_ == device && !abort_reason_.has_value())) return latest_;
  const std::string name = std::to_string(device.index());
  const bool is_new = communicators_.count(name) == 0;
  auto communicator = make(name, group, std::to_string(made_));
  if (is_new) {
    // Where another rank has been with this GPU, NCCL's ranks would wait for each other until the timeout.
    for (const auto& [other, known] : communicators_) {
      if (known->is_connected() && known->group().size == group.size) known->expect_free(device);
    }
    ++made_;
  }
  latest_device_ = device;
  latest_ = communicator;
  return communicator;
}

std::shared_ptr<Communicator> Communicators::with_peer(const Group& group, int peer, c10::Device device) {
  const std::scoped_lock lock(mutex_);
  // One with all ranks does as well once it is there: it is there for the other rank, too.
  const auto with_all = communicators_.find(std::to_string(device.index()));
  if (with_all != communicators_.end() && with_all->second->is_connected()) return with_all->second;
  const int low = std::min(group.rank, peer);
  const int high = std::max(group.rank, peer);
  const std::string name = std::to_string(low) + ":" + std::to_string(high);
  Group pair = group;
  pair.rank = group.rank == low ? 0 : 1;
  pair.size = 2;
  pair.global_ranks = {static_cast<std::uint64_t>(group.global_rank(low)),
                       static_cast<std::uint64_t>(group.global_rank(high))};
  pair.attendance = Attendance(pair.size, pair.global_ranks);
  return make(name, std::move(pair), name);
}

bool Communicators::is_connected() const {
  const std::scoped_lock lock(mutex_);
  return latest_ != nullptr && latest_->is_connected();
}

std::optional<c10::Device> Communicators::latest_device() const {
  const std::scoped_lock lock(mutex_);
  return latest_device_;
}

std::vector<std::shared_ptr<Communicator>> Communicators::all() const {
  const std::scoped_lock lock(mutex_);
  std::vector<std::shared_ptr<Communicator>> found;
  for (const auto& [name, communicator] : communicators_) found.push_back(communicator);
  return found;
}

void Communicators::abort(const std::string& reason) {
  const std::scoped_lock lock(mutex_);
  if (!abort_reason_.has_value()) abort_reason_ = reason;
  for (auto& [name, communicator] : communicators_) communicator->abort(reason);
}

bool Communicators::is_aborted() const {
  const std::scoped_lock lock(mutex_);
  return abort_reason_.has_value();
}

}  // namespace devsan::collectives
