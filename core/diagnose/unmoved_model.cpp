#include "diagnose/unmoved_model.h"

#include <algorithm>

#include "diagnose/codes.h"
#include "diagnose/moves.h"
#include "diagnose/predicates.h"
#include "diagnose/texts.h"

namespace devsan::diagnose {

using model::Event;
using model::FixKind;
using model::Message;
using model::Operand;

namespace {

/// What the module is called that fails: "the model", unless another one is on a GPU: a criterion with weights is told by
/// its name.
Message called(const Context& context) {
  const auto& all = context.facts().models;
  const model::Model& own = *context.model();
  const bool others =
      std::any_of(all.begin(), all.end(), [&](const model::Model& each) { return &each != &own && is_on_gpu(each); });
  if (!others) return "the model";
  return quoted(own.expression.empty() ? own.type : own.expression);
}

}  // namespace

std::optional<Hypothesis> unmoved_model(const Context& context) {
  if (context.model() == nullptr) return std::nullopt;
  const auto devices = context.model()->devices();
  const auto& moves = context.model()->placements;
  const bool was_moved = std::any_of(moves.begin(), moves.end(), [](const Event& move) {
    return move.subject.empty() && move.device.is_accelerator();
  });
  if (devices.size() != 1 || !devices.front().is_host() || was_moved) return std::nullopt;
  for (const Operand& operand : context.operands()) {
    if (!operand.device.is_host() || !is_weight(operand)) continue;
    const Operand* partner = context.partner_of(operand);
    if (partner == nullptr || !partner->device.is_accelerator() || is_built_for_use(context, operand)) continue;
    Hypothesis found(code::kHostBoundary);
    const Message what = called(context);
    const bool replaced = operand.replaced_at.is_known();
    if (replaced) {
      found.add_evidence(80,
                         {"Every parameter and buffer of {model} is on the CPU; {name} was put there at {place}, in "
                          "the place of the one that {model} had.",
                          {{"model", what}, {"name", name_of(operand)}, {"place", text_of(&operand.replaced_at)}}});
    } else {
      found.add_evidence(
          80, {"Every parameter and buffer of {model} is on the CPU; nothing has moved it.", {{"model", what}}});
    }
    found.operands = {context.index_of(operand), context.index_of(*partner)};
    found.origin = placement_of(operand.provenance);
    // What it is a copy of has moved: then the copy came too early.
    const bool copied = found.origin != nullptr && is_deep_copy(*found.origin);
    if (copied && original_has_moved(context, *partner)) found.score -= 50;
    if (context.is_hooked() || context.setting("offload") != nullptr) found.score -= 50;  // kept there on purpose
    found.title = {"{model} is on the CPU, its input {name} is on {device}",
                   {{"model", what}, {"name", name_of(*partner)}, {"device", partner->device.str()}}};
    const auto& name = context.model()->expression;
    const model::Process& process = context.process();
    // The GPU of one rank is not another's, where each has its own among several.
    const bool is_own = process.set_device_called ? partner->device == process.current_device
                                                  : partner->device.index == process.local_rank;
    const bool in_ranks = process.world_size > 1 && process.device_count > 1 && is_own;
    const std::string device = in_ranks ? own_gpu_code(process) : "\"" + partner->device.str() + "\"";
    found.propose(FixKind::kCreationSite,
                  {replaced ? "move {model} after its weights were replaced: {code}"
                            : "move {model} once, where it is created: {code}",
                   {{"model", what}, {"code", (name.empty() ? "model" : name) + ".to(" + device + ")"}}});
    return found;
  }
  return std::nullopt;
}

}  // namespace devsan::diagnose
