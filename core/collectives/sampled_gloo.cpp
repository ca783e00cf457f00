#include "collectives/sampled_gloo.h"

#include <algorithm>

#include <ATen/Functions.h>
#include <ATen/core/LegacyTypeDispatch.h>

#include "collectives/payload.h"
#include "collectives/sampled_work.h"
#include "collectives/work.h"

namespace devsan::collectives {
namespace {

using c10d::OpType;
using Tensors = SampledGloo::Tensors;
using WorkPtr = SampledGloo::WorkPtr;

/// One part a rank of a tensor that has those of all, as rows that share its memory.
Tensors parts_of(const at::Tensor& tensor, int ranks) { return flat(tensor).chunk(ranks); }

/// As above, of uneven parts: so many slices of the first dimension for each rank.
Tensors parts_of(const at::Tensor& tensor, const std::vector<std::int64_t>& sizes, int ranks) {
  if (sizes.empty()) return parts_of(tensor, ranks);
  const std::int64_t slice = tensor.size(0) > 0 ? tensor.numel() / tensor.size(0) : 1;
  std::vector<std::int64_t> elements;
  for (const std::int64_t size : sizes) elements.push_back(size * slice);
  return flat(tensor).split_with_sizes(elements);
}

std::vector<std::int64_t> elements_of(const Tensors& tensors) {
  std::vector<std::int64_t> all;
  for (const at::Tensor& tensor : tensors) all.push_back(tensor.numel());
  return all;
}

std::vector<const c10::StorageImpl*> storages_of(const Tensors& tensors) {
  std::vector<const c10::StorageImpl*> all;
  for (const at::Tensor& tensor : tensors) {
    if (tensor.has_storage()) all.push_back(tensor.storage().unsafeGetStorageImpl());
  }
  return all;
}

/// Has those that do not run give what their stand-ins gave; where that is of another size, as much as fits, then zeros.
void stand_in(const Attendance& attendance, const Tensors& by_rank) {
  for (int rank = 0; rank < static_cast<int>(by_rank.size()); ++rank) {
    if (attendance.is_present(rank)) continue;
    copy_what_fits(flat(by_rank[static_cast<std::size_t>(attendance.stand_in(rank))]),
                   flat(by_rank[static_cast<std::size_t>(rank)]));
  }
}

}  // namespace

SampledGloo::SampledGloo(c10::intrusive_ptr<c10d::Store> store, int rank, int size, OptionsPtr options,
                         MakeGloo make_gloo)
    : Backend(rank, size), store_(std::move(store)), options_(std::move(options)), make_gloo_(std::move(make_gloo)) {}

const Attendance& SampledGloo::attendance() {
  const std::scoped_lock lock(connecting_);
  if (!attendance_.has_value()) attendance_.emplace(size_, options_->global_ranks_in_group);
  return *attendance_;
}

c10d::Backend& SampledGloo::gloo() {
  const Attendance& known = attendance();
  const std::scoped_lock lock(connecting_);
  if (gloo_ == nullptr) {
    gloo_ = make_gloo_(store_, known.place(rank_), static_cast<int>(known.present().size()), options_->timeout);
  }
  return *gloo_;
}

void SampledGloo::setTimeout(std::chrono::milliseconds timeout) {
  options_->timeout = timeout;
  const std::scoped_lock lock(connecting_);
  if (gloo_ != nullptr) gloo_->setTimeout(timeout);
}

Tensors SampledGloo::present(const Tensors& by_rank) {
  TORCH_CHECK_WITH(ValueError, by_rank.size() == static_cast<std::size_t>(size_), "Expected ", size_,
                   " tensors, one for each rank of the group, got ", by_rank.size());
  Tensors found;
  for (const int rank : attendance().present()) found.push_back(by_rank[static_cast<std::size_t>(rank)]);
  return found;
}

void SampledGloo::wait_for_earlier(const Tensors& tensors) {
  const std::vector<const c10::StorageImpl*> wanted = storages_of(tensors);
  std::vector<WorkPtr> earlier;
  {
    const std::scoped_lock lock(calls_mutex_);
    for (const UnderWay& each : under_way_) {
      if (std::ranges::find_first_of(each.touched, wanted) != each.touched.end()) earlier.push_back(each.work.lock());
    }
  }
  for (const WorkPtr& work : earlier) {
    if (work != nullptr) work->wait(kNoTimeout);
  }
}

WorkPtr SampledGloo::follow(OpType op, const WorkPtr& carrier, const Tensors& outputs, const Tensors& inputs,
                            std::function<void()> after) {
  std::vector<const c10::StorageImpl*> touched = storages_of(outputs);
  for (const c10::StorageImpl* storage : storages_of(inputs)) touched.push_back(storage);
  const std::scoped_lock lock(calls_mutex_);
  auto work = c10::make_intrusive<SampledWork>(op, ++sequence_, outputs);
  work->follow(*carrier, std::move(after));
  std::erase_if(under_way_, [](const UnderWay& each) {
    const WorkPtr known = each.work.lock();
    return known == nullptr || known->isCompleted();
  });
  under_way_.push_back({c10::weak_intrusive_ptr<c10d::Work>(WorkPtr(work)), std::move(touched)});
  return work;
}

WorkPtr SampledGloo::broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) {
  c10d::BroadcastOptions among = options;
  among.rootRank = attendance().place(static_cast<int>(options.rootRank));
  return follow(OpType::BROADCAST, gloo().broadcast(tensors, among), tensors, {});
}

WorkPtr SampledGloo::allgather(std::vector<Tensors>& outputs, Tensors& inputs, const c10d::AllgatherOptions& options) {
  const Tensors all = outputs.at(0);
  std::vector<Tensors> among = {present(all)};
  const WorkPtr carrier = gloo().allgather(among, inputs, options);
  return follow(OpType::ALLGATHER, carrier, all, inputs, [this, all] { stand_in(*attendance_, all); });
}

WorkPtr SampledGloo::_allgather_base(at::Tensor& output, at::Tensor& input, const c10d::AllgatherOptions& options) {
  const at::AutoDispatchBelowADInplaceOrView below;
  std::vector<Tensors> parts = {parts_of(output, size_)};
  Tensors row = {flat(input)};
  return allgather(parts, row, options);
}

WorkPtr SampledGloo::allgather_coalesced(std::vector<Tensors>& outputs, Tensors& inputs,
                                         const c10d::AllgatherOptions& options) {
  std::vector<WorkPtr> works;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    std::vector<Tensors> list(1);
    for (const Tensors& of_rank : outputs) list.front().push_back(of_rank.at(i));
    Tensors input = {inputs[i]};
    works.push_back(allgather(list, input, options));
  }
  return join(std::move(works));
}

WorkPtr SampledGloo::allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                                     const c10d::AllgatherOptions& options) {
  std::vector<WorkPtr> works;
  for (std::size_t i = 0; i < inputs.size(); ++i) works.push_back(_allgather_base(outputs.at(i), inputs[i], options));
  return join(std::move(works));
}

WorkPtr SampledGloo::gather(std::vector<Tensors>& outputs, Tensors& inputs, const c10d::GatherOptions& options) {
  const int root = static_cast<int>(options.rootRank);
  if (!attendance().is_present(root)) return done_work(OpType::GATHER);
  c10d::GatherOptions among = options;
  among.rootRank = attendance().place(root);
  if (rank_ != root) return follow(OpType::GATHER, gloo().gather(outputs, inputs, among), {}, inputs);
  const Tensors all = outputs.at(0);
  std::vector<Tensors> lists = {present(all)};
  const WorkPtr carrier = gloo().gather(lists, inputs, among);
  return follow(OpType::GATHER, carrier, all, inputs, [this, all] { stand_in(*attendance_, all); });
}

WorkPtr SampledGloo::scatter(Tensors& outputs, std::vector<Tensors>& inputs, const c10d::ScatterOptions& options) {
  const at::AutoDispatchBelowADInplaceOrView below;
  const int root = static_cast<int>(options.rootRank);
  if (!attendance().is_present(root)) {  // nobody has what it would give
    wait_for_earlier(outputs);
    for (const at::Tensor& output : outputs) output.zero_();
    return done_work(OpType::SCATTER, outputs);
  }
  c10d::ScatterOptions among = options;
  among.rootRank = attendance().place(root);
  std::vector<Tensors> lists;
  if (rank_ == root) lists.push_back(present(inputs.at(0)));
  const WorkPtr carrier = gloo().scatter(outputs, lists, among);
  return follow(OpType::SCATTER, carrier, outputs, lists.empty() ? Tensors() : lists.front());
}

WorkPtr SampledGloo::alltoall_base(at::Tensor& output, at::Tensor& input, std::vector<std::int64_t>& output_sizes,
                                   std::vector<std::int64_t>& input_sizes, const c10d::AllToAllOptions& options) {
  const at::AutoDispatchBelowADInplaceOrView below;
  c10d::checkSplitSizes(input_sizes, input, size_);
  c10d::checkSplitSizes(output_sizes, output, size_);
  return exchange(parts_of(output, output_sizes, size_), parts_of(input, input_sizes, size_), options);
}

WorkPtr SampledGloo::alltoall(Tensors& outputs, Tensors& inputs, const c10d::AllToAllOptions& options) {
  const at::AutoDispatchBelowADInplaceOrView below;
  return exchange(outputs, inputs, options);
}

WorkPtr SampledGloo::exchange(const Tensors& outputs, const Tensors& inputs, const c10d::AllToAllOptions& options) {
  wait_for_earlier(inputs);
  const Tensors wanted = present(outputs);
  Tensors given = present(inputs);
  for (at::Tensor& part : given) part = flat(part);
  std::vector<std::int64_t> out_sizes = elements_of(wanted);  // gloo moves it away
  std::vector<std::int64_t> in_sizes = elements_of(given);
  at::Tensor in = at::cat(given);
  at::Tensor out = at::empty({count(wanted)}, in.options());
  const WorkPtr carrier = gloo().alltoall_base(out, in, out_sizes, in_sizes, options);
  return follow(OpType::ALLTOALL, carrier, outputs, {}, [this, out, wanted, outputs] {
    const Tensors came = out.split_with_sizes(elements_of(wanted));
    for (std::size_t i = 0; i < came.size(); ++i) flat(wanted[i]).copy_(came[i]);
    stand_in(*attendance_, outputs);
  });
}

WorkPtr SampledGloo::send(Tensors& tensors, int destination, int tag) {
  if (!attendance().is_present(destination)) return done_work(OpType::SEND);
  return gloo().send(tensors, attendance().place(destination), tag);
}

WorkPtr SampledGloo::recv(Tensors& tensors, int source, int tag) {
  if (attendance().is_present(source)) return gloo().recv(tensors, attendance().place(source), tag);
  const at::AutoDispatchBelowADInplaceOrView below;
  wait_for_earlier(tensors);
  for (const at::Tensor& tensor : tensors) tensor.zero_();
  return done_work(OpType::RECV, tensors);
}

WorkPtr SampledGloo::recvAnysource(Tensors& tensors, int tag) {
  return c10::make_intrusive<SampledReceive>(gloo().recvAnysource(tensors, tag), attendance().present());
}

WorkPtr SampledGloo::barrier(const c10d::BarrierOptions& options) {
  return follow(OpType::BARRIER, gloo().barrier(options), {}, {});
}

void SampledGloo::monitoredBarrier(const c10d::BarrierOptions& options, bool wait_all_ranks) {
  gloo().monitoredBarrier(options, wait_all_ranks);
}

c10::intrusive_ptr<c10d::Backend> SampledGloo::split(const c10::intrusive_ptr<c10d::Store>& store,
                                                     const std::vector<int>& ranks, const OptionsPtr& options) {
  const auto place = std::ranges::find(ranks, rank_);
  if (place == ranks.end()) return nullptr;
  auto own = c10::make_intrusive<Options>("gloo", options->timeout);
  own->group_name = options->group_name;
  own->global_ranks_in_group = global_ranks_of(ranks, options_->global_ranks_in_group);
  return c10::make_intrusive<SampledGloo>(store->clone(), static_cast<int>(place - ranks.begin()),
                                          static_cast<int>(ranks.size()), std::move(own), make_gloo_);
}

}  // namespace devsan::collectives
