#pragma once

#include "diagnose/context.h"

namespace devsan::diagnose {

// Signs that more than one cause asks for: the one they speak for, and those they speak against.

/// A parameter or a buffer of a module.
bool is_weight(const model::Operand& operand);

/// Whether one statement of the program, or one call of its model, led to both.
bool is_of_same_statement(const model::Event& event, const model::Event* other);

/// An adapter's weight, or the state of a quantized one.
bool is_sidecar(const model::Operand& operand);

/// Whether its class is called by LoRA, which stands beside a layer that it wraps: "LoraLinear".
bool is_lora(const model::Module& module);

/// Whether the operation joins what an adapter's module, or a function that speaks of adapters, has computed with a
/// weight that is not its own.
bool joins_adapter_and_weight(const Context& context, const model::Operand& operand, const model::Operand& partner);

/// Whether it is a buffer of a module that the failing function has built for itself, in a call that something else
/// made: a loss that is built in each step. What a script or its main function builds may be used many times.
bool is_built_for_use(const Context& context, const model::Operand& operand);

/// Whether the map cuts through the block whose own forward fails, and `operand` is what the block computed or was given
/// as a result: where its first device came from does not matter then.
bool is_result_in_cut_block(const Context& context, const model::Operand& operand);

/// Whether an operator computed it: it was neither made nor moved as it is.
bool is_result(const model::Operand& operand);

/// The event that put the part of the model there that computed `operand`; null where it is no result of a part.
const model::Event* part_of_result(const model::Operand& operand);

/// Whether the path has a number in it: one of a row of blocks.
bool is_block(std::string_view path);

/// KV cache and recurrent generation state, and the indices into them.
bool is_generation_state(const model::Operand& operand);

/// The tensor stands where torch's default device, which someone changed, puts it.
bool follows_default_device(const Context& context, const model::Operand& operand);

/// A module whose own tensors are not where its hook brings the inputs; null where all agree.
const model::Module* disagreeing_hook(const Context& context);

/// Whether the failing line is a module's own, or a function's that a module calls; not a forward hook's, which is given
/// what any layer computed.
bool stands_in_module(const Context& context);

/// A weight that the map itself put elsewhere than the hook of its module brings the inputs: two modules share it, and
/// their entries disagree. Null where there is none.
const model::Operand* is_torn_by_map(const Context& context);

/// Whether a hook or a closure was made with it: no module uses it, and it has no key.
bool is_captured(const model::Operand& operand);

/// Whether a function keeps it from call to call: a default argument, a captured variable, what a partial was given.
bool is_kept_by_function(const model::Operand& operand);

/// Whether a module keeps it in a dictionary whose key is no name, or which it calls a cache.
bool is_cache_entry(const model::Operand& operand);

/// Whether it has been where it is since an object was constructed, or its file imported. What a module has computed is
/// younger than the move of the module's weights.
bool is_as_constructed(const model::Operand& operand);

/// Whether a class keeps it, for all of its instances.
bool is_of_class(const model::Operand& operand);

/// A tensor of a plain object that a module keeps: what the object is called there, "codebook"; "" where it is none.
std::string plain_object_of(const model::Operand& operand);

/// Whether a statement of the program has put a result in the place of this parameter or buffer.
bool is_replaced_by_result(const model::Operand& operand);

/// Whether a function keeps it from call to call in a global container, and it was computed there for an argument.
bool is_remembered_result(const model::Operand& operand);

/// That a tied weight is one tensor with another module's.
model::Message tie_of(const model::Operand& weight);

/// What the same tensor is called in another module, quoted; only of a tied weight.
std::string twin_of(const model::Operand& weight);

/// Whether FSDP2 manages it: fully_shard gives such a module a class of its own, "FSDP" and the name of its class
/// (torch/distributed/fsdp/_fully_shard/_fully_shard.py).
bool is_sharded(const model::Model& model);

/// Whether some tensor of the model is on a GPU.
bool is_on_gpu(const model::Model& model);

/// Whether what a copy on the CPU was made of may have moved since: a model is on a GPU, or a weight meets the copy there.
bool original_has_moved(const Context& context, const model::Operand& partner);

/// Whether a hook keeps the module's weights elsewhere, and brings them for its forward.
bool is_offloaded(const model::Module& module);

/// "the CPU" or "cuda:1".
model::Message place_text(const model::Device& device);

}  // namespace devsan::diagnose
