#include "diagnose/ranks/causes.h"
#include "diagnose/texts.h"

#include <algorithm>
#include <map>
#include <utility>

namespace devsan::diagnose::ranks {

using model::Argument;
using model::Device;
using model::FixKind;
using model::Message;
using model::RankFacts;
using model::RankModel;
using model::RankTensor;

namespace {

// torch/csrc/distributed/c10d/reducer.cpp, verify_params_across_processes; torch/distributed/utils.py.
constexpr const char* kRefusals[] = {"DDP expects same model across all ranks", "params[",
                                     "appears not to match sizes of the same param",
                                     "appears not to match strides of the same param"};

bool is_refused(const RankFacts& rank) {
  return rank.sentence.find(kRefusals[0]) != std::string::npos ||
         rank.sentence.find(kRefusals[2]) != std::string::npos || rank.sentence.find(kRefusals[3]) != std::string::npos;
}

/// Where a tensor is, as ranks can be compared: on the host, on meta, on a GPU.
std::string kind_of(const Device& device) { return device.is_accelerator() ? "a GPU" : device.str(); }

Message tensor_text(const RankTensor& tensor) {
  const std::vector<Argument> named = {{"name", quoted(tensor.name)}, {"type", type_text(tensor.dtype, tensor.shape)}};
  return tensor.is_buffer ? Message{"buffer {name} {type}", named} : Message{"parameter {name} {type}", named};
}

enum class Difference { kNone, kMissing, kOrder, kShape, kDtype, kGradient, kDevice };

struct First {
  Difference difference = Difference::kNone;
  Message sentence;
};

const RankTensor* find(const RankModel& model, const std::string& name) {
  const auto found = std::ranges::find(model.tensors, name, &RankTensor::name);
  return found == model.tensors.end() ? nullptr : &*found;
}

/// The model of `offending_ranks` has a tensor more than that of `usual_ranks`, or one less.
Message missing_text(bool more, const RankTensor& tensor, const std::vector<int>& usual_ranks,
                     const std::vector<int>& offending_ranks) {
  const long offending = count_of(offending_ranks);
  const std::vector<Argument> named = {
      {"who", ranks_text(offending_ranks)}, {"what", tensor_text(tensor)}, {"usual", ranks_text(usual_ranks)}};
  if (usual_ranks.size() == 1) {
    return more ? Message{"The model of {who} has {what}, which {usual} lacks.",
                          "The models of {who} have {what}, which {usual} lacks.", offending, named}
                : Message{"The model of {who} has no {what}, which {usual} has.",
                          "The models of {who} have no {what}, which {usual} has.", offending, named};
  }
  return more ? Message{"The model of {who} has {what}, which {usual} lack.",
                        "The models of {who} have {what}, which {usual} lack.", offending, named}
              : Message{"The model of {who} has no {what}, which {usual} have.",
                        "The models of {who} have no {what}, which {usual} have.", offending, named};
}

/// The first difference between the model of the ranks that have the usual one and that of others.
First compare(const RankModel& usual, const RankModel& offending, const std::vector<int>& usual_ranks,
              const std::vector<int>& offending_ranks) {
  const Message who = ranks_text(offending_ranks);
  const auto with = [&](const std::string& name, Message left, Message right) -> std::vector<Argument> {
    return {{"name", quoted(name)},
            {"one", std::move(left)},
            {"usual", ranks_text(usual_ranks)},
            {"other", std::move(right)},
            {"who", who}};
  };
  const std::size_t both = std::min(usual.tensors.size(), offending.tensors.size());
  for (std::size_t place = 0; place < both; ++place) {
    const RankTensor& left = usual.tensors[place];
    const RankTensor& right = offending.tensors[place];
    if (left.name != right.name) {
      if (find(offending, left.name) == nullptr)
        return {Difference::kMissing, missing_text(false, left, usual_ranks, offending_ranks)};
      if (find(usual, right.name) == nullptr)
        return {Difference::kMissing, missing_text(true, right, usual_ranks, offending_ranks)};
      return {Difference::kOrder,
              {"Number {number} is {one} in {usual}, and {other} in {who}: the order differs.",
               {{"number", std::to_string(place)},
                {"one", tensor_text(left)},
                {"usual", ranks_text(usual_ranks)},
                {"other", tensor_text(right)},
                {"who", who}}}};
    }
    if (left.shape != right.shape)
      return {Difference::kShape,
              {"{name} is {one} in {usual}, and {other} in {who}.",
               with(left.name, type_text("", left.shape), type_text("", right.shape))}};
    if (left.dtype != right.dtype)
      return {Difference::kDtype,
              {"{name} is {one} in {usual}, and {other} in {who}.", with(left.name, left.dtype, right.dtype)}};
    if (left.requires_grad != right.requires_grad) {
      const std::vector<Argument> named = {
          {"name", quoted(left.name)}, {"usual", ranks_text(usual_ranks)}, {"who", who}};
      return {Difference::kGradient, left.requires_grad
                                         ? Message{"{name} is trained in {usual}, and frozen in {who}.", named}
                                         : Message{"{name} is frozen in {usual}, and trained in {who}.", named}};
    }
    if (kind_of(left.device) != kind_of(right.device))
      return {Difference::kDevice,
              {"{name} is on {one} in {usual}, and on {other} in {who}.",
               with(left.name, left.device.str(), right.device.str())}};
  }
  const RankModel& longer = usual.tensors.size() > offending.tensors.size() ? usual : offending;
  if (longer.tensors.size() > both) {
    return {Difference::kMissing,
            missing_text(&longer == &offending, longer.tensors[both], usual_ranks, offending_ranks)};
  }
  return {};
}

void propose(RankHypothesis& found, Difference difference) {
  switch (difference) {
    case Difference::kMissing:
      found.propose(FixKind::kCreationSite,
                    "build the same modules in every rank: nothing that a rank alone knows (its number, its data, a "
                    "random number) may decide about them");
      return;
    case Difference::kOrder:
      found.propose(
          FixKind::kCreationSite,
          "register the modules in the same order in every rank: iterate over a list, or sorted(...), not over "
          "a set");
      return;
    case Difference::kShape:
      found.propose(
          FixKind::kCreationSite,
          "take sizes from what all ranks share (the configuration, a broadcast number), not from a rank's own "
          "data");
      return;
    case Difference::kDtype:
      found.propose(FixKind::kCreationSite, "cast the model to the same dtype in every rank");
      return;
    case Difference::kGradient:
      found.propose(FixKind::kCreationSite, "freeze the same parameters in every rank, before the model is wrapped");
      return;
    default:
      found.propose(FixKind::kCreationSite, "move the model to its rank's GPU in every rank, before it is wrapped");
  }
}

/// The model of `rank` that `type` names: a program with two networks may come to the one or the other first.
const RankModel& model_of(const RankFacts& rank, const std::string& type) {
  const auto same = std::ranges::find(rank.models, type, &RankModel::type);
  return same != rank.models.end() ? *same : rank.models.front();
}

bool is_replicated(const RankModel& model) { return std::ranges::find(model.wrappers, "DDP") != model.wrappers.end(); }

}  // namespace

// Data parallelism adds up gradients by position: every rank must hold the same parameters in the same order.
std::vector<RankHypothesis> differing_models(const Job& job) {
  std::map<std::string, std::vector<const RankFacts*>> groups;  // by what the model holds, and where
  bool refused = false;
  bool replicated = true;
  bool stuck = false;
  std::string type;
  for (const RankFacts* rank : job.ranks()) {
    refused = refused || is_refused(*rank);
    stuck = stuck || Job::waiting(*rank) != nullptr;
    if (rank->models.empty()) continue;
    if (type.empty()) type = rank->models.front().type;
    const RankModel& model = model_of(*rank, type);
    replicated = replicated && is_replicated(model);
    std::string key = model.type + "\n" + model.digest;
    for (const RankTensor& tensor : model.tensors) key += tensor.device.is_accelerator() ? 'g' : 'h';
    groups[key].push_back(rank);
  }
  // Stages of a pipeline and shards differ on purpose; only who replicates asks for the same model.
  if (groups.size() < 2 || !(refused || replicated || stuck)) return {};
  const auto most = std::ranges::max_element(groups, [](const auto& one, const auto& other) {
    if (one.second.size() != other.second.size()) return one.second.size() < other.second.size();
    return one.second.front()->process.rank > other.second.front()->process.rank;  // of two the one with rank 0
  });
  RankHypothesis found(code::kDifferingModels);
  const RankModel& usual = model_of(*most->second.front(), type);
  std::vector<int> usual_ranks;
  for (const RankFacts* rank : most->second) usual_ranks.push_back(rank->process.rank);
  First first;
  for (const auto& [key, ranks] : groups) {
    if (&ranks == &most->second) continue;
    std::vector<int> numbers;
    for (const RankFacts* rank : ranks) numbers.push_back(rank->process.rank);
    const RankModel& offending = model_of(*ranks.front(), type);
    if (offending.type != usual.type && !refused && !replicated) return {};  // two programs, not one model
    const First here = compare(usual, offending, usual_ranks, numbers);
    if (here.difference == Difference::kNone) continue;
    if (first.difference == Difference::kNone) first = here;
    found.add_evidence(found.score == 0 ? (refused || replicated ? 60 : 50) : 0, here.sentence);
    found.ranks.insert(found.ranks.end(), numbers.begin(), numbers.end());
    if (usual.count != offending.count) {
      found.add_evidence(5, {"They hold {one} and {other} parameters and buffers.",
                             {{"one", std::to_string(usual.count)}, {"other", std::to_string(offending.count)}}});
    }
  }
  if (first.difference == Difference::kNone) return {};
  std::ranges::sort(found.ranks);
  if (refused) found.add_evidence(35, "DDP compares the models when it wraps them, and refuses.");
  if (replicated) found.add_evidence(10, "DDP adds up the gradients of all ranks by position.");
  for (const RankFacts* rank : job.ranks()) {
    if (is_refused(*rank) || Job::is_victim(*rank)) found.explains.push_back(rank->process.rank);
    if (is_refused(*rank) && rank->where.is_known() && found.sites.empty()) found.sites.push_back(rank->where);
  }
  const long offending = count_of(found.ranks);
  const std::vector<Argument> named = {{"who", ranks_text(found.ranks)}, {"usual", ranks_text(usual_ranks)}};
  found.title = usual_ranks.size() == 1 ? Message{"the model of {who} differs from that of {usual}",
                                                  "the models of {who} differ from that of {usual}", offending, named}
                                        : Message{"the model of {who} differs from those of {usual}",
                                                  "the models of {who} differ from those of {usual}", offending, named};
  const std::string& said = first.sentence.text();
  found.about = usual.type + "\n" + said.substr(said.find('`'));
  found.severity = job.any_failed() ? model::Severity::kError : model::Severity::kWarning;
  propose(found, first.difference);
  return {found};
}

}  // namespace devsan::diagnose::ranks
