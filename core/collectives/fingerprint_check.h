#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <c10/util/ArrayRef.h>

#include "collectives/call.h"
#include "collectives/collective_request.h"
#include "collectives/fingerprint_table.h"
#include "collectives/group.h"

namespace devsan::collectives {

/// For `is_refused`: whatever call it is.
inline constexpr std::uint64_t kAnyCall = std::numeric_limits<std::uint64_t>::max();

/// Keeps ranks whose calls do not fit together from meeting in gloo: see NOTE [The fingerprint table].
/// Calls come one at a time; `refusal` may be asked for meanwhile by other threads.
class FingerprintCheck {
 public:
  /// @param table null where this rank does not see one: nothing is compared then
  FingerprintCheck(const Group& group, std::unique_ptr<FingerprintTable> table);

  /// Tells the others what is about to be given to gloo. Returns false where another rank has told something else for
  /// the same call, or did so before: then gloo must not get it, and `refusal` says why.
  bool proposes(const Call& call, const CallSite& site, c10::ArrayRef<CollectiveRequest> requests);
  /// gloo refused the last `count` of them; the next ones take their numbers.
  void take_back(std::size_t count);
  /// The same for a message to `peer` (a rank of this communicator), or from it.
  bool proposes_message(bool sends, int peer, std::int64_t bytes);

  /// How many were proposed: the number of the last.
  std::uint64_t proposed() const { return proposed_; }

  /// Whether ranks differ in a call up to `number`, or in a message.
  bool is_refused(std::uint64_t number) const noexcept;
  /// What they differ in, a line for each rank; empty where nothing is known.
  std::string refusal() const;

 private:
  bool fits(int rank, const CollectiveFingerprint& own, const CollectiveRequest& request) const;
  void wait_for_others(std::uint64_t number) const;
  std::string refusal_of_call(std::uint64_t number) const;
  std::string refusal_of(const TableMessage& message) const;
  std::string line_of(int rank, const std::optional<CollectiveFingerprint>& call) const;

  const Group& group_;
  std::unique_ptr<FingerprintTable> table_;
  std::uint64_t proposed_ = 0;
  std::vector<std::uint64_t> sent_;
  std::vector<std::uint64_t> received_;
};

}  // namespace devsan::collectives
