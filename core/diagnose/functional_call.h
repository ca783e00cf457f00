#pragma once

#include <string>

#include "diagnose/context.h"
#include "model/finding.h"
#include "model/operand.h"

namespace devsan::diagnose {

/// Whether torch.func.functional_call runs the module that fails: the call gives a module other tensors, and leaves it its
/// own where none are given (torch/nn/utils/stateless.py).
bool is_in_functional_call(const Context& context);

/// Whether that module uses `operand`, which is its own.
bool is_left_out_of_call(const Context& context, const model::Operand& operand);

/// Whether functional_call was given an operand of its module that is not where the module's own is: one from before the
/// module was moved.
bool is_given_elsewhere(const Context& context, const model::Operand& operand);

/// The path of its first buffer without data, quoted; "" where it has none.
std::string buffer_left_out(const Context& context);

/// @param name of the tensor that the call was given nothing for
model::Message left_out_text(const model::Message& name);

model::Fix give_buffers_to_call();

}  // namespace devsan::diagnose
