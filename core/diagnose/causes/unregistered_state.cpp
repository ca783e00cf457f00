#include <algorithm>

#include "diagnose/causes.h"
#include "diagnose/edits.h"
#include "diagnose/from_attribute.h"
#include "diagnose/moves.h"
#include "diagnose/predicates.h"
#include "diagnose/sides.h"
#include "diagnose/source_text.h"

namespace devsan::diagnose {

using model::Event;
using model::FixKind;
using model::Message;
using model::Operand;
using model::OperandKind;

namespace {

/// Whether anything that the model registers is on `device`. A model with all of it elsewhere has not left this one
/// behind; of one that has nothing but this, on the CPU, no move can be seen.
bool model_went_to(const Context& context, const Operand& operand, const model::Device& device) {
  if (context.model() == nullptr) return true;
  const auto devices = context.model()->devices();
  if (devices.empty() && operand.device.is_host()) return true;
  const auto& moves = context.model()->placements;  // Lightning takes its model off the GPU while the exception passes
  return context.is_wrapped_by(model::owners::kDataParallel) ||
         std::any_of(moves.begin(), moves.end(), [&](const Event& move) { return move.device == device; }) ||
         std::any_of(devices.begin(), devices.end(), [&](const model::Device& each) {
           return each == device || each.is_accelerator() == device.is_accelerator();
         });
}

bool is_by_parallel(const Operand& operand) { return is_of_replica(placement_of(operand.provenance)); }

/// A replica of DataParallel's computes with a weight of the module that was copied: what the replicas share, such as a
/// bound method in an attribute, still leads to that module.
std::optional<Hypothesis> reached_original(const Context& context, const Operand& operand, const Operand& partner) {
  if (!is_weight(operand) || !operand.registered || !context.is_wrapped_by(model::owners::kDataParallel) ||
      !context.across_gpus() || is_by_parallel(operand) || !is_by_parallel(partner)) {
    return std::nullopt;
  }
  Hypothesis found(code::kUnregisteredState);
  found.origin = placement_of(operand.provenance);
  found.operands = {context.index_of(operand), context.index_of(partner)};
  const std::vector<model::Argument> both = pair_of(operand, partner);
  found.add_evidence(
      90, {"{name} is a weight of the module that DataParallel copied, and a replica uses it on "
           "{other_device}: an attribute that the replicas share, such as a bound method, leads to that module.",
           both});
  found.title = {"{name} is of the original module on {device}, the replica's {other} is on {other_device}", both};
  found.propose(FixKind::kCreationSite,
                "keep names, not bound methods or modules, in plain attributes, and look them up when they are called: "
                "getattr(self, name)");
  return found;
}

/// Whether a statement outside of a forward keeps it in an attribute of its object: `self.prior = prior.to(device)`.
bool is_assigned_to_self(const Event& placed) {
  const model::Frame* site = placed.site();
  return site != nullptr && site->source.starts_with("self.") && !site->function.ends_with("forward") &&
         site->source.find(" = ") != std::string::npos;
}

/// A replica of DataParallel's meets what neither its copy of the module nor its part of the batch has: every replica is
/// given the one that the module was left with. Of a replica's thread no frame is left to name it.
std::optional<Hypothesis> shared_by_replicas(const Context& context, const Operand& operand, const Operand& partner) {
  const Event* placed = placement_of(operand.provenance);
  if (placed == nullptr || !context.is_wrapped_by(model::owners::kDataParallel) || !context.across_gpus() ||
      is_by_parallel(operand) || !is_by_parallel(partner) || operand.kind == OperandKind::kParameter ||
      operand.kind == OperandKind::kBuffer) {
    return std::nullopt;
  }
  const bool of_module = Context::in_function(*placed, "_apply");  // moved with its module, which no replica copied
  if (!of_module && !is_assigned_to_self(*placed)) return std::nullopt;
  Hypothesis found(code::kUnregisteredState);
  found.origin = placed;
  found.operands = {context.index_of(operand), context.index_of(partner)};
  const std::vector<model::Argument> both = {{"name", name_of(operand)},
                                             {"device", operand.device.str()},
                                             {"at", at_text(*placed)},
                                             {"other", name_of(partner)},
                                             {"other_device", partner.device.str()}};
  found.add_evidence(85,
                     {"{name} was put on {device}{at}, and the replica on {other_device} uses it: DataParallel copies "
                      "parameters and buffers, and splits the batch; all else the replicas share.",
                      both});
  found.title = {"{name} is shared by DataParallel's replicas and is on {device}, {other} is on {other_device}", both};
  if (of_module) {
    found.propose(FixKind::kCreationSite, "keep the modules in nn.ModuleList or nn.ModuleDict");
  } else {
    found.propose(register_where_made(context, operand, placed));
  }
  return found;
}

/// An object that holds the batch has moved the rest of what it holds, by a method of its own, and passed this by.
std::optional<Hypothesis> passed_by(const Context& context, const Operand& operand, const Operand& partner) {
  if (operand.moved_part.empty() || !context.across_gpus()) return std::nullopt;
  const Event* placed = placement_of(operand.provenance);
  const Event* other = placement_of(partner.provenance);
  const auto came = [](const Event* event) { return event != nullptr && event->kind == model::EventKind::kMoved; };
  if (!partner.moved_part.empty() && came(placed) && !came(other)) return std::nullopt;  // it is what was moved
  Hypothesis found(code::kUnregisteredState);
  found.origin = placed;
  found.operands = {context.index_of(operand), context.index_of(partner)};
  const std::vector<model::Argument> both = {{"name", name_of(operand)},        {"device", operand.device.str()},
                                             {"part", quoted(operand.left_in)}, {"moved", quoted(operand.moved_part)},
                                             {"other", name_of(partner)},       {"other_device", partner.device.str()}};
  const bool itself = operand.name == operand.left_in;
  found.add_evidence(90,
                     {itself ? "{name} is on {device}; {moved} beside it was moved to {other_device}: what moved the "
                               "one has not moved the other."
                             : "{name} is {part}, on {device}; {moved} beside it was moved to {other_device}: what "
                               "moved the one has not moved the other.",
                      both});
  found.title = {"{name} is {part}, which stayed on {device}; {other} is on {other_device}", both};
  const bool contained = operand.left_in.ends_with(']');
  found.propose(FixKind::kCreationSite, {contained ? "move {part} where {moved} is moved: what moves it passes this by"
                                                   : "move {part} where {moved} is moved: in the object's own `to`",
                                         both});
  found.propose(move_at_use(context, operand, partner));
  return found;
}

/// What a hook of torch's computes before each forward is a plain attribute: a move of the module leaves it where it was,
/// until the next forward.
std::optional<Hypothesis> recomputed(const Context& context, const Operand& operand, const Operand& partner) {
  const Event* placed = placement_of(operand.provenance);
  if (placed == nullptr || !placed->owner.mechanism.starts_with("torch.nn.utils.")) {
    return std::nullopt;
  }
  Hypothesis found(code::kUnregisteredState);
  found.origin = placed;
  found.operands = {context.index_of(operand), context.index_of(partner)};
  const std::vector<model::Argument> facts = {
      {"name", name_of(operand)},       {"weight", quoted(placed->followed)}, {"utility", placed->owner.mechanism},
      {"device", operand.device.str()}, {"other", name_of(partner)},          {"other_device", partner.device.str()}};
  found.add_evidence(
      95, {"{weight} is a plain attribute, which {utility} computes before each forward: the move of its module "
           "moved what it is computed from, and no forward has computed it since.",
           facts});
  found.title = {"{name} is still on {device}: {weight} was not computed since its module was moved", facts};
  found.propose(FixKind::kCreationSite, {"read {weight} after a forward of its module has computed it", facts});
  if (placed->owner.mechanism.ends_with("prune")) {
    found.propose(FixKind::kCreationSite, {"make the pruning permanent before the move: {code}",
                                           {{"code", std::string("torch.nn.utils.prune.remove(module, name)")}}});
  } else {
    found.propose(FixKind::kConfiguration, {"use the functions of {code}, which compute it whenever it is read",
                                            {{"code", std::string("torch.nn.utils.parametrizations")}}});
  }
  return found;
}

/// The attribute that an expression reads: "self.queue" of `self.queue.clone()`; the operand as it is where it is one.
Operand attribute_in(const Operand& operand) {
  Operand kept = operand;
  if (operand.made_of.starts_with("self.")) kept.name = operand.made_of;
  return kept;
}

/// The module that keeps it, by its path and its class: "`0` (Block)".
Message keeper_of(const Context& context, const Operand& operand) {
  if (operand.holder.empty()) return "its module";
  const model::Module* module = context.model() != nullptr ? context.model()->find(operand.holder) : nullptr;
  if (module == nullptr) return operand.holder;
  return {"{path} ({type})", {{"path", quoted(module->path)}, {"type", std::string(last_part(module->type))}}};
}

/// A module keeps it without having registered it. Where the failing line calls it something else, its path tells what.
void weigh_attribute(const Operand& operand, const Message& name, const Message& holder, Hypothesis& found) {
  const std::string_view last = last_part(operand.kept_as);
  const bool named = operand.kept_as.empty() || operand.name.find(last) != std::string::npos;
  found.add_evidence(
      65, {named ? "{name} is a plain attribute of {holder}, not a parameter or buffer, so it does not move with the "
                   "model."
                 : "{name} is {path}, a plain attribute of {holder}, not a parameter or buffer, so it does not move "
                   "with the model.",
           {{"name", name}, {"path", quoted(operand.kept_as)}, {"holder", holder}}});
}

/// The class has a `to` of its own that moves it. Only who calls that moves it: torch.nn.Module reaches the modules below
/// by `_apply` (torch/nn/modules/module.py).
void weigh_override(const Operand& operand, Hypothesis& found) {
  if (!operand.override_at.is_known()) return;
  const std::vector<model::Argument> facts = {{"method", quoted(operand.override_at.function)},
                                              {"place", text_of(&operand.override_at)},
                                              {"holder", operand.holder}};
  found.add_evidence(10, {"{method}, at {place}, moves it, but is called only on {holder} itself: the move of a parent "
                          "module reaches {holder} by `_apply`.",
                          facts});
  found.propose(FixKind::kCreationSite, {"override `_apply` in place of {method}, at {place}: every move goes "
                                         "through it",
                                         facts});
}

/// What torch.load gave and nobody has moved is where its map_location said.
void weigh_loaded(const Operand& operand, const Operand& partner, const Event& loaded, Hypothesis& found) {
  const std::string& setting = loaded.owner.setting;
  const bool said = setting.starts_with("map_location=");
  const std::vector<model::Argument> facts = {
      {"device", place_text(operand.device)}, {"at", at_text(loaded)}, {"setting", quoted(setting)}};
  found.add_evidence(25, said ? Message{"torch.load put it on {device}{at}: {setting}.", facts}
                              : Message{"torch.load put it on {device}{at}, where it was when it was saved.", facts});
  if (Message value = device_value_of(loaded); !value.empty()) found.add_evidence(0, std::move(value));
  const std::string device = operand.device_there.empty() ? "\"" + partner.device.str() + "\"" : operand.device_there;
  const std::string asked = "map_location=" + device;
  std::optional<model::Edit> edit;
  const model::Frame* site = loaded.owner.where.is_known() ? &loaded.owner.where : loaded.written();
  if (said && !operand.device_there.empty() && site != nullptr) {
    if (auto after = with_keyword(site->source, "map_location", operand.device_there)) {
      edit = model::Edit{site->file, site->span.line, site->source, std::move(*after)};
    }
  }
  found.fixes.insert(found.fixes.begin(),
                     model::Fix{FixKind::kCreationSite,
                                {"load it to where {other} is: {code}", {{"other", name_of(partner)}, {"code", asked}}},
                                std::move(edit),
                                model::Confidence::kLikely});
}

/// Whether it was put on its GPU when the model had been placed: no move of the model passed it by.
bool came_after_model(const Context& context, const Operand& operand, const Event* placed) {
  if (placed == nullptr || placed->sequence == 0 || !operand.device.is_accelerator() || context.model() == nullptr ||
      operand.kept_as.ends_with("]")) {
    return false;
  }
  const auto& moves = context.model()->placements;
  return std::any_of(moves.begin(), moves.end(),
                     [&](const Event& move) { return move.sequence > 0 && move.sequence < placed->sequence; }) &&
         !Context::at_construction(*placed);
}

}  // namespace

// A module holds it, but has not registered it: Module.to and the copies of DataParallel pass it by.
std::optional<Hypothesis> unregistered_state(const Context& context) {
  if (!context.is_mismatch()) return std::nullopt;
  std::optional<Hypothesis> best;
  for (const Operand& operand : context.operands()) {
    const bool attribute = operand.kind == OperandKind::kAttribute && !operand.holder.empty();
    const bool global = operand.kind == OperandKind::kGlobal;
    const Operand* partner = context.partner_of(operand);
    if (partner == nullptr) continue;
    if (auto original = reached_original(context, operand, *partner)) return original;
    if (auto shared = shared_by_replicas(context, operand, *partner)) return shared;
    if (auto passed = passed_by(context, operand, *partner)) return passed;
    if (auto left = recomputed(context, operand, *partner)) return left;
    if (auto made = from_attribute(context, operand, *partner)) return made;
    if (!attribute && !global && operand.registered) continue;
    const Event* placed = placement_of(operand.provenance);
    // What a map or a hook placed is a result of the model, which someone keeps: it has not stayed behind.
    const bool mapped = placed != nullptr && source_of(*placed) == model::DeviceSource::kMap;
    if (operand.registered && mapped && placed->owner.is(model::owners::kAccelerate)) continue;
    Hypothesis found(code::kUnregisteredState);
    found.origin = placed;
    found.operands = {context.index_of(operand), context.index_of(*partner)};
    const Event* left = left_by_move(context, operand, *partner);
    const bool replicated = context.is_wrapped_by(model::owners::kDataParallel) && operand.device.is_accelerator();
    const bool late = !replicated && left == nullptr && came_after_model(context, operand, placed);
    const Message name = name_of(operand);
    const Message holder = operand.holder.empty() ? Message("its module") : Message(operand.holder);
    if (!operand.registered) {
      found.add_evidence(
          75, {"{name} belongs to a module that the model does not register: {holder} keeps it in a list, a dict or "
               "an object.",
               {{"name", name}, {"holder", keeper_of(context, operand)}}});
      found.propose(FixKind::kCreationSite, "keep the modules in nn.ModuleList or nn.ModuleDict");
    } else if (const std::string object = plain_object_of(operand); !object.empty()) {
      const std::vector<model::Argument> facts = {
          {"name", name}, {"path", quoted(operand.kept_as)}, {"object", quoted(object)}, {"holder", holder}};
      found.add_evidence(65, {"{name} is {path}: {object} is a plain object that {holder} keeps, not a module, so its "
                              "tensors do not move with the model.",
                              facts});
      found.propose(FixKind::kCreationSite,
                    {"make the class of {object} an nn.Module, and register its tensors as buffers", facts});
    } else if (attribute) {
      const Operand kept = attribute_in(operand);
      weigh_attribute(kept, name_of(kept), holder, found);
      if (late) {
        found.propose(FixKind::kCreationSite,
                      {"move it to {device}, where {other} is, before it is assigned to {name}",
                       {{"device", partner->device.str()}, {"other", name_of(*partner)}, {"name", name}}});
      } else {
        found.propose(register_where_made(context, kept, placed));
      }
      weigh_override(operand, found);
    } else {
      if (!operand.holder.empty()) {
        found.add_evidence(55,
                           {"{name} is kept by the function {function}, in a default argument or a captured variable, "
                            "which no model moves.",
                            {{"name", name}, {"function", quoted(operand.holder)}}});
      } else if (is_of_class(operand)) {
        found.add_evidence(45,
                           {"{name} is {attribute}, an attribute of the class, which all of its instances share and "
                            "no model moves.",
                            {{"name", name}, {"attribute", quoted(operand.kept_as)}}});
      } else {
        found.add_evidence(45, {"{name} is a global of its file or class, which no model moves.", {{"name", name}}});
      }
      if (!is_captured(operand)) found.propose(FixKind::kCreationSite, "make it a buffer of the module that uses it");
      found.propose(move_at_use(context, operand, *partner));
    }
    if (attribute && placed != nullptr && placed->kind == model::EventKind::kLoaded && placed->owner.is("torch.load")) {
      weigh_loaded(operand, *partner, *placed, found);
    } else if (late) {
      found.add_evidence(20, {"It was put on {device}{at}, after the model was placed.",
                              {{"device", operand.device.str()}, {"at", at_text(*placed)}}});
    } else if (is_as_constructed(operand)) {
      found.add_evidence(20, {"It is where it was when it was constructed{at}.", {{"at", at_text(*placed)}}});
    } else if (left != nullptr) {
      found.add_evidence(
          25, {"{holder} was moved to {device}{at}; {name} stayed behind.",
               {{"holder", holder}, {"device", partner->device.str()}, {"at", at_text(*left)}, {"name", name}}});
    } else if ((attribute || !operand.holder.empty()) && placed != nullptr && placed->kind == model::EventKind::kMade &&
               operand.device.is_host() && source_of(*placed) == model::DeviceSource::kDefault &&
               !context.in_failing_call(*placed) && !context.in_earlier_call(*placed)) {
      found.add_evidence(10, {"It was made on the CPU{at}, before the call that failed.", {{"at", at_text(*placed)}}});
    } else if (placed != nullptr && operand.registered && (attribute || global) && !replicated) {
      found.score -= 45;  // remembered by a call: a cache; or made by this one
    }
    if (replicated && (attribute || global)) {
      found.add_evidence(20, "DataParallel's replicas share the one of the first GPU.");
    }
    if (attribute && operand.registered && !model_went_to(context, operand, partner->device)) found.score -= 45;
    // Where the program said which GPU, or took it off one, it would be wrong as a buffer, too.
    const bool by_value = placed != nullptr && operand.device.is_accelerator() && operand.registered && !replicated &&
                          left == nullptr && placed->kind == model::EventKind::kMade &&
                          !device_text_of(*placed).empty();
    if (by_value || (placed != nullptr && is_brought_to_host(*placed))) found.score -= 30;
    if (is_sidecar(operand) || is_generation_state(operand)) found.score -= 50;
    if (follows_default_device(context, operand)) found.score -= 30;
    if (dropped_move_of(context, operand) != nullptr) found.score -= 50;                // someone meant to move it
    if (is_cache_entry(operand) && operand.device.is_accelerator()) found.score -= 45;  // a call made it for its input
    found.title = {"{name} is not registered and stayed on {device}, {other} is on {other_device}",
                   {{"name", name},
                    {"device", place_text(operand.device)},
                    {"other", name_of(*partner)},
                    {"other_device", partner->device.str()}}};
    if (!best || found.score > best->score) best = std::move(found);
  }
  return best;
}

}  // namespace devsan::diagnose
