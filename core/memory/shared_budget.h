#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "memory/process.h"
#include "memory/shared_table.h"

namespace devsan::memory {

/// The part of a GPU's memory that this process takes in front of the others of its job.
///
/// What a fork inherits stays its parent's: in the child nothing is shared any more, neither what it frees nor what it
/// takes (a forked child of a process that uses a GPU may not use it). A child forked before the first use has no part yet
/// and gets its own. Not thread-safe: the allocator's lock covers it.
class SharedBudget {
 public:
  /// @param gpu names the GPU, the same in every process of the job; never 0
  SharedBudget(std::shared_ptr<SharedTable> table, std::uint64_t gpu);
  ~SharedBudget() { leave(); }
  SharedBudget(const SharedBudget&) = delete;
  SharedBudget& operator=(const SharedBudget&) = delete;

  /// Joins at the first call. @returns whether this process has a part; else it stands alone
  [[nodiscard]] bool join() noexcept;

  /// Takes bytes without asking whether they are free: a context.
  void add(std::uint64_t bytes) noexcept;

  /// Takes bytes if all processes together then hold no more than `limit`.
  [[nodiscard]] bool take(std::uint64_t bytes, std::uint64_t limit) noexcept;

  void give_back(std::uint64_t bytes) noexcept;

  /// What all processes hold that live, this one included.
  [[nodiscard]] std::uint64_t used_bytes() noexcept;

  /// They one by one. Without those that have ended.
  [[nodiscard]] std::vector<ProcessUse> processes();

  /// Gives back what was taken here, for good.
  void leave() noexcept;

 private:
  [[nodiscard]] bool is_mine() const noexcept;

  std::shared_ptr<SharedTable> table_;
  int column_;
  int row_ = -1;
  int process_id_ = 0;  ///< that joined; 0: nobody yet
  std::uint64_t taken_ = 0;
};

}  // namespace devsan::memory
