#include "intercept/checked_plan.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

#include <torch/library.h>

namespace devsan::intercept {
namespace {

/// Defines devsan_test::operation while it lives.
std::unique_ptr<torch::Library> define(const char* schema) {
  auto library = std::make_unique<torch::Library>(torch::Library::DEF, "devsan_test", std::nullopt, __FILE__, __LINE__);
  library->def(schema);
  return library;
}

c10::OperatorHandle operation() { return c10::Dispatcher::singleton().findSchemaOrThrow("devsan_test::operation", ""); }

TEST(PlanOf, IsMadeOnce) {
  const auto library = define("operation(Tensor x) -> Tensor");
  const CheckedPlan& first = plan_of(operation());
  EXPECT_EQ(first.plan.arguments, 1U);
  EXPECT_EQ(&plan_of(operation()), &first);
}

TEST(PlanOf, AnotherOperatorOfTheSameNameGetsItsOwn) {
  auto library = define("operation(Tensor x) -> Tensor");
  EXPECT_FALSE(plan_of(operation()).plan.writes);
  library.reset();
  library = define("operation(Tensor x, Tensor(a!) y) -> Tensor(a!)");
  EXPECT_EQ(plan_of(operation()).plan.arguments, 2U);
  EXPECT_TRUE(plan_of(operation()).plan.writes);
}

TEST(PlanOf, IsTheSameForThreadsThatAskAtOnce) {
  const auto library = define("operation(Tensor x, Tensor y) -> Tensor");
  std::vector<const CheckedPlan*> found(8);
  std::vector<std::thread> threads;
  for (const CheckedPlan*& plan : found) threads.emplace_back([&plan] { plan = &plan_of(operation()); });
  for (std::thread& thread : threads) thread.join();
  for (const CheckedPlan* plan : found) EXPECT_EQ(plan, found.front());
}

}  // namespace
}  // namespace devsan::intercept
