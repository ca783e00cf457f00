// Drawn programs under drawn options, all options together, against a model that knows what must always hold.
// DEVSAN_FUZZ=<first seed>-<last seed> runs those programs instead of the first ones.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <initializer_list>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "memory/caching_allocator.h"
#include "memory/ledger.h"
#include "memory/size_rules.h"

namespace devsan::memory {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

/// Draws the same for the same seed, with every standard library: the distributions of <random> differ between them.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed) {}

  /// In [low, high].
  std::uint64_t between(std::uint64_t low, std::uint64_t high) { return low + random_() % (high - low + 1); }
  bool chance(std::uint64_t percent) { return between(1, 100) <= percent; }
  template <typename Value>
  Value of(std::initializer_list<Value> values) {
    return *(values.begin() + static_cast<std::ptrdiff_t>(between(0, values.size() - 1)));
  }

 private:
  std::mt19937_64 random_;
};

std::string drawn_settings(Draw& draw) {
  std::string text;
  const auto add = [&](const std::string& option) { text += (text.empty() ? "" : ",") + option; };
  // The limits first: what they may be depends on the size of a segment that was set before them.
  if (draw.chance(50)) add("max_split_size_mb:" + std::to_string(draw.of({20U, 21U, 40U, 64U, 100U, 300U})));
  if (draw.chance(30)) add("max_non_split_rounding_mb:" + std::to_string(draw.of({20U, 33U, 64U, 200U})));
  if (draw.chance(25)) add("large_segment_size_mb:" + std::to_string(draw.of({11U, 20U, 32U, 64U, 250U})));
  if (draw.chance(60)) add(draw.chance(75) ? "expandable_segments:True" : "expandable_segments:False");
  if (draw.chance(30))
    add(draw.of<std::string>({"roundup_power2_divisions:4", "roundup_power2_divisions:[1:2,64:8,>:1]"}));
  if (draw.chance(40))
    add(draw.of<std::string>({"garbage_collection_threshold:0.3", "garbage_collection_threshold:0.8"}));
  if (draw.chance(25))
    add(draw.of<std::string>({"per_process_memory_fraction:0.6", "per_process_memory_fraction:0.97"}));
  return text;
}

DeviceBudget drawn_budget(Draw& draw) {
  const std::uint64_t total = draw.of({96, 512, 1024, 1500}) * kMiB;
  return {.total_bytes = total,
          .busy_bytes = draw.chance(25) ? total / draw.between(5, 10) : 0,
          .context_bytes = draw.chance(50) ? total / 50 : 0};
}

/// A program that takes and gives back memory of one device, and the model that its allocator is compared with.
class Program {
 public:
  explicit Program(std::uint64_t seed)
      : draw_(seed),
        changes_settings_(draw_.chance(40)),
        text_(drawn_settings(draw_)),
        budget_(drawn_budget(draw_)),
        allocator_(0, budget_, Settings::parse(text_)),
        largest_page_(allocator_.settings().large_segment_size()) {
    allocator_.record_history(true, std::size_t{1} << 20);
  }

  void run(int steps) {
    SCOPED_TRACE("settings: " + text_ + ", device: " + format_size(budget_.total_bytes));
    for (int step = 0; step < steps; ++step) {
      SCOPED_TRACE("step " + std::to_string(step));
      one_step();
      if (step % 8 == 0) check();
      if (testing::Test::HasFailure()) return;
    }
    end();
  }

 private:
  struct Held {
    Block* block;
    std::size_t size;
    std::size_t requested;
  };

  void one_step() {
    const std::uint64_t choice = draw_.between(0, 999);
    if (choice < 500 || held_.empty()) {
      allocate(drawn_size(), drawn_stream());
    } else if (choice < 900) {
      free_one();
    } else if (choice < 950) {
      const auto found = drawn_held();
      const StreamId stream = drawn_stream();
      allocator_.record_stream(found->second.block, stream);
      if (stream != found->second.block->stream) recorded_.insert(found->first);
    } else if (choice < 960) {
      while (!held_.empty() && draw_.chance(90)) free_one();
    } else if (choice < 970) {
      allocator_.empty_cache();
      waiting_.clear();
      expect_nothing_releasable();
    } else if (choice < 980) {
      beside_the_cache();
    } else if (choice < 985) {
      allocator_.reset_peak_stats();
    } else if (choice < 990) {
      allocator_.set_memory_fraction(draw_.of({0.3, 0.7, 0.95, 1.0}));
    } else if (changes_settings_) {
      change_settings();
    }
  }

  StreamId drawn_stream() { return draw_.chance(60) ? 0 : draw_.between(1, 2); }

  std::size_t drawn_size() {
    if (draw_.chance(25)) {  // large and round, as the pages and limits are
      return draw_.between(1, budget_.total_bytes / kMiB / 2) * kMiB;
    }
    return draw_.between(1, std::uint64_t{1} << draw_.between(4, 28));
  }

  std::map<Address, Held>::iterator drawn_held() {
    return std::next(held_.begin(), static_cast<std::ptrdiff_t>(draw_.between(0, held_.size() - 1)));
  }

  void allocate(std::size_t bytes, StreamId stream) {
    const Stats before = allocator_.stats();
    waiting_.clear();  // an allocation ends all waiting
    try {
      Block* block = allocator_.allocate(bytes, stream);
      ASSERT_NE(block, nullptr);
      EXPECT_EQ(block->stream, stream);
      EXPECT_EQ(block->owner, &allocator_);
      EXPECT_EQ(block->requested_size, bytes);
      EXPECT_GE(block->size, bytes);
      EXPECT_EQ(block->size % kMinBlockSize, 0U);
      EXPECT_EQ(block->address % kMinBlockSize, 0U);
      expect_apart(block);
      held_.emplace(block->address, Held{block, block->size, bytes});
    } catch (const OutOfMemory& refused) {
      EXPECT_EQ(allocator_.stats().allocated_bytes.all().current, before.allocated_bytes.all().current);
      EXPECT_EQ(allocator_.stats().num_ooms, before.num_ooms + 1);
      expect_nothing_left_for(refused.figures());
    }
  }

  void expect_apart(const Block* block) {
    const auto after = held_.lower_bound(block->address);
    if (after != held_.end()) {
      EXPECT_LE(block->address + block->size, after->first) << "overlaps the block after it";
    }
    if (after != held_.begin()) {
      const auto before = std::prev(after);
      EXPECT_LE(before->first + before->second.size, block->address) << "overlaps the block before it";
    }
  }

  void free_one() {
    const auto found = drawn_held();
    EXPECT_EQ(found->second.block->address, found->first) << "a held block was moved";
    EXPECT_EQ(found->second.block->size, found->second.size) << "a held block was cut";
    if (recorded_.erase(found->first) > 0) waiting_.insert(*found);
    allocator_.free(found->second.block);
    held_.erase(found);
  }

  void beside_the_cache() {
    if (!direct_.empty() && draw_.chance(60)) {
      EXPECT_TRUE(allocator_.device_free(direct_.begin()->first));
      EXPECT_FALSE(allocator_.device_free(direct_.begin()->first)) << "freed twice";
      direct_.erase(direct_.begin());
      return;
    }
    const std::uint64_t bytes = draw_.between(1, 30 * kMiB);
    const std::uint64_t free_bytes = allocator_.free_bytes();
    const Address address = allocator_.device_allocate(bytes);
    EXPECT_EQ(address != 0, round_up(bytes, kRoundLarge) <= free_bytes);
    if (address != 0) direct_.emplace(address, bytes);
  }

  void change_settings() {
    const std::string text = drawn_settings(draw_);
    try {
      allocator_.update_settings(text);
      text_ += " then " + text;
    } catch (const std::invalid_argument&) {  // a limit below the large_segment_size that is there from before
      EXPECT_NE(allocator_.settings().text(), text);
    }
    largest_page_ = std::max(largest_page_, allocator_.settings().large_segment_size());
  }

  /// Bytes that emptying the cache would return to the device: whole segments, and whole pages of expandable ones.
  /// Pages start at a multiple of their size from the segment's start, which a snapshot does not tell: so only a free
  /// stretch of two pages must hold one.
  void expect_nothing_releasable() {
    const std::size_t page = largest_page_;
    for (const Segment& segment : allocator_.snapshot()) {
      if (!segment.is_expandable) {
        EXPECT_GT(segment.active_size, 0U) << "a segment that nobody uses stayed";
        continue;
      }
      for (const SegmentBlock& block : segment.blocks) {
        if (block.state == BlockState::kInactive) {
          EXPECT_LT(block.size, 2 * (segment.is_large ? page : kSmallBuffer)) << "free pages stayed";
        }
      }
    }
  }

  /// Out of memory is only for a request that cap or device has no room for once all is released that can be.
  void expect_nothing_left_for(const OutOfMemoryFigures& figures) {
    EXPECT_EQ(figures.device_free, allocator_.free_bytes());
    if (figures.allowed && figures.reserved + figures.tried > *figures.allowed) {
      expect_nothing_releasable();
    } else if (!figures.expandable_segments) {
      EXPECT_GT(round_up(figures.tried, kRoundLarge), figures.device_free);
      expect_nothing_releasable();
    } else {
      // Pages that were mapped before the device had no more stay cached.
      for (const Segment& segment : allocator_.snapshot()) {
        EXPECT_TRUE(segment.is_expandable || segment.active_size > 0) << "a segment that nobody uses stayed";
      }
      EXPECT_LT(figures.device_free, figures.tried + largest_page_);
    }
  }

  /// The snapshot against the model, and the counters against both.
  void check() {
    const Stats stats = allocator_.stats();
    struct Sums {
      std::size_t reserved = 0, allocated = 0, active = 0, requested = 0, inactive_split = 0;
      std::int64_t segments = 0, allocations = 0, actives = 0, inactive_splits = 0;
    };
    std::array<Sums, 3> sums{};
    std::uint64_t from_device = 0;
    std::int64_t oversize_segments = 0;
    Address end_of_last = 0;
    std::size_t seen_held = 0;
    std::size_t seen_waiting = 0;
    const std::size_t oversize = allocator_.settings().max_split_size();
    for (const Segment& segment : allocator_.snapshot()) {
      ASSERT_GE(segment.address, end_of_last) << "segments overlap";
      end_of_last = segment.address + segment.total_size;
      from_device += segment.is_expandable ? segment.total_size : round_up(segment.total_size, kRoundLarge);
      Sums one;
      bool last_inactive = false;
      for (const SegmentBlock& block : segment.blocks) {
        ASSERT_EQ(block.address, segment.address + one.reserved) << "a gap between blocks";
        one.reserved += block.size;
        const bool inactive = block.state == BlockState::kInactive;
        ASSERT_FALSE(inactive && last_inactive) << "free neighbors that were not merged";
        last_inactive = inactive;
        if (inactive) {
          if (segment.blocks.size() > 1 && !segment.is_expandable) {
            one.inactive_split += block.size;
            ++one.inactive_splits;
          }
          ASSERT_FALSE(held_.contains(block.address)) << "a held block counts as free";
          continue;
        }
        const bool allocated = block.state == BlockState::kActiveAllocated;
        const auto& expected = allocated ? held_ : waiting_;
        const auto found = expected.find(block.address);
        ASSERT_NE(found, expected.end()) << "a block that nobody holds: " << name(block.state);
        ASSERT_EQ(found->second.size, block.size);
        ASSERT_EQ(found->second.requested, block.requested_size);
        ++one.actives;
        one.active += block.size;
        one.requested += block.requested_size;
        (allocated ? seen_held : seen_waiting) += 1;
        if (allocated) {
          ++one.allocations;
          one.allocated += block.size;
        }
      }
      ASSERT_EQ(one.reserved, segment.total_size);
      ASSERT_EQ(one.active, segment.active_size);
      ASSERT_EQ(one.allocated, segment.allocated_size);
      ASSERT_EQ(one.requested, segment.requested_size);
      one.segments = segment.is_expandable ? 0 : 1;
      if (!segment.is_expandable && segment.total_size >= oversize) ++oversize_segments;
      for (Sums* sum : {&sums[0], &sums[segment.is_large ? 2 : 1]}) {
        sum->reserved += one.reserved;
        sum->allocated += one.allocated;
        sum->active += one.active;
        sum->requested += one.requested;
        sum->inactive_split += one.inactive_split;
        sum->segments += one.segments;
        sum->allocations += one.allocations;
        sum->actives += one.actives;
        sum->inactive_splits += one.inactive_splits;
      }
    }
    ASSERT_EQ(seen_held, held_.size()) << "a held block is in no segment";
    ASSERT_EQ(seen_waiting, waiting_.size());
    for (std::size_t pool = 0; pool < sums.size(); ++pool) {
      SCOPED_TRACE(kStatPoolNames[pool]);
      const auto expect = [&](const char* what, const StatArray& array, auto value) {
        const Stat& stat = array.by_pool[pool];
        EXPECT_EQ(stat.current, static_cast<std::int64_t>(value)) << what;
        EXPECT_EQ(stat.allocated - stat.freed, stat.current) << what;
        EXPECT_GE(stat.peak, stat.current) << what;
      };
      expect("reserved_bytes", stats.reserved_bytes, sums[pool].reserved);
      expect("allocated_bytes", stats.allocated_bytes, sums[pool].allocated);
      expect("active_bytes", stats.active_bytes, sums[pool].active);
      expect("requested_bytes", stats.requested_bytes, sums[pool].requested);
      expect("inactive_split_bytes", stats.inactive_split_bytes, sums[pool].inactive_split);
      expect("segment", stats.segment, sums[pool].segments);
      expect("allocation", stats.allocation, sums[pool].allocations);
      expect("active", stats.active, sums[pool].actives);
      expect("inactive_split", stats.inactive_split, sums[pool].inactive_splits);
    }
    if (!changes_settings_) {  // torch, too, counts by the limit of the moment
      EXPECT_EQ(stats.oversize_segments.current, oversize_segments);
      EXPECT_EQ(stats.oversize_allocations.current,
                std::ranges::count_if(held_, [&](const auto& held) { return held.second.size >= oversize; }));
    }
    for (const auto& [address, bytes] : direct_) from_device += round_up(bytes, kRoundLarge);
    const std::uint64_t used = from_device + budget_.busy_bytes + budget_.context_bytes;
    EXPECT_LE(used, budget_.total_bytes) << "more was taken than there is";
    EXPECT_EQ(allocator_.free_bytes(), budget_.total_bytes - std::min(used, budget_.total_bytes));
    EXPECT_EQ(Ledger::live_bytes(0), stats.allocated_bytes.all().current);
  }

  /// Everything goes back, and the history tells the same story.
  void end() {
    while (!held_.empty()) free_one();
    while (!direct_.empty()) {
      EXPECT_TRUE(allocator_.device_free(direct_.begin()->first));
      direct_.erase(direct_.begin());
    }
    check();
    allocator_.empty_cache();
    waiting_.clear();
    check();
    EXPECT_TRUE(allocator_.snapshot().empty());
    EXPECT_EQ(allocator_.free_bytes(), budget_.total_bytes - budget_.busy_bytes - budget_.context_bytes);
    replay();
  }

  void replay() {
    std::map<Address, std::size_t> allocated;
    std::set<Address> freeing;
    std::map<Address, std::size_t> segments;
    std::int64_t mapped = 0;
    std::int64_t device_allocations = 0;
    std::int64_t device_frees = 0;
    for (const TraceEvent& event : allocator_.trace()) {
      switch (event.action) {
        case TraceAction::kAlloc:
          EXPECT_TRUE(allocated.emplace(event.address, event.size).second) << "handed out twice";
          break;
        case TraceAction::kFreeRequested:
          EXPECT_EQ(allocated.at(event.address), event.size);
          EXPECT_TRUE(freeing.insert(event.address).second) << "freed twice";
          break;
        case TraceAction::kFreeCompleted:
          EXPECT_EQ(freeing.erase(event.address), 1U);
          allocated.erase(event.address);
          break;
        case TraceAction::kSegmentAlloc:
          EXPECT_TRUE(segments.emplace(event.address, event.size).second) << "a segment where there is one";
          ++device_allocations;
          break;
        case TraceAction::kSegmentFree: {
          const auto found = segments.find(event.address);
          ASSERT_NE(found, segments.end()) << "cudaFree of what cudaMalloc did not give";
          EXPECT_EQ(found->second, event.size);
          segments.erase(found);
          ++device_frees;
          break;
        }
        case TraceAction::kSegmentMap:
          mapped += static_cast<std::int64_t>(event.size);
          ++device_allocations;
          break;
        case TraceAction::kSegmentUnmap:
          mapped -= static_cast<std::int64_t>(event.size);
          ++device_frees;
          break;
        case TraceAction::kSnapshot:
        case TraceAction::kOutOfMemory:
          break;
      }
      if (testing::Test::HasFailure()) return;
    }
    EXPECT_TRUE(allocated.empty());
    EXPECT_TRUE(segments.empty());
    EXPECT_EQ(mapped, 0);
    EXPECT_EQ(allocator_.stats().num_device_alloc, device_allocations);
    EXPECT_EQ(allocator_.stats().num_device_free, device_frees);
  }

  Draw draw_;
  bool changes_settings_;
  std::string text_;
  DeviceBudget budget_;
  CachingAllocator allocator_;
  std::map<Address, Held> held_;
  std::map<Address, Held> waiting_;  ///< freed, and still used by another stream
  std::set<Address> recorded_;       ///< held, and used by another stream
  std::map<Address, std::uint64_t> direct_;
  std::size_t largest_page_;  ///< that any settings so far gave expandable segments
};

TEST(AllocatorFuzz, HoldsItsInvariantsUnderAllOptionsTogether) {
  std::uint64_t first = 1;
  std::uint64_t last = 300;
  if (const char* range = std::getenv("DEVSAN_FUZZ")) {
    char dash = 0;
    ASSERT_TRUE(std::istringstream(range) >> first >> dash >> last && dash == '-') << "expected 1-300, got " << range;
  }
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Program(seed).run(400);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace devsan::memory
