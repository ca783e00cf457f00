#pragma once

#include <ATen/core/TensorBase.h>
#include <c10/core/Device.h>

#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "devsan/detail/holds_tensors.h"

/// Which tensors a value holds, and by which steps they are reached.
namespace devsan::detail {

/// The key of a map as a step of a path: ["mask"], [3].
template <class Key>
std::string step_of(const Key& key) {
  if constexpr (TextLike<Key>) {
    return "[\"" + std::string(std::string_view(key)) + "\"]";
  } else if constexpr (std::integral<Key>) {
    return "[" + std::to_string(key) + "]";
  } else if constexpr (IValueLike<Key>) {
    return key.isString() ? step_of(key.toStringRef()) : key.isInt() ? step_of(key.toInt()) : std::string("[...]");
  } else {
    return "[...]";
  }
}

template <int deep = kDeep, class Visitor, class Value>
void visit(Visitor& visitor, const Value& value);

/// Visits the value of a step; the visitor asks for the step's text only if it wants it.
template <int deep, class Visitor, class Value, class Step>
void visit_step(Visitor& visitor, const Value& value, Step&& step) {
  const std::size_t mark = visitor.enter(step);
  visit<deep>(visitor, value);
  visitor.leave(mark);
}

template <int deep, class Visitor, class Tensors>
void visit_members(Visitor& visitor, const Tensors& tensors) {
  for (const auto& item : tensors) {
    if constexpr (ItemLike<std::remove_cvref_t<decltype(item)>>) {
      visit_step<deep>(visitor, item.value(), [&] { return "." + std::string(item.key()); });
    } else {  // torch::jit::NamedValue
      visit_step<deep>(visitor, item.value, [&] { return "." + std::string(item.name); });
    }
  }
}

template <int deep, class Visitor, class Value>
void visit_ivalue(Visitor& visitor, const Value& value) {
  std::size_t number = 0;
  const auto step = [&] { return "[" + std::to_string(number) + "]"; };
  if (value.isTensor()) {
    visitor.tensor(value.toTensor());
  } else if (value.isTensorList()) {
    for (const at::TensorBase& each : value.toTensorVector()) {
      visit_step<deep - 1>(visitor, each, step);
      ++number;
    }
  } else if (value.isList()) {
    for (const auto& each : value.toListRef()) {
      visit_step<deep - 1>(visitor, each, step);
      ++number;
    }
  } else if (value.isTuple()) {
    for (const auto& each : value.toTupleRef().elements()) {
      visit_step<deep - 1>(visitor, each, step);
      ++number;
    }
  } else if (value.isGenericDict()) {
    for (const auto& item : value.toGenericDict()) {
      visit_step<deep - 1>(visitor, item.value(), [&] { return step_of(item.key()); });
    }
  }
}

/// Hands every tensor in `value` to `visitor`, which has tensor(at::TensorBase), enter(text of a step) and leave(mark).
template <int deep, class Visitor, class Value>
void visit(Visitor& visitor, const Value& value) {
  if constexpr (deep == 0 || !can_hold_tensors < Value, deep == 0 ? 1 : deep > ()) {
    return;
  } else if constexpr (TensorLike<Value>) {
    const at::TensorBase& tensor = value;
    visitor.tensor(tensor);
  } else if constexpr (IValueLike<Value>) {
    visit_ivalue<deep>(visitor, value);
  } else if constexpr (ModuleLike<Value>) {
    visit_members<deep - 1>(visitor, value.named_parameters());
    visit_members<deep - 1>(visitor, value.named_buffers());
  } else if constexpr (PointerLike<Value>) {
    if (static_cast<bool>(value)) visit<deep - 1>(visitor, *value);
  } else if constexpr (ItemLike<Value>) {
    visit<deep - 1>(visitor, value.value());
  } else if constexpr (RangeLike<Value>) {
    std::size_t number = 0;
    for (const auto& each : value) {
      using Each = std::remove_cvref_t<decltype(each)>;
      if constexpr (PairLike<Each>) {
        visit_step<deep - 1>(visitor, each.second, [&] { return step_of(each.first); });
      } else if constexpr (ItemLike<Each>) {
        visit_step<deep - 1>(visitor, each.value(), [&] { return step_of(each.key()); });
      } else {
        visit_step<deep - 1>(visitor, each, [&] { return "[" + std::to_string(number) + "]"; });
      }
      ++number;
    }
  } else {
    [&]<std::size_t... at>(std::index_sequence<at...>) {
      (visit_step<deep - 1>(visitor, std::get<at>(value), [] { return "[" + std::to_string(at) + "]"; }), ...);
    }
    (std::make_index_sequence<std::tuple_size_v<Value>>());
  }
}

/// Compares as it goes, silently about what it sees: this is what runs while all is well.
class DeviceComparison {
 public:
  DeviceComparison() = default;
  explicit DeviceComparison(c10::Device expected) : device_(expected), seen_(true) {}

  void tensor(const at::TensorBase& tensor) {
    if (!tensor.defined()) return;
    const c10::Device device = tensor.device();
    if (!seen_) {
      device_ = device;
      seen_ = true;
    } else {
      agree_ = agree_ && device == device_;
    }
  }

  template <class Step>
  std::size_t enter(const Step&) {
    return 0;
  }
  void leave(std::size_t) {}

  bool agree() const { return agree_; }

 private:
  c10::Device device_{c10::DeviceType::CPU};
  bool seen_ = false;
  bool agree_ = true;
};

}  // namespace devsan::detail
