#include "collectives/failures.h"

#include <utility>

#include <c10/util/Exception.h>
#include <c10/util/StringUtil.h>

namespace devsan::collectives {
namespace {

std::string nccl_version;

std::string detailed(const char* error, const char* meaning, const std::string& last_error) {
  return c10::str("NCCL error in: torch/csrc/distributed/c10d/NCCLUtils.cpp, ", error, ", NCCL version ", nccl_version,
                  "\n", meaning, "\nLast error:\n", last_error);
}

std::string named(const Group& group, const std::vector<Identity>& ranks, const std::vector<int>& which) {
  std::string text;
  for (const int rank : which) {
    const Identity& identity = ranks[static_cast<std::size_t>(rank)];
    text += c10::str(text.empty() ? "" : ", ", "rank ", group.global_rank(rank), " (process ", identity.process, ")");
  }
  return text;
}

}  // namespace

void set_nccl_version(std::string version) { nccl_version = std::move(version); }

std::string invalid_usage(const std::string& last_error) {
  return detailed("invalid usage (run with NCCL_DEBUG=WARN for details)",
                  "ncclInvalidUsage: This usually reflects invalid usage of NCCL library.", last_error);
}

std::string invalid_argument(const std::string& last_error) {
  return detailed("invalid argument (run with NCCL_DEBUG=WARN for details)",
                  "ncclInvalidArgument: Invalid value for an argument.", last_error);
}

std::string aborted(const Group& group, const std::string& reason) {
  return c10::str("NCCL communicator was aborted on rank ", group.rank, ". ", reason);
}

std::string store_error(const Group& group, c10d::Store& store, const std::vector<std::string>& keys,
                        const std::string& error) {
  std::string missing;
  for (const int rank : group.attendance.present()) {
    bool there = false;
    try {
      there = store.check({keys[static_cast<std::size_t>(group.attendance.place(rank))]});
    } catch (const std::exception&) {
      break;  // the store is gone with the process that held it
    }
    if (!there) missing += c10::str(missing.empty() ? "" : ", ", group.global_rank(rank));
  }
  return c10::str("[", group.rank,
                  "] is setting up NCCL communicator and retrieving ncclUniqueId from [0] via c10d key-value store by "
                  "key '0', but store->get('0') got error: ",
                  error, missing.empty() ? "" : "\nRanks that have not come to this communicator: ", missing);
}

std::exception_ptr remote_error(const Group& group, const std::vector<Identity>& ranks, const std::vector<int>& gone,
                                const std::exception_ptr& error) {
  std::string last = message_of(error);
  if (!gone.empty()) last += c10::str("\nEnded: ", named(group, ranks, gone));
  const std::string text =
      log_prefix(group) +
      detailed(
          "remote process exited or there was a network error",
          "ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.",
          last);
  return std::make_exception_ptr(
      c10::DistBackendError({__func__, __FILE__, static_cast<std::uint32_t>(__LINE__)}, text));
}

std::string message_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const c10::Error& known) {
    return known.what_without_backtrace();
  } catch (const std::exception& known) {
    return known.what();
  } catch (...) {
    return "unknown error";
  }
}

bool is_timeout(const std::string& message) {
  for (const char* word : {"Timed out", "timed out", "Timeout", "timeout"}) {
    if (message.find(word) != std::string::npos) return true;
  }
  return false;
}

}  // namespace devsan::collectives
