#pragma once

#include <optional>
#include <string>

#include "diagnose/context.h"
#include "diagnose/hypothesis.h"

namespace devsan::diagnose {

/// One part of the model that a call has placed, and what that left out: `dispatch_model(model.base_model, ...)`.
struct InnerPart {
  const model::Event* placed;
  std::string part;  ///< path of what was placed: "base_model"
  std::string left;  ///< path of the module outside of it that holds an operand: "prompt_encoder"
};

/// The part that was placed, where `operand` is of a module outside of it and has never left the host. None where other
/// calls may have left it out.
std::optional<InnerPart> inner_part(const Context& context, const model::Operand& operand,
                                    const model::Operand& partner);

/// Says so, and proposes to place the module that was left out, too.
void weigh_inner_part(const Context& context, const InnerPart& inner, const model::Operand& partner, int weight,
                      Hypothesis& found);

}  // namespace devsan::diagnose
