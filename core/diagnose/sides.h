#pragma once

#include <optional>

#include "diagnose/context.h"

namespace devsan::diagnose {

/// Of two operands on two GPUs, the one whose device is to blame, and the other.
struct Sides {
  const model::Operand* culprit = nullptr;
  const model::Operand* partner = nullptr;
  /// How much it weighs that the culprit's device was said as it was: by one value that stands for "the device".
  int weight = 0;
  /// The move by which a library left the partner on another GPU; null where none did.
  const model::Event* left = nullptr;
  /// The move by which the forward pass took the partner on to the next stage, without the culprit; null where none did.
  const model::Event* handed = nullptr;
  /// The move by which the failing function took the partner to where a third tensor is, without the culprit; or null.
  const model::Event* without = nullptr;
  /// Whether the culprit is a table of an object, and the partner selects from it.
  bool is_table = false;
  /// Whether the culprit is one number that is applied to what is on several GPUs.
  bool is_number = false;
  /// Whether both are results of parts of the model, which no map has placed.
  bool are_results = false;

  /// What put the culprit where it is.
  const model::Event& placed() const;
  /// What put the partner where it is; null where that is not known.
  const model::Event* other() const;
  /// The move that took the partner on, and not the culprit; null where there is none.
  const model::Event* onward() const { return handed != nullptr ? handed : without; }
  /// Whether a table or a choice of the program's said the culprit's device.
  bool is_chosen() const;
  /// Whether the culprit is the one member of an object whose other members are where the partner is.
  bool is_lone_member() const;
};

/// Null where nobody said the device of an operand.
std::optional<Sides> sides_of(const Context& context);

/// How surely a result is of what the program trains: 2 with a gradient, 1 where an optimizer's parameters are, else 0.
int learns_from(const Context& context, const model::Operand& result);

}  // namespace devsan::diagnose
