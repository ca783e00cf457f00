#include "collectives/communicator.h"

#include <unistd.h>

#include <algorithm>
#include <future>
#include <sstream>
#include <system_error>
#include <thread>

#include <c10/util/Exception.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

#include "collectives/failures.h"
#include "collectives/sampled_gloo.h"

namespace devsan::collectives {
namespace {

thread_local bool is_thread_of_gloo = false;

/// gloo with nothing under way shuts down in a moment, and a process that was killed is gone.
constexpr std::chrono::milliseconds kMoment{1000};
constexpr std::chrono::milliseconds kPoll{10};

std::string key_of(int rank) { return "rank" + std::to_string(rank); }

std::atomic<bool> g_share{false};

}  // namespace

void share_gpus(bool wanted) { g_share.store(wanted, std::memory_order_relaxed); }
bool shares_gpus() noexcept { return g_share.load(std::memory_order_relaxed); }

void mark_thread_of_gloo() noexcept { is_thread_of_gloo = true; }

void async_shutdown(c10::intrusive_ptr<c10d::Backend> gloo, int process, std::chrono::milliseconds limit) {
  if (gloo == nullptr) return;
  if (process != getpid()) {
    gloo.release();
    return;
  }
  std::promise<void> promise;
  std::future<void> done = promise.get_future();
  auto* held = gloo.release();
  try {
    std::thread([held, promise = std::move(promise)]() mutable {
      c10::intrusive_ptr<c10d::Backend>::reclaim(held).reset();
      promise.set_value();
    }).detach();
  } catch (const std::system_error&) {
    return;  // no more threads: it stays
  }
  if (!is_thread_of_gloo) done.wait_for(limit);
}

Communicator::Communicator(Group group, c10::intrusive_ptr<c10d::Store> store, const std::string& key,
                           MakeGloo make_gloo)
    : group_(std::move(group)),
      store_(c10::make_intrusive<c10d::PrefixStore>("devsan/" + key + "/", std::move(store))),
      make_gloo_(std::move(make_gloo)),
      process_(getpid()) {}

Communicator::~Communicator() {
  eager_sends_.finish(EagerSends::kLastMoments);
  // What is under way may wait for ranks that never come. A program that has failed ends.
  const bool is_quiet = is_idle() && !eager_sends_.has_any();
  async_shutdown(take_gloo(), process_, is_quiet ? kMoment : std::chrono::milliseconds(0));
}

GlooPtr Communicator::take_gloo() {
  const std::scoped_lock lock(mutex_);
  return std::move(gloo_);
}

GlooPtr Communicator::connect(c10::Device device, std::chrono::milliseconds timeout) {
  if (C10_UNLIKELY(!is_connected() && !is_aborted())) {
    const std::scoped_lock connecting(connecting_);
    if (!is_connected()) {
      meet(device, timeout);
      GlooPtr gloo = make_gloo(timeout);
      const std::scoped_lock lock(mutex_);
      gloo_ = std::move(gloo);
      gloo_ready_.store(true, std::memory_order_release);
    }
  }
  const std::scoped_lock lock(mutex_);
  if (C10_UNLIKELY(is_aborted())) refuse();
  return gloo_;
}

GlooPtr Communicator::make_gloo(std::chrono::milliseconds timeout) const {
  if (C10_LIKELY(group_.attendance.is_full())) return make_gloo_(store_, group_.rank, group_.size, timeout);
  auto options = c10::make_intrusive<c10d::Backend::Options>("gloo", timeout);
  options->global_ranks_in_group = group_.global_ranks;
  auto gloo = c10::make_intrusive<SampledGloo>(store_, group_.rank, group_.size, std::move(options), make_gloo_);
  gloo->connect();
  return gloo;
}

/// The ranks tell each other through the store who they are, and the first one where their table is.
void Communicator::meet(c10::Device device, std::chrono::milliseconds timeout) {
  const std::vector<int>& present = group_.attendance.present();
  const int first_rank = present.front();
  Identity own = own_identity(device);
  std::unique_ptr<FingerprintTable> table =
      group_.rank == first_rank && present.size() > 1 ? FingerprintTable::make(group_.size) : nullptr;
  if (table != nullptr) {
    own.table = table->place().descriptor;
    own.table_key = table->place().key;
  }
  store_->set(key_of(group_.rank), to_text(own));
  std::vector<std::string> keys;
  for (const int rank : present) keys.push_back(key_of(rank));
  try {
    store_->wait(keys, timeout);
    ranks_.assign(static_cast<std::size_t>(group_.size), {});
    for (const int rank : present) {
      ranks_[static_cast<std::size_t>(rank)] = identity_from_text(store_->get_to_str(key_of(rank)));
    }
  } catch (const std::exception& error) {
    C10_THROW_ERROR(DistBackendError, store_error(group_, *store_, keys, error.what()));
  }
  expect_free(device);
  const Identity& first = ranks_[static_cast<std::size_t>(first_rank)];
  if (table == nullptr) table = FingerprintTable::open({first.process, first.table, first.table_key}, group_.size);
  fingerprint_check_ = std::make_unique<FingerprintCheck>(group_, std::move(table));
}

/// initTransportsRank of NCCL's src/init.cc.
void Communicator::expect_free(c10::Device device) const {
  if (C10_UNLIKELY(shares_gpus())) return;
  const Identity own = own_identity(device);
  for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank) {
    const Identity& other = ranks_[static_cast<std::size_t>(rank)];
    if (rank == group_.rank || other.machine != own.machine || other.bus_id != own.bus_id) continue;
    std::ostringstream sentence;
    sentence << "Duplicate GPU detected : rank " << group_.rank << " and rank " << rank << " both on CUDA device "
             << std::hex << own.bus_id;
    C10_THROW_ERROR(DistBackendError, invalid_usage(sentence.str()));
  }
}

std::vector<c10::intrusive_ptr<c10d::Work>> Communicator::launch(c10d::Backend& gloo, Call& call, const CallSite& site,
                                                                 c10::ArrayRef<CollectiveRequest> requests) {
  const bool fits = fingerprint_check_->proposes(call, site, requests);
  call.number = fingerprint_check_->proposed();
  if (!fits) std::rethrow_exception(refusal(call.number));
  std::vector<c10::intrusive_ptr<c10d::Work>> works;
  works.reserve(requests.size());
  try {
    for (const CollectiveRequest& request : requests) works.push_back(request.launch(gloo, call.timeout));
  } catch (...) {
    fingerprint_check_->take_back(requests.size() - works.size());
    throw;
  }
  return works;
}

void Communicator::expect_message(bool sends, int peer, std::int64_t bytes) {
  if (!fingerprint_check_->proposes_message(sends, peer, bytes))
    std::rethrow_exception(refusal(fingerprint_check_->proposed()));
}

std::exception_ptr Communicator::refusal(std::uint64_t number) {
  if (!is_connected() || !fingerprint_check_->is_refused(number)) return nullptr;
  const std::string reason = fingerprint_check_->refusal();
  abort(reason);
  // The other ranks' gloo notices that this one is gone, and their works end.
  async_shutdown(take_gloo(), process_, std::chrono::milliseconds(0));
  return std::make_exception_ptr(c10::DistBackendError({__func__, __FILE__, static_cast<std::uint32_t>(__LINE__)},
                                                       log_prefix(group_) + aborted(group_, reason)));
}

std::vector<int> Communicator::ended_ranks() const {
  std::vector<int> gone;
  for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank) {
    if (rank != group_.rank && has_ended(ranks_[static_cast<std::size_t>(rank)])) gone.push_back(rank);
  }
  return gone;
}

std::exception_ptr Communicator::explain(const std::exception_ptr& error) const {
  // The kernel closes the connections of a process that was killed a moment before it counts as ended.
  const auto end = std::chrono::steady_clock::now() + kMoment;
  std::vector<int> gone = ended_ranks();
  while (gone.empty() && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(kPoll);
    gone = ended_ranks();
  }
  return remote_error(group_, ranks_, gone, error);
}

void Communicator::refuse() const { C10_THROW_ERROR(DistBackendError, aborted(group_, abort_reason_)); }

void Communicator::abort(const std::string& reason) {
  const std::scoped_lock lock(mutex_);
  if (is_aborted()) return;
  abort_reason_ = reason;
  aborted_.store(true, std::memory_order_release);
}

}  // namespace devsan::collectives
