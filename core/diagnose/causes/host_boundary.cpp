#include "diagnose/causes.h"
#include "diagnose/edits.h"
#include "diagnose/signs.h"
#include "diagnose/source_text.h"

#include <algorithm>

namespace devsan::diagnose {

using model::Confidence;
using model::Event;
using model::Message;
using model::Operand;
using model::OperandKind;
using model::RepairKind;
using model::SentenceKind;

namespace {

std::optional<Hypothesis> numpy(const Scene& scene) {
  Hypothesis found(code::kHostBoundary);
  found.saw(70, "NumPy reads host memory only.");
  found.title = "a GPU tensor is given to NumPy";
  if (!scene.operands().empty()) {
    const Operand& operand = scene.operands().front();
    found.operands = {0};
    found.title = {"{name} on {device} is given to NumPy",
                   {{"name", name_of(operand)}, {"device", operand.device.str()}}};
    found.origin = placement_of(operand.trail);
    if (follows_default_device(scene, operand)) found.score -= 40;
  }
  found.propose(RepairKind::kUseSite, "convert at the consumer: `.detach().cpu().numpy()`, outside of hot loops");
  return found;
}

std::optional<Hypothesis> collective(const Scene& scene) {
  if (!scene.sentence_has("No backend type associated with device type cpu") &&
      !scene.sentence_has("Tensors must be CUDA and dense")) {
    return std::nullopt;
  }
  Hypothesis found(code::kHostBoundary);
  found.saw(90, "NCCL moves GPU tensors only, and the collective was given a CPU tensor.");
  found.title = "a CPU tensor is given to a collective of NCCL";
  if (!scene.operands().empty()) {
    found.operands = {0};
    found.origin = placement_of(scene.operands().front().trail);
    found.title = {"{name} is on the CPU, the process group is NCCL's", {{"name", name_of(scene.operands().front())}}};
  }
  found.propose(RepairKind::kConfiguration,
                "give the group a backend for the CPU as well: init_process_group(\"cpu:gloo,cuda:nccl\")");
  found.propose(RepairKind::kUseSite, "move the tensor to the rank's GPU before the collective");
  return found;
}

/// The model is on the host as a whole, and what it is given is not.
std::optional<Hypothesis> model_left_behind(const Scene& scene) {
  if (scene.model() == nullptr) return std::nullopt;
  const auto devices = scene.model()->devices();
  if (devices.size() != 1 || !devices.front().is_host()) return std::nullopt;
  for (const Operand& operand : scene.operands()) {
    if (!operand.device.is_host() ||
        (operand.kind != OperandKind::kParameter && operand.kind != OperandKind::kBuffer)) {
      continue;
    }
    const Operand* partner = scene.partner_of(operand);
    if (partner == nullptr || !partner->device.is_accelerator() || is_built_for_use(scene, operand)) continue;
    Hypothesis found(code::kHostBoundary);
    found.saw(80, "Every parameter and buffer of the model is on the CPU; nobody has moved it.");
    found.operands = {scene.index_of(operand), scene.index_of(*partner)};
    found.origin = placement_of(operand.trail);
    if (scene.is_hooked() || scene.setting("offload") != nullptr) found.score -= 50;  // kept there on purpose
    found.title = {"the model is on the CPU, its input {name} is on {device}",
                   {{"name", name_of(*partner)}, {"device", partner->device.str()}}};
    const auto& name = scene.model()->expression;
    found.propose(RepairKind::kCreationSite,
                  {"move the model once, where it is made: {code}",
                   {{"code", (name.empty() ? "model" : name) + ".to(\"" + partner->device.str() + "\")"}}});
    return found;
  }
  return std::nullopt;
}

}  // namespace

// The edge between the host and the GPU: an input that nobody moved, a move whose result was dropped, a second name that
// was bound before the move, NumPy, a collective on a host tensor.
std::optional<Hypothesis> host_boundary(const Scene& scene) {
  if (scene.failure().kind == SentenceKind::kNumpy) return numpy(scene);
  if (scene.failure().kind == SentenceKind::kGroup) return collective(scene);
  if (!scene.host_meets_gpu()) return std::nullopt;
  std::optional<Hypothesis> best = model_left_behind(scene);
  for (const Operand& operand : scene.operands()) {
    if (!operand.device.is_host() || operand.kind == OperandKind::kParameter || operand.kind == OperandKind::kBuffer ||
        operand.kind == OperandKind::kOptimizerState || !operand.registered) {
      continue;
    }
    const bool attribute = operand.kind == OperandKind::kAttribute;
    if (attribute && !operand.holder.empty()) continue;  // a module's: whether it is registered is the question
    if (operand.kind == OperandKind::kGlobal && operand.copies.empty()) continue;  // a constant: not data
    const Operand* partner = scene.partner_of(operand);
    if (partner == nullptr || is_sidecar(operand) || is_generation_state(operand)) continue;
    const Event* placed = placement_of(operand.trail);
    Hypothesis found(code::kHostBoundary);
    found.origin = placed;
    found.operands = {scene.index_of(operand), scene.index_of(*partner)};
    found.title = {"{name} is still on the CPU, {other} is on {other_device}",
                   {{"name", name_of(operand)}, {"other", name_of(*partner)}, {"other_device", partner->device.str()}}};
    const Message name = name_of(operand);
    const Message at = placed == nullptr ? Message() : at_text(*placed);
    if (attribute && (placed == nullptr || !scene.in_failing_call(*placed))) {
      found.saw(
          65, {"{name} is kept on the CPU by an object that is no module{at}: what moves the model does not reach it.",
               {{"name", name}, {"at", at}}});
    } else if (operand.kind == OperandKind::kInput) {
      if (operand.copies.empty()) {
        found.saw(70, {"{name} came with the data, and nothing has moved it from the CPU.", {{"name", name}}});
      } else {
        found.saw(70, {"{name} came with the data, on the CPU.", {{"name", name}}});
      }
    } else if (placed != nullptr && wraps_host_memory(*placed)) {
      found.saw(70, {"{name} is memory of NumPy's{at}, which is host memory, and nothing has moved it.",
                     {{"name", name}, {"at", at}}});
    } else if (placed != nullptr && is_brought_to_host(*placed)) {
      found.saw(50, {"{name} was brought to the CPU{at}.", {{"name", name}, {"at", at}}});
    } else if (placed != nullptr && placed->op.empty() && placed->kind == model::EventKind::kMade) {
      found.saw(55, {"{name} was computed on the CPU{at}, from CPU tensors.", {{"name", name}, {"at", at}}});
    } else if (placed != nullptr && !scene.made_for_use(*placed) && scene.failure().kind != SentenceKind::kGradient) {
      if (operand.copies.empty()) {
        found.saw(60, {"{name} was made on the CPU outside of the call that failed{at}, and nothing has moved it.",
                       {{"name", name}, {"at", at}}});
      } else {
        found.saw(60,
                  {"{name} was made on the CPU outside of the call that failed{at}.", {{"name", name}, {"at", at}}});
      }
    }
    if (placed != nullptr && placed->owner.is(model::owners::kDataLoader)) {
      found.saw(15, "It is from a DataLoader, whose tensors are on the CPU.");
    }
    const auto dropped =
        std::find_if(operand.copies.begin(), operand.copies.end(), [](const Event& copy) { return copy.discarded; });
    if (dropped != operand.copies.end()) {
      found.saw(60, {"It was moved{at}, and the result was thrown away: Tensor.to returns a copy.",
                     {{"at", at_text(*dropped)}}});
      const model::Frame* site = dropped->site();
      std::optional<model::Edit> edit;
      if (site != nullptr && site->source.starts_with(operand.name + ".")) {
        edit = model::Edit{site->file, site->span.line, site->source, operand.name + " = " + site->source};
      }
      found.propose(RepairKind::kCreationSite,
                    {"keep the result of the move: {code}", {{"code", operand.best_name() + " = ..."}}},
                    Confidence::kCertain, std::move(edit));
    } else if (!operand.copies.empty()) {
      const Event& copy = operand.copies.front();
      found.saw(60, {"A copy of it was moved to {device}{at}, and this name still means the original.",
                     {{"device", copy.device.str()}, {"at", at_text(copy)}}});
      found.propose(RepairKind::kCreationSite, {"bind {name} after the move, not before it", {{"name", name}}});
    }
    if (found.score == 0) continue;
    // A table of numbers goes to the index, once; rows that are kept on the host stay, and the index comes.
    const bool table = operand.shape && operand.shape->size() == 1;
    if (scene.failure().kind == SentenceKind::kIndex && !table) {
      found.propose(move_at_use(scene, *partner, operand));
    } else {
      found.propose(RepairKind::kCreationSite,
                    attribute ? "create or load it on the device of what it meets, or move it when the model is moved"
                              : "move the data once, where it enters: the collate function, the loop's first line or "
                                "the wrapper");
      found.propose(move_at_use(scene, operand, *partner));
    }
    if (!best || found.score > best->score) best = std::move(found);
  }
  return best;
}

}  // namespace devsan::diagnose
