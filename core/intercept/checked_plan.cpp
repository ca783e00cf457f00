#include "intercept/checked_plan.h"

#include <array>
#include <atomic>
#include <memory>
#include <mutex>

#include "emulate/runtime/device.h"

namespace devsan::intercept {
namespace {

/// Numbers for a CPU tensor from a GPU's generator: the words of aten/src/ATen/core/Generator.h, check_generator.
void refuse_generator(const emulate::CallPlan& plan, const torch::jit::Stack& stack) {
  const c10::IValue* value = stack.data() + (stack.size() - plan.arguments);
  for (std::size_t i = 0; i < plan.arguments; ++i) {
    TORCH_CHECK(!plan.is_generator[i] || value[i].isNone(),
                "Expected a 'cpu' device type for generator but found 'cuda'");
  }
}

/// Plans by operator, in buckets that only grow. A call may be using the plan of an operator that is being taken back,
/// so such a plan is passed over from then on, and never freed.
class PlanTable final {
 public:
  const CheckedPlan& find_or_make(const c10::OperatorHandle& op) {
    std::atomic<Node*>& first = bucket(op);
    if (const Node* node = find(first, op)) return node->plan;
    const std::lock_guard lock(mutex_);
    if (const Node* node = find(first, op)) return node->plan;
    auto* node = new Node(op, first.load(std::memory_order_relaxed));
    first.store(node, std::memory_order_release);
    return node->plan;
  }

  void forget(const c10::OperatorHandle& op) {
    for (Node* node = bucket(op).load(std::memory_order_acquire); node != nullptr; node = node->next) {
      if (node->op == op) node->is_current.store(false, std::memory_order_release);
    }
  }

 private:
  struct Node {
    Node(const c10::OperatorHandle& handle, Node* following) : op(handle), plan(handle), next(following) {}
    const c10::OperatorHandle op;
    const CheckedPlan plan;
    Node* const next;
    std::atomic<bool> is_current{true};
  };

  static constexpr std::size_t kBuckets = 1024;

  std::atomic<Node*>& bucket(const c10::OperatorHandle& op) {
    // A handle's hash is an address: its low bits say nothing.
    return buckets_[(std::hash<c10::OperatorHandle>()(op) >> 5U) % kBuckets];
  }

  static const Node* find(const std::atomic<Node*>& first, const c10::OperatorHandle& op) {
    const Node* node = first.load(std::memory_order_acquire);
    while (node != nullptr && !(node->op == op && node->is_current.load(std::memory_order_acquire))) node = node->next;
    return node;
  }

  std::array<std::atomic<Node*>, kBuckets> buckets_{};
  std::mutex mutex_;
};

/// Tells the table of operators that are taken back; another may be defined in their place.
class Forgetting final : public c10::OpRegistrationListener {
 public:
  explicit Forgetting(PlanTable& table) : table_(table) {}
  void onOperatorRegistered(const c10::OperatorHandle& /*op*/) override {}
  void onOperatorDeregistered(const c10::OperatorHandle& op) override { table_.forget(op); }

 private:
  PlanTable& table_;
};

PlanTable& plans() {
  static PlanTable& table = *[] {
    auto* made = new PlanTable();  // leaked, and so is the listener: operators are taken back while the process ends
    new c10::RegistrationHandleRAII(
        c10::Dispatcher::singleton().addRegistrationListener(std::make_unique<Forgetting>(*made)));
    return made;
  }();
  return table;
}

}  // namespace

c10::Device CheckedPlan::device_of(const torch::jit::Stack& stack) const {
  const emulate::Placement placement = emulate::placement_of(stack, plan);
  check(placement, [&]() -> const torch::jit::Stack& { return stack; });
  if (C10_LIKELY(placement.any)) return placement.device;
  refuse_generator(plan, stack);
  return {c10::DeviceType::CUDA, emulate::current_device()};
}

const CheckedPlan& plan_of(const c10::OperatorHandle& op) { return plans().find_or_make(op); }

}  // namespace devsan::intercept
