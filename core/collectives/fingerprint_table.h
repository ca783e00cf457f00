#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "collectives/flight_recorder.h"

namespace devsan::collectives {

// NOTE [The fingerprint table]
// Memory that the ranks of a communicator share as long as they are on one machine. Each writes there what it is about
// to give to gloo, and then looks what the others have written for the same call. Of two ranks that differ at least the
// later one sees it (both write before they look), and gives gloo nothing; so no two ranks that differ ever meet in gloo,
// which would end the process (GLOO_ENFORCE_LE(op.preamble.length, op.nbytes) of gloo/transport/tcp/pair.cc, thrown in
// a thread of its own). Nobody waits for anybody. It is a file without a name (memfd_create), which the first rank makes
// and the others open through /proc: nothing is left behind when ranks are killed.
//
//   TableHeader                                     one
//   CollectiveFingerprint [rank][kTableCalls]       by the number of the call: the newest ones
//   shares                [rank][kTableShares][1+2N] of all_to_all: the number, bytes given to each rank, bytes wanted
//                                                   from each
//   messages              [from][to][2][kTableMessages] bytes that are sent, and bytes that are expected
//
// A place that a later call has taken says nothing: a rank that is so far behind is not compared.

inline constexpr std::uint64_t kTableCalls = 256;
inline constexpr std::uint64_t kTableShares = 64;
inline constexpr std::uint64_t kTableMessages = 256;

/// The fingerprint of a call of a rank: what the ranks compare of it, and what a refusal says of it.
struct CollectiveFingerprint {
  std::uint64_t number = 0;    ///< counts what the communicator gave to gloo, from 1
  std::uint64_t sequence = 0;  ///< of the group, as messages name it
  std::int64_t bytes = 0;
  std::int64_t elements = 0;
  std::uint32_t route = 0;
  std::int32_t root = -1;
  std::int32_t type = 0;
  std::int32_t line = 0;
  Text<32> name{};
  Text<16> dtype{};
  Text<160> file{};
};

/// Where a rank's table is: a descriptor of a process.
struct TablePlace {
  std::int64_t process = 0;
  int descriptor = -1;
  std::uint64_t key = 0;  ///< stands in the table, too
};

/// A message that sender and receiver see differently.
struct TableMessage {
  int from = 0;
  int to = 0;
  std::uint64_t number = 0;  ///< counts the messages of the one to the other, from 1
};

class FingerprintTable {
 public:
  /// Both give nothing where it cannot be made, or seen from here: ranks are then not compared.
  static std::unique_ptr<FingerprintTable> make(int ranks);
  static std::unique_ptr<FingerprintTable> open(const TablePlace& place, int ranks);
  ~FingerprintTable();
  FingerprintTable(const FingerprintTable&) = delete;
  FingerprintTable& operator=(const FingerprintTable&) = delete;

  const TablePlace& place() const { return place_; }

  void write(int rank, const CollectiveFingerprint& call) noexcept;
  void write_shares(int rank, std::uint64_t number, const std::vector<std::int64_t>& given,
                    const std::vector<std::int64_t>& wanted) noexcept;
  /// The call is taken back: gloo did not get it.
  void erase(int rank, std::uint64_t number) noexcept;
  /// Nothing for a call that the rank has not come to, or that is long gone.
  std::optional<CollectiveFingerprint> read(int rank, std::uint64_t number) const noexcept;
  /// Whether the rank's call is there, and another in what gloo compares. Cheap.
  bool differs(int rank, const CollectiveFingerprint& call) const noexcept;
  /// What `rank` gives to and wants from `other`; nothing as above.
  std::optional<std::pair<std::int64_t, std::int64_t>> read_share(int rank, std::uint64_t number,
                                                                  int other) const noexcept;

  void write_message(const TableMessage& message, bool sends, std::int64_t bytes) noexcept;
  std::optional<std::int64_t> read_message(const TableMessage& message, bool sends) const noexcept;

  /// No rank goes beyond such a call; of several the first counts.
  void refuse(std::uint64_t number) noexcept;
  void refuse(const TableMessage& message) noexcept;
  /// 0 for none.
  std::uint64_t refused_call() const noexcept;
  std::optional<TableMessage> refused_message() const noexcept;

 private:
  FingerprintTable(const TablePlace& place, char* memory, int ranks) : place_(place), memory_(memory), ranks_(ranks) {}
  std::size_t shares_size() const noexcept;
  CollectiveFingerprint& call(int rank, std::uint64_t number) const noexcept;
  std::int64_t* shares(int rank, std::uint64_t number) const noexcept;
  std::int64_t* message(const TableMessage& message, bool sends) const noexcept;

  TablePlace place_;
  char* memory_;
  int ranks_;
};

}  // namespace devsan::collectives
