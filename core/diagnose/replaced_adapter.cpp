#include "diagnose/replaced_adapter.h"

#include "diagnose/codes.h"
#include "diagnose/predicates.h"
#include "diagnose/texts.h"

namespace devsan::diagnose {

using model::FixKind;
using model::Operand;

std::optional<Hypothesis> replaced_adapter(const Context& context) {
  for (const Operand& operand : context.operands()) {
    const Operand* partner = context.partner_of(operand);
    const model::Event* placed = placement_of(operand.provenance);
    const bool by_library = placed != nullptr && !placed->owner.is(model::owners::kProgram);
    if (partner == nullptr || by_library || !is_sidecar(operand) || !operand.replaced_at.is_known() ||
        !operand.device.is_host() || operand.beside_device != partner->device) {
      continue;
    }
    Hypothesis found(code::kMapGap);
    found.origin = placed;
    found.operands = {context.index_of(operand), context.index_of(*partner)};
    found.add_evidence(95, {"{name} was replaced by a tensor on {place}, at {by}; {base} next to it is on {device}.",
                            {{"name", name_of(operand)},
                             {"place", place_text(operand.device)},
                             {"by", text_of(&operand.replaced_at)},
                             {"base", operand.beside},
                             {"device", operand.beside_device.str()}}});
    found.title = {"{name} was replaced by a tensor on {device}; {other} is on {other_device}",
                   {{"name", name_of(operand)},
                    {"device", operand.device.str()},
                    {"other", operand.beside},
                    {"other_device", operand.beside_device.str()}}};
    found.propose(FixKind::kCreationSite,
                  {"put the new {name} on the device of the one that it replaces", {{"name", name_of(operand)}}});
    return found;
  }
  return std::nullopt;
}

}  // namespace devsan::diagnose
