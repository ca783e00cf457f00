#pragma once

#include <optional>
#include <string>
#include <vector>

#include "diagnose/context.h"
#include "model/finding.h"

namespace devsan::diagnose {

/// "create `delta` where `cur_out` is: device=cur_out.device", with the edit where both are of one function.
model::Fix create_with(const Context& context, const model::Operand& operand, const model::Event& made,
                       const model::Operand& partner);

/// The operands other than `operand` that are on its device, no weights, and have to come to `partner` with it.
std::vector<const model::Operand*> together_with(const Context& context, const model::Operand& operand,
                                                 const model::Operand& partner);

/// "move `ids` to the device of `model` before the call": above the program's call that led into the library that fails,
/// with what else the call passes on from the same device; none where the failing line is the program's, or the call has
/// no name for the operand.
std::optional<model::Fix> move_before_call(const Context& context, const model::Operand& operand,
                                           const model::Operand& partner);

/// "move `labels` to the device of `logits` before they are combined", and what has to come with them, with the edit where
/// the source shows the names once.
model::Fix move_at_use(const Context& context, const model::Operand& operand, const model::Operand& partner);

/// "load it to where `x` is: map_location=...", with the edit where the call names a device and another is known there.
model::Fix load_to(const model::Operand& operand, const model::Operand& partner, const model::Event& loaded);

/// `text` where it is an attribute of its object, `self.table`; "" where it is anything else.
std::string own_attribute(const std::string& text);

/// "register it where it is created", with the edit where the `__init__` of a module of the model assigns it to `self` in
/// one line.
model::Fix register_where_made(const Context& context, const model::Operand& operand, const model::Event* made);

/// The edit that puts the statement of a move without effect as it would have one in its place; none if it is not known.
std::optional<model::Edit> amended_edit(const model::Event& event);

/// The smaller of two operands, by bytes, then by elements: the one that is cheap to move.
const model::Operand& smaller_of(const model::Operand& one, const model::Operand& other);

}  // namespace devsan::diagnose
