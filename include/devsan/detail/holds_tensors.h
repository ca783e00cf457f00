#pragma once

#include <ATen/core/TensorBase.h>

#include <concepts>
#include <cstddef>
#include <iterator>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

/// Whether a type can hold tensors, and by what they are reached in it.
namespace devsan::detail {

/// Containers within containers that are looked into, as in devsan/checks.py.
inline constexpr int kDeep = 6;

template <class T>
concept TensorLike = std::convertible_to<const T&, const at::TensorBase&>;

/// c10::IValue, by its shape: its header is a large one, and a program that has an IValue includes it.
template <class T>
concept IValueLike = requires(const T& value) {
  { value.isTensor() } -> std::same_as<bool>;
  { value.isGenericDict() } -> std::same_as<bool>;
  value.toTensor();
  value.toTupleRef().elements();
  value.toListRef();
};

/// torch::nn::Module and torch::jit::Module.
template <class T>
concept ModuleLike = requires(const T& module) {
  module.named_parameters();
  module.named_buffers();
};

/// std::optional, smart pointers, torch::nn::ModuleHolder.
template <class T>
concept PointerLike = requires(const T& pointer) {
  static_cast<bool>(pointer);
  *pointer;
};

/// What torch::OrderedDict and c10::Dict hold.
template <class T>
concept ItemLike = requires(const T& item) {
  item.key();
  item.value();
};

/// std::tuple, std::pair, std::array.
template <class T>
concept TupleLike = requires {
  std::tuple_size<T>::value;
};

template <class T>
concept PairLike = TupleLike<T> && requires(const T& pair) {
  pair.first;
  pair.second;
};

template <class T>
concept RangeLike = requires(const T& range) {
  std::begin(range) != std::end(range);
  *std::begin(range);
};

template <class T>
concept TextLike = std::convertible_to<const T&, std::string_view>;

/// Whether a value of the type can hold tensors, as far as its type tells.
template <class T, int deep = kDeep>
consteval bool can_hold_tensors() {
  using Value = std::remove_cvref_t<T>;
  if constexpr (deep == 0 || TextLike<Value>) {
    return false;
  } else if constexpr (TensorLike<Value> || IValueLike<Value> || ModuleLike<Value>) {
    return true;
  } else if constexpr (PointerLike<Value>) {
    return can_hold_tensors<decltype(*std::declval<const Value&>()), deep - 1>();
  } else if constexpr (ItemLike<Value>) {
    return can_hold_tensors<decltype(std::declval<const Value&>().value()), deep - 1>();
  } else if constexpr (RangeLike<Value>) {
    return can_hold_tensors<decltype(*std::begin(std::declval<const Value&>())), deep - 1>();
  } else if constexpr (TupleLike<Value>) {
    return []<std::size_t... at>(std::index_sequence<at...>) {
      return (can_hold_tensors<std::tuple_element_t<at, Value>, deep - 1>() || ...);
    }
    (std::make_index_sequence<std::tuple_size_v<Value>>());
  } else {
    return false;
  }
}

template <class T>
concept HoldsTensors = can_hold_tensors<T>();

}  // namespace devsan::detail
