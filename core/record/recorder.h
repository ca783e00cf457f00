#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "record/placement_table.h"
#include "record/stack_depot.h"

namespace devsan::record {

/// Captures the calling thread's Python stack into `depot`. Installed by the bindings, which alone know Python.
using CaptureStack = StackId (*)(StackDepot& depot);

/// What this process has seen: where tensors were placed. There is one, and it is never destroyed, because tensors carry
/// its numbers to their end.
class Recorder {
 public:
  static Recorder& instance();

  /// Whether placements are noted. Off until `start`; off means no stack is ever captured.
  bool is_on() const noexcept { return on_.load(std::memory_order_relaxed); }
  void start(CaptureStack capture);
  void stop() noexcept { on_.store(false, std::memory_order_relaxed); }

  /// Notes that the calling thread places a tensor. Costs one capture of the stack, which takes the place of
  /// `placement.stack`.
  /// @param bytes that are copied; 0 when nothing is
  /// @return kUnknownPlacement when recording is off
  PlacementId note(Placement placement, std::uint64_t bytes = 0);

  /// Notes that the tensor that was noted as `made` is filled from one that was placed as `source` on `from`. In the
  /// very statement that made it this is a copy: from another device a move, from the same one no placement of its own.
  /// A later statement that fills it changes nothing about where it is.
  /// @return the tensor's placement
  PlacementId note_filled(PlacementId made, OperatorId op, std::int8_t from, PlacementId source, std::uint64_t bytes);

  std::optional<PlacementRecord> find(PlacementId id) const { return placements_.find(id); }
  std::vector<Frame> stack(StackId id) const { return stacks_.get(id); }
  std::size_t placement_count() const { return placements_.size(); }

  /// The number of an operator's name, the same for the same name.
  OperatorId intern(std::string_view name);
  /// The name under `id`; empty for kNoOperator.
  std::string operator_name(OperatorId id) const;

 private:
  Recorder();
  static void before_fork();
  static void after_fork();

  std::atomic<bool> on_{false};
  std::atomic<CaptureStack> capture_{nullptr};
  StackDepot stacks_;
  PlacementTable placements_;
  mutable std::mutex names_mutex_;
  std::vector<std::string> names_;
  std::unordered_map<std::string, OperatorId> name_ids_;
};

}  // namespace devsan::record
