#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "order/access.h"
#include "order/clocks.h"
#include "record/recorder.h"

namespace devsan::order {

/// NOTE [The order of streams]
/// Each stream and the host have a clock. A kernel knows what its stream and the host knew when it was launched; an event
/// hands on what its stream knew; the host learns by waiting. What was read or written before, and is not known, may be
/// under way on a GPU: two such accesses, one of which writes, are a race. Memory goes back to the stream that asked for
/// it, so what other streams did with it must be known there before the next kernel gets that memory, unless
/// `record_stream` has told the allocator.
///
/// Misses are better than false alarms: all threads of the host are one, tensors with gaps meet only where they
/// certainly do, and of an allocation the latest accesses are kept.
///
/// The clocks alone are followed from the first `record_stream` on: the allocator asks how far a stream has come.
class Monitor {
 public:
  /// Called without any lock, on the thread of the later access.
  using Told = std::function<void(const Race&)>;

  static Monitor& instance();

  /// Whether clocks are followed. One load of a flag while nobody asked for it.
  static bool is_on() noexcept { return on_.load(std::memory_order_relaxed); }
  /// Whether accesses are compared as well.
  static bool is_watching() noexcept { return watching_.load(std::memory_order_relaxed); }

  /// Follows the clocks from now on. What they know stays: events may have marks of an earlier time.
  static void follow() noexcept { on_.store(true, std::memory_order_relaxed); }
  /// Follows the clocks, and tells of races.
  void start(Told told, void (*with_stack)(const record::Callbacks::UseStack&), record::StackDepot::KeepCode keep);
  /// Tells of no race any more; the clocks are followed further.
  static void stop_watching() noexcept { watching_.store(false, std::memory_order_relaxed); }
  /// Follows nothing any more.
  static void stop() noexcept {
    stop_watching();
    on_.store(false, std::memory_order_relaxed);
  }

  /// All that has been launched on `lane` so far is done when the host knows the moment that is returned.
  Time launched(Lane lane);
  bool host_knows(Lane lane, Time moment);

  /// An operator runs on `lane`. Nothing is done unless accesses are compared.
  void run(Lane lane, std::span<const Touch> touches, const std::string* op);

  /// What may still be under way as the host gets at `touch` by `op`, which is no operator.
  std::vector<Race> under_way(const Touch& touch, const std::string* op);
  /// The host has read by now: of `met`, what it does not know to be done yet is told.
  void tell_unknown(std::vector<Race> met);

  /// What `lane` knows now, itself included.
  VectorClock mark(Lane lane);
  /// The same, put where another thread may be about to wait for it.
  void mark(Lane lane, VectorClock& into);
  /// `lane` goes on after `mark`.
  void wait(Lane lane, const VectorClock& mark);
  void wait(Lane later, Lane earlier) { wait(later, mark(earlier)); }
  /// The host waits for all streams of a GPU.
  void wait_for_device(int device);

  /// Memory goes back to the allocator, which gives it to kernels of `owner` again.
  /// @param recorded streams that the allocator waits for (record_stream)
  void freed(std::uintptr_t memory, std::size_t size, Lane owner, std::span<const std::uint64_t> recorded);
  /// Memory goes back to somebody who knows who uses it.
  void forget(std::uintptr_t memory);

  std::vector<record::Frame> stack(record::StackId id) const;

  /// No other thread is in the middle of something in a child that is forked between the two.
  void before_fork() { mutex_.lock(); }
  void after_fork() { mutex_.unlock(); }

 private:
  /// Memory that was given back while another stream used it.
  struct Ghost {
    Lane owner;
    std::size_t size = 0;
    std::vector<Access> uses;
    record::StackId stack = record::kNoStack;
  };
  using Pair = std::tuple<Race::Kind, record::StackId, record::StackId>;

  record::StackId capture();
  bool knows(const VectorClock& clock, const Access& access) const noexcept {
    return clock.at(access.timeline) >= access.time;
  }
  /// Whether nothing orders two accesses to one allocation, of which `clock` knows what comes before the later one.
  bool are_unordered(const VectorClock& clock, const Access& earlier, const Access& later) const noexcept {
    return (earlier.writes || later.writes) && !knows(clock, earlier) && earlier.bytes.meet(later.bytes);
  }
  void find_races(const Touch& touch, const Access& access, std::vector<Race>& found);
  void find_reuse(const Access& access, std::vector<Race>& found);
  void note(const Touch& touch, const Access& access);
  void add(Race race, std::vector<Race>& found);

  static std::atomic<bool> on_;
  static std::atomic<bool> watching_;
  mutable std::mutex mutex_;
  Told told_;
  void (*with_stack_)(const record::Callbacks::UseStack&) = nullptr;
  record::StackDepot::KeepCode keep_ = nullptr;
  record::StackDepot stacks_;
  Clocks clocks_;
  std::unordered_map<std::uintptr_t, std::vector<Access>> accesses_;
  std::deque<Ghost> ghosts_;
  std::set<Pair> told_of_;
};

}  // namespace devsan::order
