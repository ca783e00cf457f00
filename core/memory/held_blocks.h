#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "memory/block.h"
#include "memory/out_of_memory.h"
#include "memory/use.h"
#include "model/held_memory.h"

namespace devsan::memory {

/// A block that the program held when memory ran out, with what its tensor says about itself.
struct HeldBlock {
  Address address = 0;
  std::uint64_t bytes = 0;
  std::string computed_by;      ///< "aten::relu"; "" for what no operator computed
  std::uint64_t placement = 0;  ///< the number of its placement; 0: of none
  std::string part;             ///< of a model, that computed it: "layers.*.mlp"; "" where none did, or nobody says
  bool momentary = false;       ///< computed in a backward pass or in a step of an optimizer
  Use use = Use::kNone;
};

/// What a live object says of a block. The kind of a variable is kUnknown: that decides the block.
struct NamedBlock {
  Address address = 0;
  model::HolderKind kind = model::HolderKind::kUnknown;
  std::string name;
};

/// Who holds what: each block counts once, for the first of its names of the lowest kind.
/// @param tells_origin whether blocks say where they come from; where they do not, what has no name is kUnknown
/// @return the parts, the largest first; together they have all bytes of `blocks`
[[nodiscard]] std::vector<model::MemoryPart> parts_of(std::span<const HeldBlock> blocks,
                                                      std::span<const NamedBlock> names, bool tells_origin);

/// Adds what a process takes of a GPU beside what is allocated: what is reserved for nothing now, and CUDA's own.
void add_overhead(std::vector<model::MemoryPart>& parts, std::uint64_t allocated, std::uint64_t reserved,
                  std::uint64_t process);

/// The figures of the refusal, without parts and other GPUs.
[[nodiscard]] model::HeldMemory held_memory_of(const OutOfMemoryFigures& figures);

}  // namespace devsan::memory
