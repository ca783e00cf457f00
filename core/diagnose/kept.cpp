#include "diagnose/kept.h"

#include <algorithm>

#include "diagnose/edits.h"
#include "diagnose/moves.h"
#include "diagnose/predicates.h"

namespace devsan::diagnose {

using model::Event;
using model::FixKind;
using model::Message;
using model::Operand;
using model::OperandKind;

namespace {

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

/// Whether a module, by its path or its class, is one whose weights the model moves.
bool is_in_model(const Context& context, const std::string& holder) {
  if (context.model() == nullptr) return false;
  const auto& all = context.model()->modules;
  return std::any_of(all.begin(), all.end(), [&](const model::Module& module) {
    const bool is_it = module.path == holder || last_part(module.type) == holder;
    return is_it && std::any_of(all.begin(), all.end(), [&](const model::Module& each) {
             return model::is_under(each.path, module.path) && !each.tensors.empty();
           });
  });
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

}  // namespace

Kept::Kept(const Context& context, const Operand& its_operand, const Operand& its_partner)
    : operand(its_operand),
      partner(its_partner),
      name(name_of(operand)),
      holder(operand.holder.empty() ? Message("its module") : Message(operand.holder)),
      placed(placement_of(operand.provenance)),
      left(left_by_move(context, operand, partner)),
      is_attribute(operand.kind == OperandKind::kAttribute && !operand.holder.empty()),
      is_global(operand.kind == OperandKind::kGlobal),
      is_replicated(context.is_wrapped_by(model::owners::kDataParallel) && operand.device.is_accelerator()),
      is_late(!is_replicated && left == nullptr && came_after_model(context, operand, placed)) {}

void tell_what_keeps_it(const Context& context, const Kept& kept, Hypothesis& found) {
  const Operand& operand = kept.operand;
  if (!operand.registered) {
    found.add_evidence(
        75, {"{name} belongs to a module that the model does not register: {holder} keeps it in a list, a dict or "
             "an object.",
             {{"name", kept.name}, {"holder", keeper_of(context, operand)}}});
    found.propose(FixKind::kCreationSite, "keep the modules in nn.ModuleList or nn.ModuleDict");
    return;
  }
  if (const std::string object = plain_object_of(operand); !object.empty()) {
    const std::vector<model::Argument> facts = {
        {"name", kept.name}, {"path", quoted(operand.kept_as)}, {"object", quoted(object)}, {"holder", kept.holder}};
    found.add_evidence(65, {"{name} is {path}: {object} is a plain object that {holder} keeps, not a module, so its "
                            "tensors do not move with the model.",
                            facts});
    found.propose(FixKind::kCreationSite,
                  {"make the class of {object} an nn.Module, and register its tensors as buffers", facts});
    return;
  }
  if (kept.is_attribute) {
    const Operand attribute = attribute_in(operand);
    weigh_attribute(attribute, name_of(attribute), kept.holder, found);
    if (kept.is_late) {
      found.propose(FixKind::kCreationSite,
                    {"move it to {device}, where {other} is, before it is assigned to {name}",
                     {{"device", kept.partner.device.str()}, {"other", name_of(kept.partner)}, {"name", kept.name}}});
    } else {
      found.propose(register_where_made(context, attribute, kept.placed));
      if (kept.left == nullptr && !is_in_model(context, operand.holder)) {
        found.add_evidence(0, {"No move of {holder} itself was recorded; a buffer moves only with its module.",
                               {{"holder", kept.holder}}});
      }
    }
    weigh_override(operand, found);
    return;
  }
  if (!operand.holder.empty()) {
    found.add_evidence(55, {"{name} is kept by the function {function}, in a default argument, a captured variable or "
                            "an argument bound by functools.partial, which no model moves.",
                            {{"name", kept.name}, {"function", quoted(operand.holder)}}});
  } else if (is_of_class(operand)) {
    found.add_evidence(45, {"{name} is {attribute}, an attribute of the class, which all of its instances share and "
                            "no model moves.",
                            {{"name", kept.name}, {"attribute", quoted(operand.kept_as)}}});
  } else {
    found.add_evidence(45, {"{name} is a global of its file or class, which no model moves.", {{"name", kept.name}}});
  }
  if (!is_captured(operand)) found.propose(FixKind::kCreationSite, "make it a buffer of the module that uses it");
  found.propose(move_at_use(context, operand, kept.partner));
}

}  // namespace devsan::diagnose
