#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "memory/process.h"

namespace devsan::memory {

/// Which process holds how much of which GPU: a file that the processes of a job map.
///
/// NOTE [One GPU, several processes]
/// A row is a process, a column a GPU; a cell is written by its process alone, and what a GPU has left is a sum over a
/// column. So there is no lock that a killed process could keep, and no total that it could leave wrong: its row is not
/// counted once it is seen that it is gone (is_alive), and is then given to the next one. A row is claimed when its
/// process first uses a GPU, cells change where a segment is taken or given back, never with an allocation.
///
///   gpus       64 keys; 0 is free
///   rows_used  rows before this one have been used at some time
///   rows       256 times: identity of the process, 64 cells
///
/// All zero is an empty table, so that whoever comes first has nothing to prepare.
class SharedTable {
 public:
  static constexpr int kGpus = 64;
  static constexpr int kProcesses = 256;

  /// Maps the file, and makes it where it is not there yet.
  /// @throws std::system_error
  explicit SharedTable(const std::string& path);
  ~SharedTable();
  SharedTable(const SharedTable&) = delete;
  SharedTable& operator=(const SharedTable&) = delete;

  /// The column of a GPU. @param key never 0, the same for the same GPU in every process @returns -1: there is none free
  [[nodiscard]] int column_of(std::uint64_t key) noexcept;

  /// The calling process's row, claimed if it has none. @returns -1: there is none free
  [[nodiscard]] int claim_row() noexcept;

  [[nodiscard]] std::atomic<std::uint64_t>& cell(int row, int column) noexcept;

  /// Bytes of a column, the dead included that nobody has noticed yet.
  [[nodiscard]] std::uint64_t sum(int column) const noexcept;

  /// Frees the rows of processes that have ended.
  void forget_the_dead() noexcept;

  /// The processes that hold something of a GPU, in the order in which they came.
  [[nodiscard]] std::vector<ProcessUse> uses(int column) const;

 private:
  struct Row {
    std::atomic<ProcessIdentity> identity;
    std::atomic<std::uint64_t> bytes[kGpus];
  };
  struct Layout {
    std::atomic<std::uint64_t> gpus[kGpus];
    std::atomic<std::uint64_t> rows_used;
    Row rows[kProcesses];
  };
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "the table is shared between processes");

  [[nodiscard]] int used() const noexcept { return static_cast<int>(layout_->rows_used.load()); }
  int try_claim(ProcessIdentity identity) noexcept;

  Layout* layout_;
};

}  // namespace devsan::memory
