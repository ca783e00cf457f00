#pragma once

#include <vector>

#include <torch/csrc/distributed/c10d/Work.hpp>

namespace devsan::collectives {

/// Several works as one: what a coalesced group of calls gives.
c10::intrusive_ptr<c10d::Work> join(std::vector<c10::intrusive_ptr<c10d::Work>> works);

}  // namespace devsan::collectives
