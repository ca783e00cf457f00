#pragma once

#include "diagnose/context.h"

namespace devsan::diagnose {

// What moved a tensor, took it along or left it behind, as its provenance and the program's statements say.

/// The move of the whole model that did not take this registered tensor along: it was put in later. Null: none.
const model::Event* put_in_after(const Context& context, const model::Operand& operand);

/// What lies in one container with `operand` and was moved from its device: `batch["ids"]`, where `batch["mask"]` was
/// left behind. Null where there is none.
const model::Operand* moved_without(const Context& context, const model::Operand& operand);

/// Whether the failing expression called what moved its argument to a device of its own, and gave a result there.
bool is_moved_by_call(const Context& context, const model::Operand& operand);

/// Whether it made a copy of a tensor, on the device where that was: clone, copy.deepcopy.
bool is_copy(const model::Event& event);

/// The move of a module's weight that came after `copy` was copied from a weight; null where nothing says so.
const model::Event* moved_after_copy(const model::Operand& copy, const model::Operand& weight);

/// Whether it made a tensor over memory of the host: from_numpy, frombuffer.
bool wraps_host_memory(const model::Event& event);

/// Whether an operand is an input that came with the data. What a factory of the program filled with one value is rarely
/// data: the first state of a recurrent network, a mask.
/// @param placed what placed it; null where that is not known
bool came_with_data(const model::Operand& operand, const model::Event* placed);

/// Whether it took a tensor from an accelerator to the host: someone wanted it there.
bool is_brought_to_host(const model::Event& event);

/// Whether torch.load read it, to where its map_location said or where it was saved.
bool is_read_from_checkpoint(const model::Event& event);

/// Whether copy.deepcopy made it: it is where the original was then.
bool is_deep_copy(const model::Event& event);

/// The move of a whole module that took this weight from where a map had placed it; null where there was none.
const model::Event* moved_from_map(const model::Operand& operand);

/// The move that took the model, or the module that holds it, to where `other` is, and left this plain attribute where it
/// was made; null where there was none. Not what an earlier call has kept: a cache.
const model::Event* left_by_move(const Context& context, const model::Operand& operand, const model::Operand& other);

/// What accelerate's hook of the whole model brought back to where the model's inputs were; null where it is none.
const model::Event* brought_back(const model::Operand& operand);

/// What had put `weight` where `other` is, a move of its module or its making, before another move took it away; null
/// where nothing did.
const model::Event* moved_there_before(const model::Operand& weight, const model::Operand& other);

/// That it was moved twice: `before`, then to where it is.
model::Message second_move_of(const model::Operand& weight, const model::Event& before);

/// The move of it to where its partner is, or of the object that holds it, whose result the statement threw away; null
/// where there is none.
const model::Event* dropped_move_of(const Context& context, const model::Operand& operand);

/// Whether the program sent it to where it already was: its last word on the device, which a recorder does not see.
bool is_move_without_effect(const model::Event& event);

/// Whether the program made it on a device that an attribute, a setting or a text names, and not on that of anything
/// that it was given.
bool is_put_by_value(const model::Event& event);

}  // namespace devsan::diagnose
