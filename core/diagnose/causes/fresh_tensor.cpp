#include "diagnose/causes.h"
#include "diagnose/edits.h"
#include "diagnose/signs.h"
#include "diagnose/source_text.h"

namespace devsan::diagnose {

using model::DeviceSource;
using model::Event;
using model::EventKind;
using model::Message;
using model::Operand;
using model::OperandKind;

namespace {

int weight_of(DeviceSource source) {
  switch (source) {
    case DeviceSource::kDefault:
      return 70;
    case DeviceSource::kCurrent:
      return 50;
    case DeviceSource::kLiteral:
      return 40;
    default:
      return 0;
  }
}

Message how_created(const Operand& operand, const Event& made) {
  std::vector<model::Argument> arguments = {
      {"name", name_of(operand)}, {"device", place_text(operand.device)}, {"at", at_text(made)}};
  if (source_of(made) == DeviceSource::kDefault) {
    return {"{name} is created without a device and so comes to be on {device}{at}.", std::move(arguments)};
  }
  arguments.push_back({"value", quoted(device_text_of(made))});
  if (source_of(made) == DeviceSource::kCurrent) {
    return {"{name} is created on the current device, {value}, and so comes to be on {device}{at}.",
            std::move(arguments)};
  }
  return {"{name} is created on a fixed device, {value}, and so comes to be on {device}{at}.", std::move(arguments)};
}

}  // namespace

// A factory without a device, or with one that is written down, makes a tensor next to the operation that needs it. One
// edit at the factory repairs it.
std::optional<Hypothesis> fresh_tensor(const Scene& scene) {
  if (!scene.is_mismatch()) return std::nullopt;
  std::optional<Hypothesis> best;
  for (const Operand& operand : scene.operands()) {
    const Event* made = placement_of(operand.trail);
    if (made == nullptr || made->kind != EventKind::kMade || operand.device.is_meta()) continue;
    const bool built = is_built_for_use(scene, operand);
    if (operand.kind == OperandKind::kParameter || (operand.kind == OperandKind::kBuffer && !built) ||
        !operand.registered) {
      continue;
    }
    if (operand.kind == OperandKind::kGenerator || operand.kind == OperandKind::kNumber) continue;
    if (operand.kind == OperandKind::kOptimizerState || operand.kind == OperandKind::kCache) continue;
    if (scene.is_placed_by_map(operand) || made->owner.is(model::owners::kDataLoader)) continue;
    if (!operand.output_of.empty()) continue;  // a module made it of something else
    if (wraps_host_memory(*made)) continue;    // no device could be named there
    const Operand* partner = scene.partner_of(operand);
    const int weight = weight_of(source_of(*made));
    if (partner == nullptr || weight == 0) continue;

    Hypothesis found(code::kFreshTensor);
    found.origin = made;
    found.operands = {scene.index_of(operand), scene.index_of(*partner)};
    found.saw(weight, how_created(operand, *made));
    // What is kept may have been made by the same function in an earlier call.
    const bool kept = operand.kind == OperandKind::kAttribute || operand.kind == OperandKind::kGlobal;
    // The gradient that a backward returned was made by it, though its frame is gone.
    const bool returned =
        scene.failure().kind == model::SentenceKind::kGradient && Scene::in_function(*made, "backward");
    const bool here = returned || built || (kept ? scene.in_failing_call(*made) : scene.made_for_use(*made));
    if (here) {
      found.saw(20, built ? "The module that holds it is built in the call that failed, for this use."
                          : "It is created in the call that failed, beside its use.");
    } else {
      found.score -= operand.kind == OperandKind::kInput || operand.kind == OperandKind::kAttribute ? 60 : 35;
    }
    if (operand.kind == OperandKind::kAttribute && !operand.holder.empty() && Scene::at_construction(*made)) {
      found.score -= 40;
    }
    if (operand.kind == OperandKind::kInput) found.score -= 20;
    if (!made->owner.is(model::owners::kProgram) && made->owner.is_known()) {
      found.saw(10, {"The code that creates it is not this program's: {owner}.", {{"owner", made->owner.name}}});
    } else if (scene.model_spans_gpus() && source_of(*made) != DeviceSource::kDefault) {
      found.score -= 30;  // one device value for a model that spans several
    }
    if (follows_default_device(scene, operand)) found.score -= 40;
    // A device that is written down is rarely the mistake where the other side is on the host.
    if (operand.device.is_accelerator() && partner->device.is_host()) found.score -= 25;
    if (is_running_total(scene, operand)) found.score -= 40;
    if (is_sidecar(operand) || is_generation_state(operand)) found.score -= 40;
    found.title = {"{name} is created on {device}, where nothing that it meets is; {other} is on {other_device}",
                   {{"name", name_of(operand)},
                    {"device", place_text(operand.device)},
                    {"other", name_of(*partner)},
                    {"other_device", partner->device.str()}}};
    found.propose(create_with(scene, operand, *made, *partner));
    // Of two that weigh the same the one that torch names: the others are together.
    const bool named =
        best && found.score == best->score && operand.odd && !scene.operands()[best->operands.front()].odd;
    if (!best || found.score > best->score || named) best = std::move(found);
  }
  return best;
}

}  // namespace devsan::diagnose
