#include "diagnose/ranks/causes.h"
#include "diagnose/source_text.h"
#include "diagnose/texts.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace devsan::diagnose::ranks {

using model::Device;
using model::DeviceSource;
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
  const RankMemory* memory = nullptr;
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
    found.saw(20, "Rank " + std::to_string(number) + " ran out of memory on it.");
  }
  if (refused.empty()) return;
  found.explains.insert(found.explains.end(), refused.begin(), refused.end());
  found.saw(20, "NCCL refuses " + ranks_text(refused) + ": the tensors of a collective are on one GPU in two ranks.");
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
      const model::Frame* site = memory.placed.empty() ? nullptr : memory.placed.front().written();
      Case& found = site == nullptr ? cases[{gpu, "", 0}] : cases[{"", site->file, site->span.line}];
      if (found.rank == nullptr) {
        found.rank = rank;
        found.memory = &memory;
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
    const std::string who = ranks_text(each.ranks);
    const bool several = each.devices.size() > 1;
    std::string device;
    for (const std::string& name : each.devices) device += (device.empty() ? "" : ", ") + name;
    found.saw(70, who +
                      (each.ranks.size() == 1 ? " works on " + Job::home(*each.rank).str() + " and took "
                                              : " work on GPUs of their own and took ") +
                      bytes_text(each.bytes) + " on " + device + (several ? ", the GPUs of " : ", the GPU of ") +
                      ranks_text(each.owners) + ".");
    tell_failures(job, each, found);
    const bool received = !each.memory->placed.empty() && each.memory->placed.front().owner.is("torch.distributed");
    if (!each.memory->placed.empty()) {
      const model::Event& placed = each.memory->placed.front();
      found.saw(
          10, received ? "It was received by " + placed.owner.mechanism + diagnose::at_text(placed).text() +
                             ", on the GPU that its sender had it on."
                       : "It was placed there by " + owner_text(placed.owner) + diagnose::at_text(placed).text() + ".");
      if (const model::Frame* site = placed.written(); site != nullptr) {
        found.sites.push_back(*site);
        found.about = site->source;
      }
      propose_for_placement(found, placed, *each.rank);
    }
    // What names its device, or the file it came from, does not ask which is current.
    const bool named = !each.memory->placed.empty() && source_of(each.memory->placed.front()) != DeviceSource::kCurrent;
    const bool was_set = each.rank->process.set_device_called;
    if (!received && (!named || !was_set)) propose_set_device(found, *each.rank);
    found.title = who + form(each.ranks, " holds", " hold") + " memory on the " + (several ? "GPUs" : "GPU") + " of " +
                  ranks_text(each.owners) + ", " + device;
    found.as = {code::kMovedAfterDispatch};
    // NCCL's refusal is the ranks', whatever each of them says of it.
    const bool refused =
        std::ranges::any_of(job.ranks(), [](const auto* rank) { return Job::is_refused_a_gpu(*rank); });
    if (!refused) found.as.push_back(code::kCurrentDevice);
    found.severity = found.explains.empty() ? model::Severity::kWarning : model::Severity::kError;
    if (found.about.empty()) found.about = device;
    all.push_back(std::move(found));
  }
  return all;
}

}  // namespace devsan::diagnose::ranks
