#pragma once

#include "diagnose/context.h"
#include "diagnose/hypothesis.h"

namespace devsan::diagnose {

/// A tensor that no move of the model reaches, with what is known of where it is.
struct Kept {
  Kept(const Context& context, const model::Operand& its_operand, const model::Operand& its_partner);

  const model::Operand& operand;
  const model::Operand& partner;
  model::Message name;
  model::Message holder;
  const model::Event* placed;  ///< what put it where it is; null where that is not known
  const model::Event* left;    ///< the move that left it there; null where none did
  bool is_attribute;
  bool is_global;
  bool is_replicated;  ///< all replicas of DataParallel's share it
  bool is_late;        ///< it was put there when the model had been placed
};

/// Tells what keeps it, and proposes how it would move with the model.
void tell_what_keeps_it(const Context& context, const Kept& kept, Hypothesis& found);

}  // namespace devsan::diagnose
