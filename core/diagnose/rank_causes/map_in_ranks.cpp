#include "diagnose/ranks/causes.h"
#include "diagnose/source_text.h"
#include "diagnose/texts.h"

#include <algorithm>
#include <set>

namespace devsan::diagnose::ranks {

using model::Argument;
using model::Device;
using model::FixKind;
using model::Message;
using model::RankFacts;
using model::RankModel;

namespace {

/// The GPUs to which a map or hooks bind the model, each once.
std::vector<Device> bound_to(const RankModel& model) {
  std::vector<Device> found;
  const auto add = [&](const Device& device) {
    if (device.is_accelerator() && std::ranges::find(found, device) == found.end()) found.push_back(device);
  };
  for (const model::MapEntry& entry : model.device_map) add(entry.device);
  for (const Device& device : model.hook_devices) add(device);
  return found;
}

/// Whether a GPU to which this model is bound is one that another rank works on or binds its model to.
bool meets_others(const Job& job, const RankFacts& rank, const std::vector<Device>& bound) {
  std::set<Gpu> mine;
  for (const Device& device : bound) mine.insert(Job::gpu(rank, device));
  mine.erase("");
  for (const RankFacts* other : job.ranks()) {
    if (other == &rank) continue;
    std::vector<Device> theirs = {Job::home(*other)};
    for (const RankModel& model : other->models) {
      for (const Device& device : bound_to(model)) theirs.push_back(device);
    }
    if (std::ranges::any_of(theirs, [&](const Device& device) { return mine.contains(Job::gpu(*other, device)); })) {
      return true;
    }
  }
  return false;
}

void propose(RankHypothesis& found, const RankModel& model) {
  propose_own_map(found, model.mapped_at, model.device_map_text);
  found.propose(FixKind::kConfiguration,
                "load it without device_map, after torch.cuda.set_device(local_rank), and let the ranks' owner (DDP, "
                "FSDP, DeepSpeed, the Trainer) place it");
  found.propose(FixKind::kConfiguration, "shard by map in one process: python train.py, not torchrun");
}

}  // namespace

// A map says for all GPUs what one process does with them. In ranks there are several such processes.
std::vector<RankHypothesis> map_in_ranks(const Job& job) {
  RankHypothesis found(code::kMapInRanks);
  const RankModel* first = nullptr;
  std::vector<Device> devices;
  std::vector<int> fits;  // ranks for which the map happens to be right
  for (const RankFacts* rank : job.ranks()) {
    if (rank->process.world_size < 2) continue;
    for (const RankModel& model : rank->models) {
      const std::vector<Device> bound = bound_to(model);
      const Device meant = Job::meant(*rank);
      if (bound.empty() || !meets_others(job, *rank, bound)) continue;
      if (bound.size() == 1 && (!meant.is_known() || bound.front() == meant)) {
        if (bound.front() == meant) fits.push_back(rank->process.rank);
        continue;
      }
      found.ranks.push_back(rank->process.rank);
      if (first == nullptr) {
        first = &model;
        devices = bound;
      }
      break;
    }
  }
  if (first == nullptr) return {};
  const Message who = ranks_text(found.ranks);
  const long count = count_of(found.ranks);
  const std::string& map = first->device_map_text;
  std::vector<Message> names;
  for (const Device& device : devices) names.emplace_back(device.str());
  const std::vector<Argument> bound = {
      {"who", who}, {"text", map}, {"devices", list_of(names)}, {"at", at_text(first->mapped_at)}};
  if (devices.size() > 1) {
    found.add_evidence(
        75, map.empty() ? Message{"The map of {who} spreads the model over {devices}{at}, but each rank should "
                                  "use one GPU.",
                                  bound}
                        : Message{"The map of {who} ({text}) spreads the model over {devices}{at}, but each rank "
                                  "should use one GPU.",
                                  bound});
    found.title = {"{who} spreads its model over the GPUs of other ranks",
                   "{who} spread their models over the GPUs of other ranks",
                   count,
                   {{"who", who}}};
  } else {
    found.add_evidence(
        75, map.empty()
                ? Message{"The model of {who} is bound to {devices}{at}: that is not its rank's GPU.",
                          "The models of {who} are bound to {devices}{at}: that is not the GPU of these ranks.", count,
                          bound}
                : Message{"The model of {who} ({text}) is bound to {devices}{at}: that is not its rank's GPU.",
                          "The models of {who} ({text}) are bound to {devices}{at}: that is not the GPU of these "
                          "ranks.",
                          count, bound});
    if (!fits.empty()) {
      found.add_evidence(10, {"In {who} that is the rank's own GPU, so nothing fails there.",
                              "In {who} that is the ranks' own GPU, so nothing fails there.",
                              count_of(fits),
                              {{"who", ranks_text(fits)}}});
    }
    found.title = {"the model of {who} is bound to another rank's GPU",
                   "the models of {who} are bound to another rank's GPU",
                   count,
                   {{"who", who}}};
  }
  found.about = first->mapped_at.source;
  if (first->mapped_at.is_known()) found.sites.push_back(first->mapped_at);
  found.as = {code::kMovedAfterDispatch, code::kDataParallelOnPlacedModel, code::kRefusedOwners};
  for (const RankFacts* rank : job.ranks()) {
    const bool out_of_memory = rank->error == "OutOfMemoryError";
    if (out_of_memory && std::ranges::find(found.ranks, rank->process.rank) != found.ranks.end()) {
      found.explains.push_back(rank->process.rank);
      if (found.explains.size() == 1)
        found.add_evidence(10, "A rank ran out of memory: the models of several ranks share GPUs.");
    }
  }
  found.severity = found.explains.empty() ? model::Severity::kWarning : model::Severity::kError;
  propose(found, *first);
  return {found};
}

}  // namespace devsan::diagnose::ranks
