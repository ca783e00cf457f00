#include "diagnose/ranks/causes.h"
#include "diagnose/source_text.h"
#include "diagnose/texts.h"

#include <algorithm>
#include <set>

namespace devsan::diagnose::ranks {

using model::Device;
using model::RankFacts;
using model::RankModel;
using model::RepairKind;

namespace {

constexpr const char* kOwnMap = "device_map={\"\": int(os.environ[\"LOCAL_RANK\"])}";

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

std::string list_of(const std::vector<Device>& devices) {
  std::string text;
  for (std::size_t place = 0; place < devices.size(); ++place) {
    text += (place == 0 ? "" : place + 1 == devices.size() ? " and " : ", ") + devices[place].str();
  }
  return text;
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
  std::optional<model::Edit> edit;
  const std::string& source = model.mapped_at.source;
  if (const auto at = model.device_map_text.empty() ? std::string::npos : source.find(model.device_map_text);
      at != std::string::npos) {
    std::string after = source;
    after.replace(at, model.device_map_text.size(), kOwnMap);
    edit = model::Edit{model.mapped_at.file, model.mapped_at.span.line, source, std::move(after)};
  }
  found.propose(RepairKind::kConfiguration, std::string("load the model on its rank's GPU: ") + kOwnMap,
                model::Confidence::kLikely, std::move(edit));
  found.propose(RepairKind::kConfiguration,
                "load it without device_map, after torch.cuda.set_device(local_rank), and let the ranks' owner (DDP, "
                "FSDP, DeepSpeed, the Trainer) place it");
  found.propose(RepairKind::kConfiguration, "shard by map in one process: python train.py, not torchrun");
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
  const bool several = devices.size() > 1;
  const std::string who = ranks_text(found.ranks);
  const std::string map = first->device_map_text.empty() ? "" : " (" + first->device_map_text + ")";
  if (several) {
    found.saw(75, "The map of " + who + map + " spreads the model over " + list_of(devices) +
                      at_text(first->mapped_at) + ", but each rank should use one GPU.");
    found.title =
        who + form(found.ranks, " spreads its model", " spread their models") + " over the GPUs of other ranks";
  } else {
    found.saw(75, form(found.ranks, "The model of ", "The models of ") + who + map +
                      form(found.ranks, " is bound to ", " are bound to ") + devices.front().str() +
                      at_text(first->mapped_at) +
                      form(found.ranks, ": that is not its rank's GPU.", ": that is not the GPU of these ranks."));
    if (!fits.empty()) {
      found.saw(10, "In " + ranks_text(fits) + " that is " + form(fits, "the rank's own GPU", "the ranks' own GPU") +
                        ", so nothing fails there.");
    }
    found.title = form(found.ranks, "the model of ", "the models of ") + who +
                  form(found.ranks, " is bound to another rank's GPU", " are bound to another rank's GPU");
  }
  found.about = first->mapped_at.source;
  if (first->mapped_at.is_known()) found.sites.push_back(first->mapped_at);
  found.as = {code::kMovedAfterDispatch, code::kDataParallelOnPlacedModel, code::kRefusedOwners};
  for (const RankFacts* rank : job.ranks()) {
    const bool out_of_memory = rank->error == "OutOfMemoryError";
    if (out_of_memory && std::ranges::find(found.ranks, rank->process.rank) != found.ranks.end()) {
      found.explains.push_back(rank->process.rank);
      if (found.explains.size() == 1)
        found.saw(10, "A rank ran out of memory: the models of several ranks share GPUs.");
    }
  }
  found.severity = found.explains.empty() ? model::Severity::kWarning : model::Severity::kError;
  propose(found, *first);
  return {found};
}

}  // namespace devsan::diagnose::ranks
