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
};

/// Null where nobody said the device of an operand.
std::optional<Sides> sides_of(const Context& context);

/// How surely a result is of what the program trains: 2 with a gradient, 1 where an optimizer's parameters are, else 0.
int learns_from(const Context& context, const model::Operand& result);

/// Whether it is the state of a module without parameters, such as a metric: no part of the model decides where it is.
bool is_of_metric(const Context& context, const model::Operand& operand);

/// Whether DataParallel put it there: with the input or the weights of a replica, for as long as a call takes.
bool is_of_replica(const model::Event* placed);

}  // namespace devsan::diagnose
