#pragma once

#include "diagnose/context.h"
#include "model/finding.h"

namespace devsan::diagnose {

/// Adds that a Trainer has wrapped the model in DataParallel, where one has: the program's code does not show it.
///
/// transformers.Trainer does so when it sees several GPUs and no launcher has started the program
/// (Trainer._wrap_model, TrainingArguments.n_gpu).
void tell_of_trainer_replicas(const Context& context, model::Finding& finding);

}  // namespace devsan::diagnose
