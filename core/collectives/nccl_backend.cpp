#include "collectives/nccl_backend.h"

#include <algorithm>

#include <ATen/core/LegacyTypeDispatch.h>

#include "collectives/profile.h"
#include "collectives/traffic.h"
#include "emulate/runtime/device.h"

namespace devsan::collectives {
namespace {

std::uint64_t next_id() {
  static std::atomic<std::uint64_t> next{0};
  return next.fetch_add(1, std::memory_order_relaxed);
}

bool is_over(const c10::weak_intrusive_ptr<NcclWork>& weak) {
  const auto work = weak.lock();
  return work == nullptr || work->isCompleted();
}

}  // namespace

NcclBackend::NcclBackend(c10::intrusive_ptr<c10d::Store> store, int rank, int size,
                         c10::intrusive_ptr<NcclOptions> options, MakeGloo make_gloo)
    : Backend(rank, size), options_(std::move(options)), communicators_(std::move(store), std::move(make_gloo)) {
  TORCH_CHECK_WITH(ValueError, emulate::device_count() > 0,
                   "ProcessGroupNCCL is only supported with GPUs, no GPUs found!");
  group_.id = next_id();
  group_.name = options_->group_name;
  group_.description = options_->group_desc;
  group_.rank = rank;
  group_.size = size;
  group_.global_ranks = options_->global_ranks_in_group;
  group_.attendance = Attendance(size, group_.global_ranks);
}

void NcclBackend::setGroupUid(const std::string& uid) {
  Backend::setGroupUid(uid);
  refresh_group();
}

void NcclBackend::refresh_group() {
  if (!pg_uid_.empty()) group_.name = pg_uid_;
  if (!pg_desc_.empty()) group_.description = pg_desc_;
}

std::chrono::milliseconds NcclBackend::timeout_of(std::chrono::milliseconds asked) const {
  return asked == c10d::kUnsetTimeout ? options_->timeout : asked;
}

c10::intrusive_ptr<c10d::Work> NcclBackend::start(Call call, c10::ArrayRef<CollectiveRequest> requests,
                                                  std::function<void()> after, std::optional<at::Device> on) {
  const at::AutoDispatchBelowADInplaceOrView below;
  const std::scoped_lock lock(calls_mutex_);
  const at::Tensor* first = call.first();
  const at::Device device = on.has_value() ? *on : first != nullptr ? first->device() : guess_device();
  call.sequence = ++sequence_;
  call.timeout = timeout_of(call.timeout);
  refresh_group();
  const Profiled profiled(group_, call, coalescing_);
  const CallSite site = call_site();
  Noted noted = note(call, site);
  std::vector<c10::intrusive_ptr<c10d::Work>> carriers;
  c10::intrusive_ptr<NcclWork> work;
  try {
    const std::shared_ptr<Communicator> communicator = communicator_on(device);
    const GlooPtr gloo = communicator->connect(device, options_->timeout);
    carriers = communicator->launch(*gloo, call, site, requests);
    note_traffic(call, rank_, size_);
    work = c10::make_intrusive<NcclWork>(communicator, std::move(call), noted);
  } catch (const std::exception& error) {
    noted.end(error.what());
    throw;
  }
  while (!under_way_.empty() && is_over(under_way_.front())) under_way_.pop_front();
  under_way_.emplace_back(work);
  work->note_order(group_.id);
  work->follow(carriers, std::move(after));
  return remember(std::move(work));
}

/// The group's place in the flight recorder is taken at its first call: torch gives it its name after it has made it.
Noted NcclBackend::note(const Call& call, const CallSite& site) {
  FlightRecorder* recorder = FlightRecorder::of_process();
  if (recorder == nullptr) return {};
  if (!group_number_.has_value()) {
    refresh_group();
    group_number_ = recorder->add_group(group_);
  }
  return {call, site, group_, *group_number_};
}

/// See NOTE [Communicators].
std::shared_ptr<Communicator> NcclBackend::communicator_on(c10::Device device) {
  const c10::Device bound = bound_to(device);
  refresh_group();
  return communicators_.with_all(group_, bound);
}

std::shared_ptr<Communicator> NcclBackend::communicator_with(int peer, c10::Device device) {
  if (coalescing_) return communicator_on(device);
  const c10::Device bound = bound_to(device);
  refresh_group();
  return communicators_.with_peer(group_, peer, bound);
}

/// Ranks that share GPUs meet where their groups are bound to, wherever their tensors are.
c10::Device NcclBackend::bound_to(c10::Device device) const {
  if (!bound_device_id_.has_value() || *bound_device_id_ == device) return device;
  if (shares_gpus()) return *bound_device_id_;
  C10_THROW_ERROR(DistBackendError,
                  c10::str("Attempt to perform collective on tensor not on device passed to init_process_group. "
                           "Tensor found on device ",
                           device, " but backend constrained to ", *bound_device_id_));
}

bool NcclBackend::is_initialized() const { return communicators_.is_connected(); }

/// What is computed before gloo is called reads the program's memory, which an earlier collective may still be writing.
void NcclBackend::wait_for_earlier(const std::vector<at::Tensor>& read) {
  for (const auto& work : writing(read)) work->wait(kNoTimeout);
}

std::vector<c10::intrusive_ptr<NcclWork>> NcclBackend::writing(const std::vector<at::Tensor>& tensors) const {
  std::vector<c10::intrusive_ptr<NcclWork>> found;
  for (const auto& weak : under_way_) {
    auto work = weak.lock();
    if (work == nullptr || work->isCompleted()) continue;
    const auto& written = work->call().outputs;
    const bool writes = std::any_of(tensors.begin(), tensors.end(), [&](const at::Tensor& tensor) {
      return std::any_of(written.begin(), written.end(),
                         [&](const at::Tensor& output) { return output.is_alias_of(tensor); });
    });
    if (writes) found.push_back(std::move(work));
  }
  return found;
}

/// guessDeviceForRank of ProcessGroupNCCL.cpp.
at::Device NcclBackend::guess_device() const {
  if (bound_device_id_.has_value()) return *bound_device_id_;
  if (const auto latest = communicators_.latest_device()) return *latest;
  return {at::kCUDA, static_cast<c10::DeviceIndex>(group_.global_rank(rank_) % emulate::device_count())};
}

void NcclBackend::eagerConnectSingleDevice(at::Device device) {
  communicator_on(device)->connect(device, options_->timeout);
}

void NcclBackend::perform_nocolor_split(at::Device /*device*/) { ++splits_; }

c10d::ErrorType NcclBackend::getError() {
  return communicators_.is_aborted() ? c10d::ErrorType::COMM_ERROR : c10d::ErrorType::SUCCESS;
}

void NcclBackend::abort() { communicators_.abort("The process group was aborted."); }

void NcclBackend::shutdown() {
  waitForPendingWorks();
  communicators_.abort("The process group was shut down.");
}

void NcclBackend::waitForPendingWorks() {
  for (const auto& weak : under_way_) {
    const auto work = weak.lock();
    if (work == nullptr) continue;
    try {
      work->wait(kNoTimeout);
    } catch (const std::exception&) {
      // It was told to whoever waits for that work.
    }
  }
  for (const auto& communicator : communicators_.all()) communicator->eager_sends().finish(EagerSends::kLastMoments);
}

c10::intrusive_ptr<c10d::Backend> NcclBackend::split(const c10::intrusive_ptr<c10d::Store>& store,
                                                     const std::vector<int>& ranks,
                                                     const c10::intrusive_ptr<Options>& options) {
  ++splits_;
  const auto place = std::find(ranks.begin(), ranks.end(), rank_);
  if (place == ranks.end()) return nullptr;
  auto nccl_options = c10::dynamic_intrusive_pointer_cast<NcclOptions>(options);
  TORCH_CHECK(nccl_options != nullptr, "opts not a ProcessGroupNCCL::Options.");
  nccl_options->global_ranks_in_group = global_ranks_of(ranks, group_.global_ranks);
  return c10::make_intrusive<NcclBackend>(store->clone(), static_cast<int>(place - ranks.begin()),
                                          static_cast<int>(ranks.size()), nccl_options, communicators_.make_gloo());
}

}  // namespace devsan::collectives
