#include "diagnose/causes.h"
#include "diagnose/edits.h"
#include "diagnose/signs.h"
#include "diagnose/source_text.h"

#include <algorithm>

namespace devsan::diagnose {

using model::Message;
using model::Operand;
using model::OperandKind;
using model::RepairKind;

namespace {

/// The operand to move: one that is alone on its device, unless it is what the model gave; else by its name, or its kind.
const Operand* label_side(const Scene& scene) {
  const Operand* alone = scene.outnumbered();
  if (alone != nullptr && alone->role != "self" && alone->role != "input") return alone;
  for (const Operand& operand : scene.operands()) {
    if (operand.role == "target" || Scene::is_called(operand, {"label", "target", "num_items", "tr_loss", "total"})) {
      return &operand;
    }
  }
  for (const Operand& operand : scene.operands()) {
    if (operand.kind == OperandKind::kInput) return &operand;
  }
  return nullptr;
}

bool is_clipping(const Scene& scene) {
  return scene.runs_function({"clip_grad_norm_", "clip_grad_norm", "get_total_norm", "clip_gradients"});
}

}  // namespace

// The end of a step: what comes out of the last stage meets the labels, a count, a running total, or its like from
// another device. The small side is the one to move.
std::optional<Hypothesis> reduction_boundary(const Scene& scene) {
  const bool original = scene.sentence_has("Calculated loss must be on the original device");
  if (!scene.is_mismatch() && !original) return std::nullopt;
  Hypothesis found(code::kReductionBoundary);
  if (original) {
    found.saw(95, "The Trainer keeps its running loss on its own device and refuses a loss from another.");
    found.title = "the loss is not on the device of the running total";
    found.propose(RepairKind::kUseSite,
                  "return the loss on the trainer's device: loss.to(self.args.device), one number");
    return found;
  }
  if (is_loss_boundary(scene)) {
    const auto totals = [&](const Operand& operand) { return is_running_total(scene, operand); };
    const bool total = std::any_of(scene.operands().begin(), scene.operands().end(), totals);
    found.saw(70, total ? "The operation adds to a number that is kept: a total."
                        : "The operation is a loss, or a sum of losses: it joins the last stage with the batch.");
    const Operand* labels = label_side(scene);
    if (labels == nullptr && !scene.operands().empty()) {
      labels = &scene.operands().front();
      if (const Operand* partner = scene.partner_of(*labels)) labels = &smaller_of(*labels, *partner);
    }
    const Operand* partner = labels == nullptr ? nullptr : scene.partner_of(*labels);
    if (partner != nullptr) {
      found.operands = {scene.index_of(*labels), scene.index_of(*partner)};
      const std::vector<model::Argument> both = {{"name", name_of(*labels)},
                                                 {"device", labels->device.str()},
                                                 {"other", name_of(*partner)},
                                                 {"other_device", partner->device.str()}};
      if (scene.across_gpus() && !total) {
        found.saw(20,
                  {"{name} on {device} is on the side of the batch, {other} on {other_device} comes from the model's "
                   "last stage.",
                   both});
      }
      const model::Event* placed = placement_of(labels->trail);
      const bool chosen = placed != nullptr && labels->device.is_accelerator() &&
                          source_of(*placed) == model::DeviceSource::kLiteral;  // a total that was put there
      if (is_running_total(scene, *labels)) {
        found.saw(20, {"{name} is a total that outlives the step.", {{"name", name_of(*labels)}}});
      } else if (placed != nullptr && placed->kind == model::EventKind::kMade && !chosen &&
                 scene.made_for_use(*placed)) {
        found.score -= 45;  // a target that the loss itself creates: a fresh tensor
      } else if (labels->device.is_host() && labels->kind == OperandKind::kInput && !scene.model_spans_gpus()) {
        found.score -= 25;  // a batch that nobody moved
      }
      found.origin = placed;
      found.title =
          total
              ? Message{"the total {name} on {device} meets {other} on {other_device}", both}
              : Message{"{name} is on {device} with the batch, {other} is on {other_device} with the last stage", both};
      found.propose(move_at_use(scene, *labels, *partner));
    } else {
      found.title = "the loss meets a tensor of another device";
    }
    if (scene.model_spans_gpus()) found.saw(15, "The model ends on another GPU than it begins.");
    return found;
  }
  if (combines_a_list(scene) && std::none_of(scene.operands().begin(), scene.operands().end(), is_generation_state)) {
    found.saw(40, "The operation combines a list whose elements are on several devices.");
    if (combines_results(scene))
      found.saw(25, "Its elements are numbers or vectors, as norms, counts and metrics are.");
    if (is_clipping(scene)) found.saw(30, "It runs while gradients are clipped: one norm for each device.");
    if (scene.is_wrapped_by("torch.nn.DataParallel")) found.saw(20, "They are results of DataParallel's replicas.");
    found.title = "results of several devices are combined without being brought together";
    for (const Operand& operand : scene.operands()) found.operands.push_back(scene.index_of(operand));
    found.propose(RepairKind::kUseSite,
                  "bring the small results to one device first, then combine them: one list a device");
    return found;
  }
  return std::nullopt;
}

}  // namespace devsan::diagnose
