#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "record/placement_table.h"
#include "record/stack_depot.h"

namespace devsan::record {

/// What the recorder asks of others.
struct Callbacks {
  using UseStack = std::function<void(std::span<const Frame>)>;

  /// Calls `use` with the calling thread's Python stack, innermost frame first; none where Python does not know the
  /// thread. Nothing of the stack goes away meanwhile: Python's lock is held.
  void (*with_stack)(const UseStack& use);
  /// Called while it does.
  StackDepot::KeepCode keep;
  /// Gives back the references of `keep`. Called without any lock.
  void (*release)(std::span<const void* const> codes);
  /// Adds the placements that memory of GPUs carries. Called without any lock.
  void (*collect_live)(std::vector<PlacementId>& live);
};

/// What this process has seen: where tensors were placed. There is one, and it is never destroyed, because tensors carry
/// its numbers to their end. May be used from any thread.
class Recorder {
 public:
  static constexpr std::size_t kDefaultBudget = std::size_t{64} << 20;

  static Recorder& instance();

  /// Whether placements are noted. Off until `start`; off means no stack is ever captured.
  bool is_on() const noexcept { return on_.load(std::memory_order_relaxed); }
  /// @param budget bytes that the records may take: see NOTE [When the recorder is full]
  void start(const Callbacks& callbacks, std::size_t budget = kDefaultBudget);
  void stop() noexcept { on_.store(false, std::memory_order_relaxed); }

  /// Notes that the calling thread places a tensor. Costs one capture of the stack, which takes the place of
  /// `placement.stack`.
  /// @param bytes that are copied; 0 when nothing is
  /// @return kUnknownPlacement when recording is off, kDroppedPlacement when there is no room
  PlacementId note(Placement placement, std::uint64_t bytes = 0);

  /// Notes where the calling thread is, for something that is no tensor's placement, while one may be under way.
  /// @return kUnknownPlacement when recording is off, and when there is no room
  PlacementId note_aside(const Placement& placement);

  /// Notes that the tensor that was noted as `made` is filled from one that was placed as `source` on `from`. In the
  /// very statement that made it this is a copy: from another device a move, from the same one no placement of its own.
  /// A later statement that fills it changes nothing about where it is.
  /// @return the tensor's placement
  PlacementId note_filled(PlacementId made, OperatorId op, std::int8_t from, PlacementId source, std::uint64_t bytes);

  /// Whether the calling thread noted `id` last.
  static bool is_latest(PlacementId id) noexcept { return id != kUnknownPlacement && id == latest().noted; }

  std::optional<PlacementRecord> find(PlacementId id) const;
  std::vector<Frame> stack(StackId id) const;
  std::size_t placement_count() const;
  /// The numbers of all placements that are kept, in the order in which they came.
  std::vector<PlacementId> placements() const;

  std::size_t bytes() const;
  std::size_t budget() const;

  /// The number of an operator's name, the same for the same name.
  OperatorId intern(std::string_view name);
  /// The name under `id`; empty for kNoOperator.
  std::string operator_name(OperatorId id) const;

 private:
  /// What a thread noted last, which may be on its way into a tensor's memory. Known to the recorder while the thread lives.
  struct Latest {
    Latest();
    ~Latest();
    Latest(const Latest&) = delete;
    Latest& operator=(const Latest&) = delete;

    PlacementId noted = kUnknownPlacement;      ///< unless it was filled since: `note_filled` looks for it
    PlacementId given_out = kUnknownPlacement;  ///< what the last call returned
  };

  Recorder() = default;
  static Latest& latest();
  static void before_fork();
  static void after_fork();
  static void after_fork_in_child();

  std::size_t taken() const noexcept { return stacks_.bytes() + placements_.bytes(); }
  bool is_nearly_full() const noexcept;
  bool is_full() const noexcept { return taken() >= budget_ || placements_.is_out_of_numbers(); }
  PlacementId count(Placement placement, std::span<const Frame> frames, std::uint64_t bytes);
  PlacementId count_filled(PlacementId made, const Placement& how, std::span<const Frame> frames, std::uint64_t bytes);
  bool wants_sweep(std::span<const Frame> frames) const noexcept;
  /// Makes room, or waits for the thread that does.
  void sweep();
  /// @param codes gets the code objects that no stack needs any more
  void drop_unneeded(std::vector<const void*>& codes);

  std::atomic<bool> on_{false};
  std::atomic<bool> sweeping_{false};
  mutable std::mutex mutex_;
  Callbacks callbacks_{};
  StackDepot stacks_;
  PlacementTable placements_;
  std::size_t budget_ = kDefaultBudget;
  std::vector<Latest*> threads_;
  std::size_t asked_for_ = 0;  ///< bytes, since the last sweep

  mutable std::mutex names_mutex_;
  std::vector<std::string> names_;
  std::unordered_map<std::string, OperatorId> name_ids_;
};

}  // namespace devsan::record
