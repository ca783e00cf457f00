#pragma once

#include <optional>
#include <string>

#include <ATen/record_function.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include "collectives/call.h"

namespace devsan::collectives {

/// How ProcessGroupNCCL names a call in a profile.
struct Titles {
  std::string comms;  ///< within the event record_param_comms: "allreduce"
  std::string work;   ///< the event of the work: "nccl:all_reduce"
};

/// The names of a call, as torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp has them.
Titles titles_of(const Call& call, int rank);

// NOTE [What a profiler sees]
// A call of ProcessGroupNCCL is two events: record_param_comms, with the group and the sizes, and within it the event of
// the work, "nccl:all_reduce", which is asynchronous and ends when the collective is launched. What carries the call out
// here, gloo's own events and copies on the CPU, is no part of a program on GPUs: nothing is recorded from the launch on,
// in gloo's threads neither, which take over the state of the thread that called.

/// One call in the profile, from its construction to its end.
class Profiled {
 public:
  /// @param coalesced the call is one of a batch, which has one event for all works: `profile_coalesced`
  Profiled(const Group& group, const Call& call, bool coalesced);
  Profiled(const Profiled&) = delete;
  Profiled& operator=(const Profiled&) = delete;
  ~Profiled();

 private:
  std::vector<c10::IValue> inputs_;
  std::optional<c10::DebugInfoGuard> info_;  // read when comms_ begins, and when it ends
  at::RecordFunction comms_;
  c10::intrusive_ptr<c10d::Work> event_;
  at::RecordFunctionGuard quiet_{false};
};

/// The event of a batch of calls, "nccl:coalesced".
void profile_coalesced();

}  // namespace devsan::collectives
