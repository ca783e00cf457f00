#include "diagnose/causes.h"
#include "diagnose/moves.h"
#include "diagnose/predicates.h"

#include <algorithm>

namespace devsan::diagnose {

using model::Event;
using model::FixKind;
using model::Message;
using model::Module;
using model::Operand;

namespace {

/// Whether `event` moved something that a map had placed: what `dispatch` did, or modules with hooks.
bool concerns_hooked(const Context& context, const Event& event, const Event* dispatch) {
  if (dispatch != nullptr &&
      (model::is_under(event.subject, dispatch->subject) || model::is_under(dispatch->subject, event.subject))) {
    return true;
  }
  const auto& modules = context.model()->modules;
  return std::any_of(modules.begin(), modules.end(), [&](const Module& module) {
    return !module.hooks.empty() && model::is_under(module.path, event.subject);
  });
}

/// The first move of the model, or a part, by someone else than who dispatched it, after that; null where there is none.
const Event* second_owner(const Context& context) {
  const Event* dispatch = nullptr;
  const Event* last = nullptr;
  for (const Event& event : context.model()->placements) {
    if (!event.owner.is(model::owners::kAccelerate) && !event.owner.is(model::owners::kTransformers)) continue;
    if (dispatch == nullptr) dispatch = &event;
    last = &event;
  }
  for (const Event& event : context.model()->placements) {
    if (&event == dispatch || event.owner.is(model::owners::kAccelerate) || !event.owner.is_known() ||
        event.owner.is(model::owners::kTransformers) || event.kind != model::EventKind::kMoved) {
      continue;
    }
    if (event.owner.is(model::owners::kPeft)) continue;  // adapters, each to where its layer is
    // What was moved before the map placed anything was not taken from it.
    if (last != nullptr && event.sequence < dispatch->sequence) continue;
    if (concerns_hooked(context, event, dispatch)) return &event;
  }
  return nullptr;
}

/// The map's own placement of what `move` took away; null where the provenance does not go back that far.
const Event* mapped_before(const Operand& torn, const Event& move) {
  const auto mapped = std::find_if(torn.provenance.begin(), torn.provenance.end(), [&](const Event& event) {
    return &event != &move && event.device != move.device &&
           (event.owner.is(model::owners::kAccelerate) || event.owner.is(model::owners::kTransformers));
  });
  return mapped == torn.provenance.end() ? nullptr : &*mapped;
}

}  // namespace

// A map's hooks say where each module computes. Someone moved the weights without telling the hooks.
std::optional<Hypothesis> moved_after_dispatch(const Context& context) {
  if (context.model() == nullptr || !context.is_mismatch()) return std::nullopt;
  Hypothesis found(code::kMovedAfterDispatch);
  const Module* module = disagreeing_hook(context);
  const Event* move = second_owner(context);
  const auto& operands = context.operands();
  const auto torn = std::find_if(operands.begin(), operands.end(), moved_from_map);
  // Nobody came after the map: it says itself two places for one weight (DV105).
  if (move == nullptr && torn == operands.end() && is_torn_by_map(context) != nullptr) return std::nullopt;
  if (module == nullptr && torn == operands.end() && (move == nullptr || !context.across_gpus())) return std::nullopt;
  if (torn != operands.end()) {
    move = moved_from_map(*torn);
    const Event* placed = context.process().world_size > 1 ? mapped_before(*torn, *move) : nullptr;
    // Of several ranks the line that loaded the model is the one to change: it ran before the rank had its GPU.
    if (placed != nullptr) {
      found.add_evidence(80, {"A map had placed {name} on {device}{at}; it was moved to {other_device} by {owner}.",
                              {{"name", name_of(*torn)},
                               {"device", placed->device.str()},
                               {"at", at_text(*placed)},
                               {"other_device", torn->device.str()},
                               {"owner", text_of(move->owner)}}});
    } else {
      found.add_evidence(80, {"A map had placed {name}; it was moved to {device} by {owner}{at}.",
                              {{"name", name_of(*torn)},
                               {"device", torn->device.str()},
                               {"owner", text_of(move->owner)},
                               {"at", at_text(*move)}}});
    }
  }
  const bool about_it =
      module != nullptr && std::any_of(operands.begin(), operands.end(), [&](const Operand& operand) {
        return model::is_under(context.path_of(operand), module->path) && !context.path_of(operand).empty();
      });
  if (!about_it && !context.across_gpus()) return std::nullopt;
  Message first = "the hooks";
  if (module != nullptr) {
    const model::Hook& hook = module->hooks.front();
    const auto tensor = std::find_if(module->tensors.begin(), module->tensors.end(), [&](const auto& each) {
      return each.device.is_accelerator() && each.device != hook.execution_device;
    });
    found.add_evidence(70, {"The hook of {module} brings its inputs to {device}, its {name} is on {other_device}.",
                            {{"module", module->path},
                             {"device", hook.execution_device.str()},
                             {"name", tensor->name},
                             {"other_device", tensor->device.str()}}});
    first = text_of(hook.owner);
    if (about_it) found.add_evidence(45, "The failing operation uses this module's own tensor.");
  }
  if (move != nullptr) {
    found.origin = move;
    found.add_evidence(module != nullptr ? 15 : 50,
                       {"{owner} moved {module} to {device}{at}, after it had been dispatched.",
                        {{"owner", text_of(move->owner)},
                         {"module", move->subject.empty() ? Message("the model") : Message(move->subject)},
                         {"device", move->device.str()},
                         {"at", at_text(*move)}}});
  }
  if (context.process().world_size > 1 && context.model()->device_map.size() > 1) {
    found.add_evidence(15, {"There is {n} rank with one GPU, and the map spreads the model over several.",
                            "There are {n} ranks, each with one GPU, and the map spreads the model over several.",
                            context.process().world_size});
    found.propose(FixKind::kConfiguration,
                  {"one owner for the ranks: no device_map, or device_map={map}; sharding by map needs one process",
                   {{"map", std::string("{\"\": local_rank}")}}});
  }
  for (const Operand& operand : context.operands()) found.operands.push_back(context.index_of(operand));
  const Message where = module == nullptr ? Message("the model") : Message(module->path);
  found.title = {"the weights and the hooks of {module} disagree: two owners, {owner}",
                 {{"module", where}, {"owner", first}}};
  if (move != nullptr) {
    found.title = {"the weights and the hooks of {module} disagree: two owners, {owner} and {other_owner}",
                   {{"module", where}, {"owner", first}, {"other_owner", text_of(move->owner)}}};
  }
  if (move != nullptr && move->owner.is(model::owners::kProgram)) {
    found.propose(FixKind::kConfiguration,
                  {"leave out the move of the dispatched model{at}", {{"at", at_text(*move)}}});
  }
  if (move != nullptr && move->subject.empty() && context.model()->device_map.size() > 1) {
    found.propose(FixKind::kConfiguration,
                  {"load the model without device_map, so that {owner} alone places it, on {device}",
                   {{"owner", text_of(move->owner)}, {"device", move->device.str()}}});
  }
  if (context.process().world_size > 1 || context.is_wrapped_by("lightning")) {
    found.propose(FixKind::kConfiguration,
                  {"load the model on its rank's GPU: {code}",
                   {{"code", std::string("device_map={\"\": int(os.environ[\"LOCAL_RANK\"])}")}}});
  }
  found.propose(FixKind::kMap, {"remove the hooks before another owner places it: {code}",
                                {{"code", std::string("accelerate.hooks.remove_hook_from_submodules(model)")}}});
  return found;
}

}  // namespace devsan::diagnose
