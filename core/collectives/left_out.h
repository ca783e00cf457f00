#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

namespace devsan::collectives {

// NOTE [Collectives without numbers]
// At full size nobody has the numbers of a payload above the line (NOTE [Tensors without numbers] in
// emulate/runtime/full_size/unknown.h), so it is not moved. The ranks meet all the same, in gloo's collective of one element
// each, and wait for each other as they would. All of them decide alike, by the size and the type in which they agree. What a
// collective writes is unknown then; so is a small result to which this rank's own part was unknown.
//
// All of all_to_all is moved: its sizes differ from rank to rank.

/// Whether a rank's part is left out: a CPU tensor as gloo would be given it.
bool is_left_out(const at::Tensor& part) noexcept;

/// What gloo moves in place of `part`: the same, or so many elements of its type.
at::Tensor moved(const at::Tensor& part, std::int64_t elements = 1);
std::vector<at::Tensor> moved(const std::vector<at::Tensor>& parts);

/// The results of a collective to which this rank gives `part` are unknown if that is.
void note_results(const at::Tensor& part, const std::vector<at::Tensor>& results);

}  // namespace devsan::collectives
