#include "diagnose/left_behind.h"

#include <algorithm>
#include <string>
#include <vector>

#include "diagnose/codes.h"
#include "diagnose/predicates.h"

namespace devsan::diagnose {

using model::Event;
using model::Operand;

namespace {

/// Whether other modules stand in the module that holds it.
bool is_beside_modules(const Context& context, const std::string& path) {
  const std::string around(model::parent_of(path));
  return std::ranges::any_of(context.model()->modules, [&](const model::Module& module) {
    return module.path != around && model::is_under(module.path, around);
  });
}

}  // namespace

std::optional<Hypothesis> left_behind(const Context& context) {
  if (context.model() == nullptr || !context.across_gpus()) return std::nullopt;
  for (const Operand& operand : context.operands()) {
    const Operand* partner = context.partner_of(operand);
    const Event* whole = placement_of(operand.provenance);
    const Event* part = partner == nullptr ? nullptr : placement_of(partner->provenance);
    const std::string path = context.path_of(operand);
    if (part == nullptr || whole == nullptr || !is_weight(operand) || is_weight(*partner) || path.empty()) continue;
    if (part->op != "Module.to" || whole->op != "Module.to" || !is_beside_modules(context, path)) continue;
    const bool together = std::ranges::any_of(partner->provenance, [&](const Event& event) {
      return &event != part && event.op == "Module.to" && is_of_same_statement(event, whole);
    });
    if (!together) continue;
    Hypothesis found(code::kMapGap);
    found.origin = whole;
    found.operands = {context.index_of(operand), context.index_of(*partner)};
    std::vector<model::Argument> facts = pair_of(operand, *partner);
    facts.push_back({"at", at_text(*whole)});
    facts.push_back({"to", at_text(*part)});
    found.add_evidence(90, {"The model was moved to {device}{at}, and a part of it on to {other_device}{to}; {name} is "
                            "in none of the modules that were moved on, so it is still on {device}.",
                            facts});
    found.title = {"{name} was left on {device} when the part that {other} comes from was moved to {other_device}",
                   facts};
    found.propose(model::FixKind::kCreationSite,
                  {"move {name} to {other_device} as well, where the part is moved{to}", facts});
    return found;
  }
  return std::nullopt;
}

}  // namespace devsan::diagnose
