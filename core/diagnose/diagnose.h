#pragma once

#include <vector>

#include "model/facts.h"
#include "model/finding.h"

namespace devsan::diagnose {

/// Explains a failure: the cause first, then other things that are wrong whatever the cause (a second owner, a damaged
/// link). Without a failure: only what the facts alone show.
/// Where the evidence does not decide, the first finding has the code `kUndecided` and names the candidates.
std::vector<model::Finding> diagnose(const model::Facts& facts);

/// Joins the findings of several failures: those of one cause become one finding, whose sites are all of theirs.
std::vector<model::Finding> merge(std::vector<model::Finding> findings);

}  // namespace devsan::diagnose
