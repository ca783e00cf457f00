#pragma once

#include "diagnose/context.h"

namespace devsan::diagnose {

/// The weight of a device that was said for one GPU, and of what a move took to another one, or left there.
inline constexpr int kWeightOfLiteral = 30, kWeightOfMove = 65;

/// How much it weighs that the device of `placed` was said in this way: by one value that stands for "the device".
int weight_of(const model::Event& placed);

/// The operand on a GPU whose device weighs most; null where nobody said one.
const model::Operand* heaviest_of(const Context& context);

/// Whether it is the state of a module without parameters, such as a metric: no part of the model decides where it is.
bool is_of_metric(const Context& context, const model::Operand& operand);

/// Whether DataParallel put it there: with the input or the weights of a replica, for as long as a call takes.
bool is_of_replica(const model::Event* placed);

}  // namespace devsan::diagnose
