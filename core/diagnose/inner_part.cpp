#include "diagnose/inner_part.h"

#include <algorithm>

namespace devsan::diagnose {

using model::Event;
using model::EventKind;
using model::Operand;

namespace {

/// The part whose placing `event` belongs to; "" where that is no part. A dispatch places the modules of its part one by
/// one, and leaves its map on the part.
std::string part_of(const model::Model& model, const Event& event) {
  for (const std::string& mapped : model.mapped) {
    if (!mapped.empty() && model::is_under(event.subject, mapped)) return mapped;
  }
  return event.op == "Module.to" ? event.subject : "";
}

/// The outermost module that holds the tensor at `path` and does not hold `part`.
std::string outside_of(std::string_view path, std::string_view part) {
  std::string_view module = model::parent_of(path);
  while (!model::is_under(part, model::parent_of(module))) module = model::parent_of(module);
  return std::string(module);
}

/// The only module outside of `part` with tensors on the host, of which a result without a path has to be; "" where there
/// are none or several.
std::string only_one_outside(const model::Model& model, std::string_view part) {
  std::string found;
  for (const model::Module& module : model.modules) {
    const bool on_host =
        std::ranges::any_of(module.tensors, [](const model::ModuleTensor& each) { return each.device.is_host(); });
    if (!on_host || module.path.empty() || model::is_under(module.path, part)) continue;
    const std::string outermost = outside_of(module.path + ".", part);
    if (!found.empty() && found != outermost) return "";
    found = outermost;
  }
  return found;
}

}  // namespace

std::optional<InnerPart> inner_part(const Context& context, const Operand& operand, const Operand& partner) {
  const std::string path = context.path_of(operand);
  const Event* placed = placement_of(operand.provenance);
  const bool own = !path.empty() && model::parent_of(path).empty();  // the root's
  if (context.model() == nullptr || own || !operand.device.is_host() ||
      (placed != nullptr && placed->kind == EventKind::kMoved)) {
    return std::nullopt;
  }
  const model::Model& model = *context.model();
  InnerPart found{nullptr, "", ""};
  for (const Event& event : model.placements) {
    if (!event.device.is_accelerator()) continue;
    const std::string part = part_of(model, event);
    // Parts that were placed one by one are a list that it is not in.
    if (part.empty() || model::is_under(path, part) || (found.placed != nullptr && part != found.part)) {
      return std::nullopt;
    }
    if (found.placed == nullptr) found = {&event, part, ""};
  }
  const std::string other = context.path_of(partner);
  if (found.placed == nullptr || (!other.empty() && !model::is_under(other, found.part))) return std::nullopt;
  found.left = path.empty() ? only_one_outside(model, found.part) : outside_of(path, found.part);
  return found.left.empty() ? std::nullopt : std::optional(found);
}

void weigh_inner_part(const Context& context, const InnerPart& inner, const Operand& partner, int weight,
                      Hypothesis& found) {
  const std::string& root = context.model()->expression;
  const std::string path = root.empty() ? inner.left : root + "." + inner.left;
  model::Owner owner = inner.placed->owner;
  owner.setting.clear();  // one of its entries
  const std::vector<model::Argument> facts = {{"part", quoted(inner.part)},
                                              {"owner", text_of(owner)},
                                              {"at", at_text(*inner.placed)},
                                              {"module", quoted(inner.left)},
                                              {"code", path + ".to(\"" + partner.device.str() + "\")"}};
  found.add_evidence(weight,
                     {"Only {part} was placed, by {owner}{at}; {module} is outside of it, and nothing has placed "
                      "that.",
                      facts});
  found.propose(model::FixKind::kConfiguration, {"place {module} as well, behind that call: {code}", facts});
  found.propose(model::FixKind::kConfiguration, {"place the whole model, not only {part}", facts});
}

}  // namespace devsan::diagnose
