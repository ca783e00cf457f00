#include "diagnose/ranks/causes.h"
#include "diagnose/texts.h"

#include <algorithm>
#include <map>

namespace devsan::diagnose::ranks {

using model::Device;
using model::RankFacts;
using model::RankModel;
using model::RankTensor;
using model::RepairKind;

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

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text = "[";
  for (std::size_t place = 0; place < shape.size(); ++place) {
    text += (place > 0 ? "," : "") + std::to_string(shape[place]);
  }
  return text + "]";
}

std::string tensor_text(const RankTensor& tensor) {
  return (tensor.is_buffer ? "buffer " : "parameter ") + quoted(tensor.name) + " " + tensor.dtype +
         shape_text(tensor.shape);
}

enum class Difference { kNone, kMissing, kOrder, kShape, kDtype, kGradient, kDevice };

struct First {
  Difference difference = Difference::kNone;
  std::string sentence;
};

const RankTensor* find(const RankModel& model, const std::string& name) {
  const auto found = std::ranges::find(model.tensors, name, &RankTensor::name);
  return found == model.tensors.end() ? nullptr : &*found;
}

/// The first difference between the model of the ranks that have the usual one and that of others.
First compare(const RankModel& usual, const RankModel& odd, const std::vector<int>& usual_ranks,
              const std::vector<int>& odd_ranks) {
  const std::string one = ranks_text(usual_ranks);
  const std::string other = ranks_text(odd_ranks);
  const std::string model = form(odd_ranks, "The model of ", "The models of ") + other;
  const char* const has = form(odd_ranks, " has ", " have ");
  const char* const has_no = form(odd_ranks, " has no ", " have no ");
  const char* const usual_has = form(usual_ranks, " has.", " have.");
  const char* const usual_lacks = form(usual_ranks, " lacks.", " lack.");
  const std::size_t both = std::min(usual.tensors.size(), odd.tensors.size());
  for (std::size_t place = 0; place < both; ++place) {
    const RankTensor& left = usual.tensors[place];
    const RankTensor& right = odd.tensors[place];
    if (left.name != right.name) {
      if (find(odd, left.name) == nullptr)
        return {Difference::kMissing, model + has_no + tensor_text(left) + ", which " + one + usual_has};
      if (find(usual, right.name) == nullptr)
        return {Difference::kMissing, model + has + tensor_text(right) + ", which " + one + usual_lacks};
      return {Difference::kOrder, "Number " + std::to_string(place) + " is " + tensor_text(left) + " in " + one +
                                      ", and " + tensor_text(right) + " in " + other + ": the order differs."};
    }
    if (left.shape != right.shape)
      return {Difference::kShape, quoted(left.name) + " is " + shape_text(left.shape) + " in " + one + ", and " +
                                      shape_text(right.shape) + " in " + other + "."};
    if (left.dtype != right.dtype)
      return {Difference::kDtype,
              quoted(left.name) + " is " + left.dtype + " in " + one + ", and " + right.dtype + " in " + other + "."};
    if (left.requires_grad != right.requires_grad)
      return {Difference::kGradient, quoted(left.name) + (left.requires_grad ? " is trained in " : " is frozen in ") +
                                         one + (right.requires_grad ? ", and trained in " : ", and frozen in ") +
                                         other + "."};
    if (kind_of(left.device) != kind_of(right.device))
      return {Difference::kDevice, quoted(left.name) + " is on " + left.device.str() + " in " + one + ", and on " +
                                       right.device.str() + " in " + other + "."};
  }
  const RankModel& longer = usual.tensors.size() > odd.tensors.size() ? usual : odd;
  if (longer.tensors.size() > both) {
    const RankTensor& extra = longer.tensors[both];
    return {Difference::kMissing, model + (&longer == &odd ? has : has_no) + tensor_text(extra) + ", which " + one +
                                      (&longer == &odd ? usual_lacks : usual_has)};
  }
  return {};
}

void propose(RankHypothesis& found, Difference difference) {
  switch (difference) {
    case Difference::kMissing:
      found.propose(RepairKind::kCreationSite,
                    "build the same modules in every rank: nothing that a rank alone knows (its number, its data, a "
                    "random number) may decide about them");
      return;
    case Difference::kOrder:
      found.propose(
          RepairKind::kCreationSite,
          "register the modules in the same order in every rank: iterate over a list, or sorted(...), not over "
          "a set");
      return;
    case Difference::kShape:
      found.propose(
          RepairKind::kCreationSite,
          "take sizes from what all ranks share (the configuration, a broadcast number), not from a rank's own "
          "data");
      return;
    case Difference::kDtype:
      found.propose(RepairKind::kCreationSite, "cast the model to the same dtype in every rank");
      return;
    case Difference::kGradient:
      found.propose(RepairKind::kCreationSite, "freeze the same parameters in every rank, before the model is wrapped");
      return;
    default:
      found.propose(RepairKind::kCreationSite, "move the model to its rank's GPU in every rank, before it is wrapped");
  }
}

bool is_replicated(const RankModel& model) { return std::ranges::find(model.wrappers, "DDP") != model.wrappers.end(); }

}  // namespace

// Data parallelism adds up gradients by position: every rank must hold the same parameters in the same order.
std::vector<RankHypothesis> differing_models(const Job& job) {
  std::map<std::string, std::vector<const RankFacts*>> groups;  // by what the model holds, and where
  bool refused = false;
  bool replicated = true;
  bool stuck = false;
  for (const RankFacts* rank : job.ranks()) {
    refused = refused || is_refused(*rank);
    stuck = stuck || Job::waiting(*rank) != nullptr;
    if (rank->models.empty()) continue;
    const RankModel& model = rank->models.front();
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
  const RankModel& usual = most->second.front()->models.front();
  std::vector<int> usual_ranks;
  for (const RankFacts* rank : most->second) usual_ranks.push_back(rank->process.rank);
  First first;
  for (const auto& [key, ranks] : groups) {
    if (&ranks == &most->second) continue;
    std::vector<int> numbers;
    for (const RankFacts* rank : ranks) numbers.push_back(rank->process.rank);
    const RankModel& odd = ranks.front()->models.front();
    if (odd.type != usual.type && !refused && !replicated) return {};  // two programs, not one model
    const First here = compare(usual, odd, usual_ranks, numbers);
    if (here.difference == Difference::kNone) continue;
    if (first.difference == Difference::kNone) first = here;
    found.saw(found.score == 0 ? (refused || replicated ? 60 : 50) : 0, here.sentence);
    found.ranks.insert(found.ranks.end(), numbers.begin(), numbers.end());
    if (usual.count != odd.count) {
      found.saw(5, "They hold " + std::to_string(usual.count) + " and " + std::to_string(odd.count) +
                       " parameters and buffers.");
    }
  }
  if (first.difference == Difference::kNone) return {};
  std::ranges::sort(found.ranks);
  if (refused) found.saw(35, "DDP compares the models when it wraps them, and refuses.");
  if (replicated) found.saw(10, "DDP adds up the gradients of all ranks by position.");
  for (const RankFacts* rank : job.ranks()) {
    if (is_refused(*rank) || Job::is_victim(*rank)) found.explains.push_back(rank->process.rank);
    if (is_refused(*rank) && rank->where.is_known() && found.sites.empty()) found.sites.push_back(rank->where);
  }
  found.title = form(found.ranks, "the model of ", "the models of ") + ranks_text(found.ranks) +
                form(found.ranks, " differs from ", " differ from ") + form(usual_ranks, "that of ", "those of ") +
                ranks_text(usual_ranks);
  found.about = usual.type + "\n" + first.sentence.substr(first.sentence.find('`'));
  found.severity = job.any_failed() ? model::Severity::kError : model::Severity::kWarning;
  propose(found, first.difference);
  return {found};
}

}  // namespace devsan::diagnose::ranks
