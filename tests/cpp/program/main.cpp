// What devsan/check.h does in a program of LibTorch. Prints the reports, which tests/cpp/test_check.py compares; what
// has to hold besides is asserted here. `meta` is the second device that every machine has.
#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <ATen/ops/empty.h>
#include <devsan/check.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace {

std::size_t allocations = 0;

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "expected %s\n", what);
  std::exit(1);
}

template <class Action>
void report(const char* title, Action&& action) {
  std::printf("== %s\n", title);
  try {
    action();
    std::printf("agree\n");
  } catch (const c10::Error& error) {
    require(dynamic_cast<const devsan::DeviceMismatch*>(&error) != nullptr, "a devsan::DeviceMismatch");
    std::printf("%s\n", error.what());
  }
}

at::Tensor on(at::Device device, at::IntArrayRef sizes, at::ScalarType dtype = at::kFloat) {
  return at::empty(sizes, at::TensorOptions().device(device).dtype(dtype));
}

/// A module as torch::nn::Module shows itself; torch/torch.h would take longer to compile than all of this.
struct Module {
  std::map<std::string, at::Tensor> held;
  struct Item {
    std::string name;
    at::Tensor tensor;
    const std::string& key() const { return name; }
    const at::Tensor& value() const { return tensor; }
  };
  std::vector<Item> named_parameters() const {
    std::vector<Item> items;
    for (const auto& [name, tensor] : held) items.push_back({name, tensor});
    return items;
  }
  std::vector<Item> named_buffers() const { return {}; }
};

template <class Left, class Right>
at::Tensor left_of(const at::Tensor& left) {
  return left;
}

}  // namespace

// Out of line: inlined, GCC takes malloc and delete for a mismatched pair.
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

int main() {
  const at::Tensor hidden = on(at::kCPU, {2, 3});
  const at::Tensor mask = on(at::kMeta, {2, 3}, at::kBool);
  const at::Tensor scalar = on(at::kCPU, {});
  const at::Tensor undefined;
  std::vector<at::Tensor> weights{hidden, mask};

  report("a macro names its arguments", [&] { DEVSAN_CHECK(hidden, mask, weights); });
  report("names by hand", [&] { devsan::check({{"hidden", hidden}, {"mask", mask}}); });
  report("one container", [&] { devsan::check(weights); });
  report("without names", [&] { devsan::check({hidden, mask}); });
  report("undefined, empty and 0-dim CPU tensors", [&] {
    DEVSAN_CHECK(undefined, mask, scalar, std::optional<at::Tensor>(), std::vector<at::Tensor>());
    DEVSAN_CHECK(hidden, scalar);
  });
  report("a tensor that is not 0-dim", [&] { DEVSAN_CHECK(mask, scalar, on(at::kCPU, {1})); });
  report("containers within containers", [&] {
    const std::map<std::string, std::vector<at::Tensor>> batch{{"ids", {hidden}}, {"mask", {mask, undefined}}};
    const auto pair = std::make_tuple(hidden, 3, std::make_shared<at::Tensor>(mask));
    DEVSAN_CHECK(batch, pair, (std::array<at::Tensor, 1>{mask}), left_of<int, float>(hidden), "a, b"[0] ? mask : mask);
  });
  report("what TorchScript has", [&] {
    c10::List<at::Tensor> list({hidden, mask});
    c10::Dict<std::string, at::Tensor> dict;
    dict.insert("mask", mask);
    const std::vector<c10::IValue> inputs{hidden, list, dict, c10::ivalue::Tuple::create({mask, 3}), 7, c10::IValue()};
    DEVSAN_CHECK(list, dict, inputs);
  });
  report("modules", [&] {
    const auto model = std::make_shared<Module>(Module{{{"fc.bias", mask}, {"fc.weight", hidden}}});
    DEVSAN_CHECK(model, hidden);
  });
  report("many", [&] { devsan::check(std::vector<at::Tensor>(400, hidden)); });
  report("one of many", [&] {
    std::vector<at::Tensor> parameters(400, hidden);
    parameters[123] = mask;
    DEVSAN_CHECK(parameters);
  });
  report("expected, and there", [&] {
    DEVSAN_EXPECT(at::kMeta, mask, scalar, undefined);
    devsan::expect(at::kCPU, {{"hidden", hidden}});
  });
  report("expected elsewhere", [&] { DEVSAN_EXPECT(at::Device("cuda:1"), hidden, mask); });
  report("expected elsewhere, names by hand", [&] { devsan::expect(at::kCPU, {{"hidden", hidden}, {"mask", mask}}); });

  constexpr int kTimes = 100000;
  allocations = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (int time = 0; time < kTimes; ++time) DEVSAN_CHECK(hidden, scalar, hidden, undefined);
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
  devsan::check({{"hidden", hidden}, {"scalar", scalar}});
  DEVSAN_EXPECT(at::kCPU, hidden);
  require(allocations == 0, "no allocation while all agree");
  std::fprintf(stderr, "%.2f ns a tensor\n", took.count() / kTimes / 4);
  return 0;
}
