#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <memory_resource>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "memory/block.h"
#include "memory/block_pool.h"
#include "memory/device_memory.h"
#include "memory/expandable_segment.h"
#include "memory/gauges.h"
#include "memory/out_of_memory.h"
#include "memory/peak_watch.h"
#include "memory/settings.h"
#include "memory/snapshot.h"
#include "memory/stats.h"
#include "memory/stream_progress.h"
#include "memory/trace.h"

namespace devsan::memory {

/// torch's CUDA caching allocator for one emulated device, without the bytes: it keeps the same
/// segments, splits, merges and counts as DeviceCachingAllocator in c10/cuda/CUDACachingAllocator.cpp
/// (torch 2.13) over a simulated device of the given budget, so that memory figures, fragmentation
/// and out-of-memory come out as on the real one. Private pools (CUDA graphs, MemPool) are not emulated.
///
/// All public functions may be called from any thread.
class CachingAllocator {
 public:
  /// @param device the index that reports and sentences use
  /// @param release whose sentences OutOfMemory speaks
  CachingAllocator(int device, DeviceBudget budget, Settings settings = {}, TorchRelease release = {});

  /// Blocks still held are forgotten; freeing one afterwards is an error of the caller.
  ~CachingAllocator();
  CachingAllocator(const CachingAllocator&) = delete;
  CachingAllocator& operator=(const CachingAllocator&) = delete;

  [[nodiscard]] int device() const noexcept { return device_; }

  /// Takes the memory of the CUDA context, as the first use of a device does. allocate, device_allocate and
  /// free_bytes do so themselves.
  void open();

  /// What is reserved here no longer counts in front of the other processes of the job, and is no longer shown.
  void stop_sharing();

  /// Shows what is held, now and after each change, on `gauges`; null: on none. See NOTE [Gauges].
  void show_on(std::shared_ptr<Gauges> gauges);

  /// A block of at least `bytes` bytes, to be given back by free; nullptr for 0 bytes.
  /// @param stack what snapshot and trace report as the place of the allocation
  /// @param tag what collect_tags tells of it
  /// @param momentary what held_blocks tell of it: the caller needs it for a moment only
  /// @throws OutOfMemory when neither cache nor device has room; nothing is taken then
  Block* allocate(std::size_t bytes, StreamId stream, StackId stack = 0, Tag tag = 0, bool momentary = false);

  /// Whether allocate would surely find room now. Where it says no, allocate may still find some in the cache.
  [[nodiscard]] bool has_room(std::size_t bytes, StreamId stream);

  /// Gives a block back to the cache. Does nothing for nullptr. A block that other streams used stays active until an
  /// allocation finds that they are done with it: the next one, unless `follow` said how far they have come.
  void free(Block* block) noexcept;

  /// Gives a block that is held another tag.
  void set_tag(Block* block, Tag tag) noexcept;

  /// Says what a block that is held is used for.
  void set_use(Block* block, Use use) noexcept;

  /// Adds the tag of every block that is held.
  void collect_tags(std::vector<Tag>& tags) const;

  /// The block is also used by `stream`. Without effect for the stream it was allocated on, and for nullptr.
  void record_stream(Block* block, StreamId stream);

  /// Asks `progress`, which must outlive this, how far streams have come. See NOTE [A GPU behind its host].
  void follow(StreamProgress* progress) noexcept { progress_ = progress; }

  /// Returns every segment that holds no active block to the device.
  void empty_cache();

  /// Caps what the allocator may reserve at a share of the device's total memory; 1 lifts the cap.
  /// @throws std::invalid_argument unless 0 <= fraction <= 1
  void set_memory_fraction(double fraction);

  /// The share that the cap is of the total memory, in whole bytes as torch computes it; 1 without a cap.
  [[nodiscard]] double memory_fraction() const;

  [[nodiscard]] Settings settings() const;

  /// Applies new settings from the next call on; segments that exist stay as they are.
  /// @throws std::invalid_argument as Settings::update, with nothing changed
  void update_settings(std::string_view text);

  /// cudaMemGetInfo: total - busy - context - all that is reserved, here or by device_allocate. Opens the device.
  [[nodiscard]] std::uint64_t free_bytes();
  [[nodiscard]] std::uint64_t total_bytes() const noexcept { return memory_.total_bytes(); }

  /// What could still be reserved: what is free, and what torch could give back. Leaves a device that was not used closed.
  [[nodiscard]] std::uint64_t room() const;

  /// What was held when memory ran out the last time; null when it never has.
  [[nodiscard]] std::shared_ptr<const Exhaustion> last_exhaustion() const;

  /// What was held when the most was held, up to now; null where nobody watched. See NOTE [The moment of the peak].
  [[nodiscard]] std::shared_ptr<const Peak> peak();

  /// Whether the last allocation went higher than all before, while somebody watches; then tell_peak_cause is to follow.
  [[nodiscard]] bool asks_for_peak_cause() const noexcept { return peak_.asks(); }
  void tell_peak_cause(std::uint64_t cause);

  /// cudaMalloc beside the allocator (a library's workspace). Takes whole pages of 2 MiB.
  /// @returns 0 when the device has too little memory, or for 0 bytes
  [[nodiscard]] Address device_allocate(std::uint64_t bytes);

  /// cudaFree. @returns false when device_allocate did not give this address
  bool device_free(Address address);

  [[nodiscard]] Stats stats() const;
  void reset_peak_stats();
  void reset_accumulated_stats();

  /// All segments with their blocks, by address. Leaves a snapshot event in the trace, as torch does.
  [[nodiscard]] std::vector<Segment> snapshot();

  /// Starts or stops noting events; stopping forgets them.
  void record_history(bool enabled, std::size_t max_entries);
  [[nodiscard]] bool is_history_recorded() const;
  [[nodiscard]] std::vector<TraceEvent> trace() const;

  /// For pthread_atfork: hold the lock across a fork, so that the child does not inherit it taken.
  void before_fork() { mutex_.lock(); }
  void after_fork() { mutex_.unlock(); }

 private:
  /// Holds the lock while figures change, and shows them at the end.
  class Change {
   public:
    explicit Change(CachingAllocator& allocator) : lock_(allocator.mutex_), allocator_(allocator) {}
    ~Change() { allocator_.show(); }
    Change(const Change&) = delete;
    Change& operator=(const Change&) = delete;

   private:
    std::lock_guard<std::mutex> lock_;
    CachingAllocator& allocator_;
  };

  struct Request {
    std::size_t size;          ///< of the block
    std::size_t segment_size;  ///< of the segment that would be made for it
    StreamId stream;
    StackId stack;
    BlockPool& pool;
  };

  /// A freed block waits for a stream.
  struct Wait {
    Block* block;
    std::uint64_t moment;      ///< of the stream
    std::uint64_t allocation;  ///< how many there had been
  };

  // caching_allocator.cpp: a block for a request
  Block* find_cached(const Request& request);
  BlockPool::Cached::iterator expandable_candidate(BlockPool::Cached::iterator found, const Request& request) const;
  [[nodiscard]] bool should_split(const Block* block, std::size_t size) const noexcept;
  Block* hand_out(Block* found, const Request& request, std::size_t requested);
  Block* split(Block* whole, const Request& request);
  [[nodiscard]] bool is_oversize(std::size_t size) const noexcept { return size >= settings_.max_split_size(); }
  void note(TraceAction action, Address address, std::size_t size, StreamId stream, StackId stack) {
    if (trace_.is_enabled()) {
      trace_.add({.action = action, .address = address, .size = size, .stream = stream, .stack = stack});
    }
  }

  void show() const noexcept {
    if (gauges_ != nullptr) {
      gauges_->show(device_, static_cast<std::uint64_t>(stats_.allocated_bytes.all().current),
                    static_cast<std::uint64_t>(stats_.reserved_bytes.all().current), memory_.process_bytes());
    }
  }

  // block_free.cpp: a block back to its pool
  void cache(Block* block);
  std::size_t merge(Block* into, Block* other);
  void release_waiting_blocks(bool is_waited_for);

  // segment_growth.cpp: memory from the device
  Block* grow(const Request& request);
  Block* new_segment(const Request& request);
  Block* expand(const Request& request);
  Block* find_room(const Request& request);
  bool map(Block* block, std::size_t size, StackId stack);

  // segment_release.cpp: memory back to the device
  void collect_garbage();
  bool release_oversize_blocks(const Request& request);
  void release_cached_blocks();
  void release_pool(BlockPool& pool);
  void release_segment(Block* block);
  void unmap(Block* block);
  void release_expandable_segment(Block* block);

  // allocator_report.cpp: what is told
  OutOfMemory out_of_memory(const Request& request, std::size_t requested);
  [[nodiscard]] std::vector<TaggedBlock> held_blocks() const;
  void keep_peak();
  [[nodiscard]] Segment segment_at(const Block* head) const;

  mutable std::mutex mutex_;
  const int device_;
  const TorchRelease release_;
  Settings settings_;
  DeviceMemory memory_;
  Stats stats_;
  Trace trace_;
  BlockStore blocks_;
  std::pmr::unsynchronized_pool_resource nodes_;  ///< of the pools' sets: no heap in the cached case
  BlockPool small_;
  BlockPool large_;
  std::map<StreamId, std::deque<Wait>> waits_;  ///< by the stream that is waited for, the earliest first
  StreamProgress* progress_ = nullptr;          ///< null: streams are never behind
  std::vector<std::unique_ptr<ExpandableSegment>> expandable_segments_;
  std::unordered_map<Address, std::uint64_t> device_allocations_;
  std::int32_t segments_made_ = 0;
  std::uint64_t reserved_ = 0;                  ///< bytes of all segments
  std::optional<std::uint64_t> allowed_bytes_;  ///< set_memory_fraction
  std::shared_ptr<const Exhaustion> last_exhaustion_;
  PeakWatch peak_;
  std::shared_ptr<Gauges> gauges_;  ///< null: nothing is shown
  std::uint64_t allocations_ = 0;
};

}  // namespace devsan::memory
