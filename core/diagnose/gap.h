#pragma once

#include <string>

#include "diagnose/context.h"
#include "diagnose/hypothesis.h"

namespace devsan::diagnose {

/// A tensor of a model, or one that stands for it, that nothing brought to where it is used.
struct Gap {
  Gap(const Context& its_context, const model::Operand& its_operand, const model::Operand& its_partner);

  /// The model that holds it.
  const model::Model& model() const { return *context.model(); }

  const Context& context;
  const model::Operand& operand;
  const model::Operand& partner;  ///< it should be where this one is
  std::string module;             ///< that holds it, "" for the root
  std::string name;               ///< of the module; the model's class where the tensor is the root's own
  const model::Event* placed;     ///< what put it where it is; null where that is not known
  bool never_moved;
};

// Why nothing brought it: each adds what it saw, and a fix, and returns whether there was anything.

bool is_uncovered(const Gap& gap, Hypothesis& found);         ///< no entry of the device map covers its module
bool is_added_to_map(const Gap& gap, Hypothesis& found);      ///< its module was added after dispatch
bool is_call_past_hook(const Gap& gap, Hypothesis& found);    ///< the call bypassed the forward where the hook works
bool is_older_copy(const Gap& gap, Hypothesis& found);        ///< a copy of a weight from before the model was moved
bool is_copy_of_model(const Gap& gap, Hypothesis& found);     ///< of a model that moved later
bool is_replaced_weight(const Gap& gap, Hypothesis& found);   ///< put in the place of one that had been moved
bool is_ignored_by_fsdp(const Gap& gap, Hypothesis& found);   ///< FSDP was told to leave it where it is
bool is_inner_part(const Gap& gap, Hypothesis& found);        ///< of a model of which another part was moved
bool is_added_to_moved(const Gap& gap, Hypothesis& found);    ///< put into a module that had been moved
bool is_not_among_moved(const Gap& gap, Hypothesis& found);   ///< the modules were moved one by one
bool is_added_to_sharded(const Gap& gap, Hypothesis& found);  ///< put into a model that FSDP2 managed already
bool is_left_on_host(const Gap& gap, Hypothesis& found);      ///< other parts of the model are on a GPU

/// Whether the map that cuts into a block names the tensor itself and its module's children: nothing is missing there.
bool is_cut_by_map(const Gap& gap);

/// Whether the maps are those of other parts of the model, each dispatched by itself.
bool is_beside_map(const Gap& gap);

}  // namespace devsan::diagnose
