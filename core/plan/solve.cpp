#include "plan/solve.h"

#include <algorithm>
#include <compare>
#include <limits>
#include <map>
#include <utility>

#include "plan/peak.h"

namespace devsan::plan {

namespace {

// NOTE [Exact by dynamic programming]
// With the blocks in order, a placement is: a head [0, i) and a tail [t, n) on the first GPU, and a row of segments that
// cover [i, t). Both what a segment holds at its peak and the bytes that it receives from elsewhere follow from the
// segment alone, whatever stands before it, so that the best cover of [i, t) with the GPUs that are left is a segment
// and the best cover of the rest: (sum of bytes, largest share), compared in this order, keeps that order when the same
// segment is put before two covers. GPUs with the same budget are interchangeable: the state is how many of each budget
// are used, and not which.

struct Cost {
  std::int64_t bytes = std::numeric_limits<std::int64_t>::max();
  double share = 0;

  bool is_possible() const { return bytes != std::numeric_limits<std::int64_t>::max(); }
  Cost with(const Cost& other) const { return {bytes + other.bytes, std::max(share, other.share)}; }
  auto operator<=>(const Cost&) const = default;
};

/// A segment [begin, end) of blocks that are not pinned.
struct Segment {
  std::int64_t peak = 0;
  std::int64_t bytes = 0;
};

struct Kind {
  std::int64_t budget = 0;
  std::vector<int> gpus;
  std::size_t stride = 0;  // of its count in a state
};

struct Step {
  Cost cost;
  std::size_t end = 0;
  std::size_t kind = 0;
};

class Solver {
 public:
  explicit Solver(const Problem& problem) : problem_(problem), blocks_(problem.blocks.size()) {
    std::map<std::int64_t, std::vector<int>> by_budget;
    for (std::size_t gpu = 1; gpu < problem.budgets.size(); ++gpu) {
      by_budget[problem.budgets[gpu]].push_back(static_cast<int>(gpu));
    }
    for (auto& [budget, gpus] : by_budget) {
      kinds_.push_back({budget, gpus, states_});
      states_ *= gpus.size() + 1;
    }
    segments_.resize((blocks_ + 1) * (blocks_ + 1));
    for (std::size_t begin = 0; begin < blocks_; ++begin) {
      for (std::size_t end = begin + 1; end <= blocks_; ++end) {
        const std::vector<int> row = row_of(begin, end);
        segments_[begin * (blocks_ + 1) + end] = {peak_of(problem_, row), received_by(problem_, row, false)};
      }
    }
  }

  std::optional<Placement> best() {
    Cost best;
    std::optional<Placement> found;
    for (std::size_t tail = blocks_; tail >= 1; --tail) {
      cover_until(tail);
      for (std::size_t head = 1; head <= tail; ++head) {
        const Cost rest = at(head, 0).cost;
        if (!rest.is_possible()) continue;
        const std::vector<int> first = on_first(head, tail);
        const Cost own = cost_of({peak_of(problem_, first), received_by(problem_, first, true)}, problem_.budgets[0]);
        if (!own.is_possible()) continue;
        if (const Cost whole = own.with(rest); whole < best) {
          best = whole;
          found = placement(head, tail);
          found->transferred = whole.bytes;
        }
      }
    }
    return found;
  }

 private:
  bool is_pinned(std::size_t block) const { return problem_.blocks[block].is_pinned; }

  std::vector<int> row_of(std::size_t begin, std::size_t end) const {
    std::vector<int> row;
    for (std::size_t block = begin; block < end; ++block) {
      if (!is_pinned(block)) row.push_back(static_cast<int>(block));
    }
    return row;
  }

  std::vector<int> on_first(std::size_t head, std::size_t tail) const {
    std::vector<int> first;
    for (std::size_t block = 0; block < blocks_; ++block) {
      if (block < head || block >= tail || is_pinned(block)) first.push_back(static_cast<int>(block));
    }
    return first;
  }

  static Cost cost_of(const Segment& segment, std::int64_t budget) {
    if (segment.peak > budget) return {};
    return {segment.bytes, budget > 0 ? static_cast<double>(segment.peak) / static_cast<double>(budget) : 0.0};
  }

  /// The best way to go on from a block, with the GPUs of a state in use.
  Step& at(std::size_t begin, std::size_t state) { return steps_[begin * states_ + state]; }

  std::size_t used(std::size_t state, const Kind& kind) const { return state / kind.stride % (kind.gpus.size() + 1); }

  /// Finds the best covers of [begin, tail) for each begin and state.
  void cover_until(std::size_t tail) {
    steps_.assign((blocks_ + 1) * states_, Step{});
    for (std::size_t state = 0; state < states_; ++state) at(tail, state).cost = {0, 0};
    for (std::size_t begin = tail; begin-- > 0;) {
      for (std::size_t state = 0; state < states_; ++state) {
        Step& here = at(begin, state);
        for (std::size_t kind = 0; kind < kinds_.size(); ++kind) {
          if (used(state, kinds_[kind]) == kinds_[kind].gpus.size()) continue;
          for (std::size_t end = begin + 1; end <= tail; ++end) {
            const Cost& rest = at(end, state + kinds_[kind].stride).cost;
            if (!rest.is_possible()) continue;
            const Cost own = cost_of(segments_[begin * (blocks_ + 1) + end], kinds_[kind].budget);
            if (!own.is_possible()) continue;
            if (const Cost whole = own.with(rest); whole < here.cost) here = {whole, end, kind};
          }
        }
      }
    }
  }

  /// Follows the steps of the last `cover_until`.
  Placement placement(std::size_t head, std::size_t tail) {
    Placement found{std::vector<int>(blocks_, 0), std::vector<std::int64_t>(problem_.budgets.size(), 0), 0};
    found.peaks[0] = peak_of(problem_, on_first(head, tail));
    std::size_t state = 0;
    for (std::size_t begin = head; begin < tail;) {
      const Step step = at(begin, state);
      const Kind& kind = kinds_[step.kind];
      const int gpu = kind.gpus[used(state, kind)];
      for (const int block : row_of(begin, step.end)) found.gpus[static_cast<std::size_t>(block)] = gpu;
      found.peaks[static_cast<std::size_t>(gpu)] = segments_[begin * (blocks_ + 1) + step.end].peak;
      state += kind.stride;
      begin = step.end;
    }
    return found;
  }

  const Problem& problem_;
  std::size_t blocks_;
  std::vector<Kind> kinds_;
  std::size_t states_ = 1;
  std::vector<Segment> segments_;
  std::vector<Step> steps_;
};

}  // namespace

std::optional<Placement> fewest_bytes(const Problem& problem) {
  if (problem.blocks.empty() || problem.budgets.empty()) return std::nullopt;
  return Solver(problem).best();
}

std::optional<Placement> solve(const Problem& problem) {
  std::optional<Placement> found = fewest_bytes(problem);
  if (!found) return found;
  // The fewest bytes grow as budgets shrink, so that the smallest share is found by bisection.
  const double most = kMoreBytes * static_cast<double>(found->transferred);
  Problem smaller = problem;
  for (double low = 0, high = 1; high - low > kShareStep;) {
    const double share = (low + high) / 2;
    for (std::size_t gpu = 0; gpu < problem.budgets.size(); ++gpu) {
      smaller.budgets[gpu] = static_cast<std::int64_t>(share * static_cast<double>(problem.budgets[gpu]));
    }
    std::optional<Placement> tighter = fewest_bytes(smaller);
    if (tighter && static_cast<double>(tighter->transferred) <= most) {
      found = std::move(tighter);
      high = share;
    } else {
      low = share;
    }
  }
  return found;
}

}  // namespace devsan::plan
