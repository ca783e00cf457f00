#pragma once

#include "diagnose/context.h"
#include "model/finding.h"
#include "model/operand.h"

namespace devsan::diagnose {

/// Whether a module that torch.func.functional_call runs uses this tensor of its own: the call gives a module other tensors,
/// and leaves it its own where none are given (torch/nn/utils/stateless.py).
bool is_left_out_of_call(const Context& context, const model::Operand& operand);

model::Message left_out_text(const model::Operand& operand);

model::Fix give_buffers_to_call();

}  // namespace devsan::diagnose
