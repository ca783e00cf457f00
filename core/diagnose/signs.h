#pragma once

#include "diagnose/scene.h"

namespace devsan::diagnose {

// Signs that more than one cause asks for: the one they speak for, and those they speak against.

/// A loss, or an operation whose work is to combine results: the labels' side meets the logits' side.
bool is_loss_boundary(const Scene& scene);

/// An adapter's weight, or the state of a quantised one.
bool is_sidecar(const model::Operand& operand);

/// Keys, values and recurrent state of generation, and the indices into them.
bool is_generation_state(const model::Operand& operand);

/// The tensor stands where torch's default device, which someone changed, puts it.
bool follows_default_device(const Scene& scene, const model::Operand& operand);

/// A module whose own tensors are not where its hook brings the inputs; null where all agree.
const model::Module* disagreeing_hook(const Scene& scene);

/// "on the host" or "on cuda:1".
std::string place_text(const model::Device& device);

}  // namespace devsan::diagnose
