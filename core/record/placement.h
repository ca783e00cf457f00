#pragma once

#include <cstdint>

#include "record/stack_depot.h"

namespace devsan::record {

// NOTE [Placements, not events]
// What put a tensor where it is, is a place in the program, and a program has few of them, however many tensors it
// makes. So a placement is kept once, by what it was, where from and by which stack, and tensors carry its number. How
// often it happened, and how many bytes, is added up beside it.

// NOTE [When the recorder is full]
// A program that generates code (the cells of a notebook, torch.compile, torch.fx) has places without end, and each keeps
// a code object alive. So the recorder has a budget of bytes. Tensors do not count references to their placement, since
// that would cost every operator something. Instead, when the budget runs out, the recorder asks for the numbers that
// live tensors carry, and drops what they do not lead to, the placement that was used longest ago first, down to half
// of the budget. It looks at memory without its lock, and so a number may be on its way into a tensor meanwhile: what was used
// since, and what each thread noted last, stays. When live tensors take the whole budget, new placements are not kept.
// A number is never given out twice. A tensor that carries one without a record behind it is known to have been placed by
// something that was dropped, and a report says so.

/// Stands for a placement; 0 for one that is not known. Later placements have higher numbers.
using PlacementId = std::uint32_t;
inline constexpr PlacementId kUnknownPlacement = 0;
/// Stands for every placement that was dropped at once, because there was no room for it (or no number).
inline constexpr PlacementId kDroppedPlacement = 0xFFFFFFFF;

/// Stands for an operator's name; 0 for none. See Recorder::intern.
using OperatorId = std::uint32_t;
inline constexpr OperatorId kNoOperator = 0;

enum class PlacementKind : std::uint8_t {
  kMade,   ///< made there: a factory, an allocation
  kMoved,  ///< copied there from another device
};

inline constexpr std::int8_t kHost = -1;

/// Why a tensor is where it is.
struct Placement {
  PlacementKind kind = PlacementKind::kMade;
  std::int8_t device = kHost;  ///< the GPU's index, or kHost
  std::int8_t from = kHost;    ///< of a move: where it was before
  OperatorId op = kNoOperator;
  StackId stack = kNoStack;
  PlacementId source = kUnknownPlacement;  ///< of a move: the placement of what was copied

  friend bool operator==(const Placement&, const Placement&) = default;
};

/// What a tensor's memory says about itself: where it was placed, and what computed it there.
struct Origin {
  PlacementId placement = kUnknownPlacement;  ///< its own, or that of the operand whose device it took
  OperatorId computed_by = kNoOperator;       ///< none for a tensor that was placed itself
};

}  // namespace devsan::record
