#include "plan/solve.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "plan/peak.h"

namespace devsan::plan {
namespace {

using Gpus = std::vector<int>;

Problem chain(int blocks, std::int64_t held, std::vector<std::int64_t> budgets) {
  Problem problem;
  problem.budgets = std::move(budgets);
  for (int i = 0; i < blocks; ++i) {
    problem.blocks.push_back({.held = held});
    problem.edges.push_back({.from = i - 1, .to = i, .bytes = 10});
  }
  problem.edges.push_back({.from = blocks - 1, .to = blocks, .bytes = 10});
  return problem;
}

TEST(Solve, OneGpuIsTakenWhereItSuffices) {
  const auto found = solve(chain(4, 10, {40, 40}));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->gpus, (Gpus{0, 0, 0, 0}));
  EXPECT_EQ(found->transferred, 0);
}

TEST(Solve, NothingFits) { EXPECT_FALSE(solve(chain(4, 10, {10, 20}))); }

TEST(Solve, TheSharesAreEvenWhereTheBytesAre) {
  const auto found = solve(chain(6, 10, {60, 30, 30}));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->gpus, (Gpus{0, 0, 0, 0, 0, 0}));
  const auto tight = solve(chain(4, 10, {35, 35}));
  ASSERT_TRUE(tight);
  EXPECT_EQ(std::ranges::count(tight->gpus, 0), 2);
  EXPECT_EQ(tight->transferred, 20);
}

TEST(Solve, TheHeadStandsWithTheInputsWhereItsOutputIsLarge) {
  Problem problem = chain(4, 10, {35, 35});
  problem.edges.back().bytes = 1000;
  const auto found = solve(problem);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->gpus[0], 0);
  EXPECT_EQ(found->gpus[3], 0);
  EXPECT_EQ(found->transferred, 20);
}

TEST(Solve, PinnedBlocksStayWithTheInputs) {
  Problem problem = chain(5, 10, {20, 40});
  problem.blocks[2].is_pinned = true;
  const auto found = solve(problem);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->gpus, (Gpus{0, 1, 0, 1, 1}));
}

TEST(Solve, TheLargestBlockFindsTheLargestGpu) {
  Problem problem = chain(3, 10, {10, 10, 50});
  problem.blocks[1].held = 50;
  const auto found = solve(problem);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->gpus, (Gpus{0, 2, 1}));
}

TEST(Peak, GradientsComeAsActivationsGo) {
  Problem problem = chain(2, 100, {1000});
  problem.trains = true;
  for (Block& block : problem.blocks) {
    block.gradients = 50;
    block.activations = 30;
    block.backward_extra = 55;
    block.step_extra = 10;
  }
  const Gpus both{0, 1};
  EXPECT_EQ(peak_of(problem, both), 200 + 30 + 50 + 55);
  problem.keeps_gradients = true;
  EXPECT_EQ(peak_of(problem, both), 200 + 100 + 60 + 55);
}

TEST(Peak, ASkippedBlockReceivesWhatIsMadeElsewhere) {
  Problem problem = chain(3, 1, {10, 10});
  problem.edges.push_back({.from = 0, .to = 2, .bytes = 7});
  EXPECT_EQ(received_by(problem, Gpus{2}, false), 17);
  EXPECT_EQ(received_by(problem, Gpus{1, 2}, false), 17);
  EXPECT_EQ(received_by(problem, Gpus{0, 2}, true), 10);
}

/// Whether the first GPU has the first block, and what is not pinned of each other GPU is one row; the first GPU's are
/// a head and a tail.
bool is_allowed(const Problem& problem, const Gpus& gpus) {
  Gpus row;
  for (std::size_t block = 0; block < gpus.size(); ++block) {
    if (problem.blocks[block].is_pinned) {
      if (gpus[block] != 0) return false;
    } else if (row.empty() || row.back() != gpus[block]) {
      row.push_back(gpus[block]);
    }
  }
  if (gpus[0] != 0) return false;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const bool is_end = i == 0 || i + 1 == row.size();
    if (row[i] == 0 ? !is_end : std::ranges::count(row, row[i]) > 1) return false;
  }
  return true;
}

double fullest(const Problem& problem, const Placement& placement) {
  double share = 0;
  for (std::size_t gpu = 0; gpu < problem.budgets.size(); ++gpu) {
    share = std::max(share, static_cast<double>(placement.peaks[gpu]) / static_cast<double>(problem.budgets[gpu]));
  }
  return share;
}

TEST(Solve, AFewMoreBytesAreTakenForEmptierGpus) {
  Problem problem = chain(8, 10, {70, 70});
  problem.edges.assign({{.from = 0, .to = 1, .bytes = 1000}});
  for (int block = 0; block < 7; ++block) problem.edges.push_back({.from = block, .to = block + 1, .bytes = 1000});
  problem.edges.push_back({.from = 7, .to = 8, .bytes = 1000});
  for (int block = 1; block < 8; ++block) problem.edges.push_back({.from = kInputs, .to = block, .bytes = 10});
  EXPECT_EQ(std::ranges::count(fewest_bytes(problem)->gpus, 1), 1);
  EXPECT_EQ(std::ranges::count(solve(problem)->gpus, 1), 4);
}

TEST(Solve, NoPlacementThatAnEnumerationFindsIsBetter) {
  std::mt19937 random(17);
  const auto up_to = [&](int most) { return static_cast<std::int64_t>(random() % static_cast<unsigned>(most + 1)); };
  int fitting = 0;
  for (int round = 0; round < 300; ++round) {
    Problem problem = chain(6, 0, {});
    for (int gpu = 0; gpu < 3; ++gpu) problem.budgets.push_back(40 + 20 * up_to(2));
    problem.trains = round % 2 == 0;
    problem.keeps_gradients = round % 4 == 0;
    for (Block& block : problem.blocks) {
      block = {up_to(20), up_to(8), up_to(8), up_to(5), up_to(5), up_to(5), false};
    }
    problem.blocks[5].is_pinned = round % 5 == 0;
    for (Edge& edge : problem.edges) edge.bytes = up_to(9);
    problem.edges.push_back(
        {.from = static_cast<int>(up_to(2)), .to = 3 + static_cast<int>(up_to(2)), .bytes = up_to(9)});

    std::vector<std::pair<std::int64_t, double>> allowed;
    for (int code = 0; code < 729; ++code) {
      Gpus gpus;
      for (int rest = code; gpus.size() < 6; rest /= 3) gpus.push_back(rest % 3);
      if (!is_allowed(problem, gpus)) continue;
      std::int64_t bytes = 0;
      double share = 0;
      for (int gpu = 0; gpu < 3; ++gpu) {
        Gpus own;
        for (int block = 0; block < 6; ++block) {
          if (gpus[static_cast<std::size_t>(block)] == gpu) own.push_back(block);
        }
        if (own.empty()) {
          if (gpu == 0) share = 2;
          continue;
        }
        const auto budget = static_cast<double>(problem.budgets[static_cast<std::size_t>(gpu)]);
        share = std::max(share, static_cast<double>(peak_of(problem, own)) / budget);
        bytes += received_by(problem, own, gpu == 0);
      }
      if (share <= 1) allowed.emplace_back(bytes, share);
    }

    const auto found = fewest_bytes(problem);
    const auto emptier = solve(problem);
    ASSERT_EQ(found.has_value(), !allowed.empty()) << "round " << round;
    ASSERT_EQ(emptier.has_value(), !allowed.empty()) << "round " << round;
    if (!found) continue;
    ++fitting;
    const auto best = std::ranges::min_element(allowed);
    EXPECT_TRUE(is_allowed(problem, found->gpus)) << "round " << round;
    EXPECT_EQ(found->transferred, best->first) << "round " << round;
    EXPECT_DOUBLE_EQ(fullest(problem, *found), best->second) << "round " << round;

    const double most = kMoreBytes * static_cast<double>(best->first);
    double emptiest = 1;
    for (const auto& [bytes, share] : allowed) {
      if (static_cast<double>(bytes) <= most) emptiest = std::min(emptiest, share);
    }
    EXPECT_TRUE(is_allowed(problem, emptier->gpus)) << "round " << round;
    EXPECT_LE(static_cast<double>(emptier->transferred), most) << "round " << round;
    // Budgets are whole bytes, of which these GPUs have few.
    EXPECT_LE(fullest(problem, *emptier), emptiest + kShareStep + 1.0 / 40) << "round " << round;
  }
  EXPECT_GT(fitting, 50);
  EXPECT_LT(fitting, 290);
}

}  // namespace
}  // namespace devsan::plan
