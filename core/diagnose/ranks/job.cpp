#include "diagnose/ranks/job.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace devsan::diagnose::ranks {

using model::Collective;
using model::Device;
using model::Message;
using model::RankEnd;
using model::RankFacts;

Job::Job(const std::vector<RankFacts>& facts) {
  for (const RankFacts& each : facts) ranks_.push_back(&each);
  std::ranges::stable_sort(ranks_, {}, [](const RankFacts* each) { return each->process.rank; });
  world_size_ = static_cast<int>(ranks_.size());
  for (const RankFacts* each : ranks_) world_size_ = std::max(world_size_, each->process.world_size);
}

const RankFacts* Job::rank(int number) const {
  const auto found = std::ranges::find(ranks_, number, [](const RankFacts* each) { return each->process.rank; });
  return found == ranks_.end() ? nullptr : *found;
}

bool Job::uses_nccl() const {
  return std::ranges::any_of(ranks_,
                             [](const RankFacts* each) { return each->backend.find("nccl") != std::string::npos; });
}

Gpu Job::gpu(const RankFacts& rank, const Device& device) {
  if (!device.is_accelerator()) return "";
  const int index = device.index >= 0 ? device.index : std::max(rank.process.current_device.index, 0);
  if (static_cast<std::size_t>(index) < rank.gpus.size()) {
    return rank.host + "/" + rank.gpus[static_cast<std::size_t>(index)];
  }
  // Without names only ordinals can be compared, and these only where nobody renumbers.
  return rank.gpus.empty() && rank.process.visible_devices.empty() ? rank.host + "/cuda:" + std::to_string(index) : "";
}

Device Job::home(const RankFacts& rank) {
  if (!rank.models.empty()) {
    Device only;
    bool several = false;
    for (const model::RankTensor& tensor : rank.models.front().tensors) {
      if (!tensor.device.is_accelerator()) continue;
      several = several || (only.is_known() && only != tensor.device);
      only = tensor.device;
    }
    if (only.is_known() && !several) return only;
  }
  if (rank.process.set_device_called &&
      std::ranges::find(rank.memory, rank.process.current_device, &model::RankMemory::device) != rank.memory.end()) {
    return rank.process.current_device;
  }
  std::uint64_t all = 0;
  for (const model::RankMemory& memory : rank.memory) all += memory.peak;
  const Device own = meant(rank);
  const model::RankMemory* most = nullptr;  // more than all others together
  bool on_own = false;
  for (const model::RankMemory& memory : rank.memory) {
    if (memory.peak > all - memory.peak) most = &memory;
    on_own = on_own || (memory.peak > 0 && memory.device == own);
  }
  if (most != nullptr) return most->device;
  return on_own || !rank.process.current_device.is_known() ? own : rank.process.current_device;
}

Device Job::meant(const RankFacts& rank) {
  const model::Process& process = rank.process;
  Device device;
  if (process.device_count == 0) return device;
  const int index = process.device_count == 1 ? 0 : process.local_rank;
  if (index >= process.device_count) return device;
  device.type = "cuda";
  device.index = index;
  return device;
}

std::vector<int> Job::at_home_on(const Gpu& gpu) const {
  std::vector<int> found;
  for (const RankFacts* each : ranks_) {
    if (!gpu.empty() && Job::gpu(*each, home(*each)) == gpu) found.push_back(each->process.rank);
  }
  return found;
}

std::size_t Job::gpus_beside(const RankFacts& rank) const {
  std::set<std::string> names;
  std::size_t most = 0;
  for (const RankFacts* each : ranks_) {
    if (each->host != rank.host) continue;
    names.insert(each->gpus.begin(), each->gpus.end());
    most = std::max(most, static_cast<std::size_t>(std::max(each->process.device_count, 0)));
  }
  return std::max(most, names.size());
}

const Collective* Job::waiting(const RankFacts& rank) {
  if (rank.end == RankEnd::kFinished || rank.end == RankEnd::kExited) return nullptr;
  if (rank.end == RankEnd::kRaised && !rank.in_collective && !rank.peer_failed) return nullptr;
  const auto found = std::ranges::find(rank.collectives, false, &Collective::finished);
  return found == rank.collectives.end() ? nullptr : &*found;
}

Message Job::waited_text(const RankFacts& rank) const {
  const Collective* call = waiting(rank);
  double last = rank.ended;
  for (const RankFacts* each : ranks_) {
    if (rank.ended == 0) last = std::max(last, each->ended);
  }
  const double seconds = call == nullptr || call->since == 0 ? 0 : last - call->since;
  if (seconds < 1) return {};
  return {", for {seconds} s", {{"seconds", std::to_string(static_cast<long>(seconds))}}};
}

bool Job::is_victim(const RankFacts& rank) {
  return rank.end == RankEnd::kTerminated || (rank.end == RankEnd::kRaised && rank.peer_failed);
}

bool Job::failed(const RankFacts& rank) {
  return (rank.end == RankEnd::kRaised && !is_victim(rank)) || rank.end == RankEnd::kExited ||
         rank.end == RankEnd::kKilled;
}

bool Job::is_refused_a_gpu(const RankFacts& rank) {
  constexpr const char* kTwoRanks = "Duplicate GPU";  // initTransportsRank of NCCL's src/init.cc
  return rank.sentence.find(kTwoRanks) != std::string::npos ||
         std::ranges::any_of(rank.findings, [](const model::OwnFinding& finding) {
           return finding.sentence.find(kTwoRanks) != std::string::npos;
         });
}

bool Job::any_failed() const {
  return std::ranges::any_of(ranks_, [](const RankFacts* each) {
    return failed(*each) || is_victim(*each) || (each->end != RankEnd::kRunning && waiting(*each) != nullptr);
  });
}

std::vector<Message> Job::victims_of(const std::vector<int>& culprits) const {
  enum class How { kEnded, kFailed, kWaits };
  struct Group {
    Message call;
    Message at;
    Message waited;
    std::vector<int> ranks;
  };
  std::map<std::tuple<How, std::string, std::string>, Group> groups;  // by what happened to them
  for (const RankFacts* each : ranks_) {
    if (std::ranges::find(culprits, each->process.rank) != culprits.end() || failed(*each)) continue;
    const Collective* call = waiting(*each);
    if (call == nullptr && !is_victim(*each)) continue;
    const How how = call != nullptr ? How::kWaits : each->end == RankEnd::kTerminated ? How::kEnded : How::kFailed;
    const Message what = call == nullptr ? Message() : text_of(*call);
    const Message at = how == How::kWaits ? at_text(*call) : how == How::kFailed ? at_text(each->where) : Message();
    Group& group = groups[{how, what.text(), at.text()}];
    group.call = what;
    group.at = at;
    group.ranks.push_back(each->process.rank);
    if (group.waited.empty()) group.waited = waited_text(*each);
  }
  std::vector<Message> lines;
  for (const auto& [key, group] : groups) {
    const Message who = ranks_text(group.ranks);
    const long count = count_of(group.ranks);
    switch (std::get<How>(key)) {
      case How::kEnded:
        lines.push_back({"{who} was ended by the launcher", "{who} were ended by the launcher", count, {{"who", who}}});
        break;
      case How::kFailed:
        lines.push_back({"{who} failed because of it{at}", {{"who", who}, {"at", group.at}}});
        break;
      case How::kWaits:
        lines.push_back({"{who} waits in {call}{at}{waited}",
                         "{who} wait in {call}{at}{waited}",
                         count,
                         {{"who", who}, {"call", group.call}, {"at", group.at}, {"waited", group.waited}}});
    }
  }
  return lines;
}

}  // namespace devsan::diagnose::ranks
