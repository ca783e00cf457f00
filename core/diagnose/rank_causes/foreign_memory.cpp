#include "diagnose/ranks/causes.h"
#include "diagnose/source_text.h"
#include "diagnose/texts.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

namespace devsan::diagnose::ranks {

using model::Argument;
using model::Device;
using model::DeviceSource;
using model::Event;
using model::Message;
using model::RankFacts;
using model::RankMemory;

namespace {

/// Whether a map binds the rank's model to the device: then the map is what is to be changed.
bool is_mapped(const RankFacts& rank, const Device& device) {
  return std::ranges::any_of(rank.models, [&](const model::RankModel& model) {
    const auto binds = [&](const model::MapEntry& entry) { return entry.device == device; };
    return std::ranges::any_of(model.device_map, binds) ||
           std::ranges::find(model.hook_devices, device) != model.hook_devices.end();
  });
}

struct Case {
  std::vector<int> ranks;
  std::vector<int> owners;           ///< the ranks whose GPUs they are
  std::vector<std::string> devices;  ///< as the ranks call them
  const RankFacts* rank = nullptr;
  std::optional<Event> placed;  ///< what the rank placed there
  std::uint64_t bytes = 0;
};

/// Adds what is not there yet, in order.
template <typename Item>
void add(std::vector<Item>& all, const std::vector<Item>& more) {
  all.insert(all.end(), more.begin(), more.end());
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
}

/// The ranks that failed by it: NCCL finds two ranks on one GPU, or the memory of a GPU does not suffice.
void tell_failures(const Job& job, const Case& each, RankHypothesis& found) {
  std::vector<int> near = each.owners;
  add(near, each.ranks);
  std::vector<int> refused;
  for (const int number : near) {
    const RankFacts& rank = *job.rank(number);
    if (Job::is_refused_a_gpu(rank)) refused.push_back(number);
    const bool owns = std::ranges::find(each.owners, number) != each.owners.end();
    if (!owns || rank.error != "OutOfMemoryError") continue;
    found.explains.push_back(number);
    found.add_evidence(20, {"Rank {rank} ran out of memory on it.", {{"rank", std::to_string(number)}}});
  }
  if (refused.empty()) return;
  found.explains.insert(found.explains.end(), refused.begin(), refused.end());
  found.add_evidence(20, {"NCCL refuses {who}: the tensors of a collective are on one GPU in two ranks.",
                          {{"who", ranks_text(refused)}}});
}

/// What the rank first placed on that GPU. Of checkpoints that were read there it is the one that the rank failed about.
std::optional<Event> placed_of(const RankFacts& rank, const RankMemory& memory) {
  if (memory.placed.empty()) return std::nullopt;
  Event placed = memory.placed.front();
  for (const model::OwnFinding& finding : rank.findings) {
    if (placed.kind != model::EventKind::kLoaded || std::ranges::count(finding.devices, memory.device) == 0) continue;
    const auto read = std::ranges::find_if(finding.placed, [](const model::Frame& frame) {
      return frame.source.find("torch.load(") != std::string::npos;
    });
    if (read != finding.placed.end()) placed.stack = {*read};
  }
  return placed;
}

}  // namespace

// A rank works on its own GPU and holds memory on another rank's: what was loaded or made before set_device, a checkpoint
// that remembers its GPU, "cuda:0" in the source. One process cannot see that it is another's.
std::vector<RankHypothesis> foreign_memory(const Job& job) {
  std::map<std::tuple<std::string, std::string, int>, Case> cases;  // by place; by GPU where that is not known
  for (const RankFacts* rank : job.ranks()) {
    const Device home = Job::home(*rank);
    const Gpu own = Job::gpu(*rank, home);
    for (const RankMemory& memory : rank->memory) {
      const Gpu gpu = Job::gpu(*rank, memory.device);
      if (own.empty() || gpu.empty() || gpu == own || memory.peak == 0 || is_mapped(*rank, memory.device)) continue;
      const std::vector<int> owners = job.at_home_on(gpu);
      if (owners.empty()) continue;
      std::optional<Event> placed = placed_of(*rank, memory);
      const model::Frame* site = placed ? placed->written() : nullptr;
      Case& found = site == nullptr ? cases[{gpu, "", 0}] : cases[{"", site->file, site->span.line}];
      if (found.rank == nullptr) {
        found.rank = rank;
        found.placed = std::move(placed);
      }
      add(found.ranks, {rank->process.rank});
      add(found.owners, owners);
      add(found.devices, {memory.device.str()});
      found.bytes += memory.peak;
    }
  }
  std::vector<RankHypothesis> all;
  for (const auto& [place, each] : cases) {
    RankHypothesis found(code::kForeignMemory);
    found.ranks = each.ranks;
    const Message who = ranks_text(each.ranks);
    const Message owners = ranks_text(each.owners);
    const long gpus = count_of(each.devices);
    const Message device = with_commas(std::vector<Message>(each.devices.begin(), each.devices.end()));
    const Message bytes = bytes_text(each.bytes);
    if (each.ranks.size() == 1) {
      const std::string home = Job::home(*each.rank).str();
      found.add_evidence(70,
                         {"{who} works on {home} and allocated {bytes} on {device}, the GPU of {owners}.",
                          "{who} works on {home} and took {bytes} on {device}, the GPUs of {owners}.",
                          gpus,
                          {{"who", who}, {"home", home}, {"bytes", bytes}, {"device", device}, {"owners", owners}}});
    } else {
      found.add_evidence(70, {"{who} work on their own GPUs and allocated {bytes} on {device}, the GPU of {owners}.",
                              "{who} work on GPUs of their own and took {bytes} on {device}, the GPUs of {owners}.",
                              gpus,
                              {{"who", who}, {"bytes", bytes}, {"device", device}, {"owners", owners}}});
    }
    tell_failures(job, each, found);
    // NCCL's refusal is the ranks', whatever each of them says of it.
    const bool refused =
        std::ranges::any_of(job.ranks(), [](const auto* rank) { return Job::is_refused_a_gpu(*rank); });
    const bool of_call = each.placed && is_received(*each.placed);
    const bool received = of_call && !refused;  // a call that NCCL refuses has sent nothing yet
    if (each.placed) {
      const Event& placed = *each.placed;
      const Message at = diagnose::at_text(placed);
      if (received) {
        found.add_evidence(10, {"It was received by {call}{at}, on the same GPU as in the sender.",
                                {{"call", placed.owner.mechanism}, {"at", at}}});
      } else if (of_call) {
        found.add_evidence(10, {"{call} puts what it sends on the current device{at}, and that is {device} in {who}.",
                                {{"call", placed.owner.mechanism}, {"at", at}, {"device", device}, {"who", who}}});
      } else {
        found.add_evidence(10,
                           {"It was placed there by {owner}{at}.", {{"owner", owner_text(placed.owner)}, {"at", at}}});
      }
      if (const model::Frame* site = placed.written(); site != nullptr) {
        found.sites.push_back(*site);
        found.about = site->source;
      }
      if (received || !of_call) propose_for_placement(found, placed, *each.rank);
    }
    // What names its device, or the file it came from, does not ask which is current.
    const bool named = each.placed && source_of(*each.placed) != DeviceSource::kCurrent;
    const bool was_set = each.rank->process.set_device_called;
    if (!received && (of_call || !named || !was_set)) propose_set_device(found, *each.rank);
    const std::vector<Argument> named_in_title = {{"who", who}, {"owners", owners}, {"device", device}};
    found.title =
        gpus == 1
            ? Message{"{who} holds memory on the GPU of {owners}, {device}",
                      "{who} hold memory on the GPU of {owners}, {device}", count_of(each.ranks), named_in_title}
            : Message{"{who} holds memory on the GPUs of {owners}, {device}",
                      "{who} hold memory on the GPUs of {owners}, {device}", count_of(each.ranks), named_in_title};
    found.as = {code::kMovedAfterDispatch};
    if (!refused) found.as.push_back(code::kCurrentDevice);
    found.severity = found.explains.empty() ? model::Severity::kWarning : model::Severity::kError;
    if (found.about.empty()) found.about = device.text();
    all.push_back(std::move(found));
  }
  return all;
}

}  // namespace devsan::diagnose::ranks
