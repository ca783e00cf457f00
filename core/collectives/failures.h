#pragma once

#include <exception>
#include <string>
#include <vector>

#include <torch/csrc/distributed/c10d/Store.hpp>

#include "collectives/group.h"

namespace devsan::collectives {

// The sentences of torch's C10D_NCCL_CHECK and getNcclErrorDetailStr (torch/csrc/distributed/c10d/NCCLUtils.hpp, .cpp).

/// The release of NCCL that the sentences name, as torch.cuda.nccl.version() tells. Set before the first of them.
void set_nccl_version(std::string version);

/// NCCL's refusal of a call: ncclInvalidUsage, with its own last line.
std::string invalid_usage(const std::string& last_error);
/// ncclInvalidArgument.
std::string invalid_argument(const std::string& last_error);
/// A communicator that cannot be used any more (NCCLComm::getNcclComm).
std::string aborted(const Group& group, const std::string& reason);

/// A rank that did not come to the meeting: broadcastUniqueNCCLID's sentence, with the ranks that are missing.
std::string store_error(const Group& group, c10d::Store& store, const std::vector<std::string>& keys,
                        const std::string& error);

/// ncclRemoteError for what gloo says when a connection breaks; `gone` are the ranks whose processes have ended.
std::exception_ptr remote_error(const Group& group, const std::vector<Identity>& ranks, const std::vector<int>& gone,
                                const std::exception_ptr& error);

/// What an exception says, without the stack that c10 prints behind it.
std::string message_of(const std::exception_ptr& error);

/// Whether that is gloo's word for a wait that took too long.
bool is_timeout(const std::string& message);

}  // namespace devsan::collectives
