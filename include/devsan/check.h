#pragma once

#include <c10/core/Device.h>
#include <c10/util/Exception.h>

#include <initializer_list>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>

#include "devsan/detail/report.h"
#include "devsan/detail/rows.h"
#include "devsan/detail/tensors.h"

/// Checks by hand at key points of a LibTorch program: what `devsan.check` and `devsan.expect` are in Python.
///
///     DEVSAN_CHECK(hidden, mask, weights);                        // named by their text
///     devsan::check({{"hidden", hidden}, {"mask", mask}});        // named by hand
///     devsan::expect({at::kCUDA, 1}, {{"hidden", hidden}});
///
/// Looked into: tensors, vectors and other ranges, maps, tuples, optionals and pointers, IValues, parameters and buffers
/// of modules. Undefined tensors, and what holds no tensor, are left alone. As in torch, a 0-dim CPU tensor may
/// be beside tensors of a GPU. Nothing is moved, and while all agree nothing is allocated.
///
/// Headers only; C++20; any torch from 2.11 on, with or without CUDA. No Python is needed.
namespace devsan {

/// Tensors that were said to be on one device are not. `what()` is the report.
///
/// A c10::Error, so that whatever handles torch's errors handles it: Python sees a RuntimeError. It has no C++ backtrace:
/// the report names the line, and a backtrace would bury it.
class C10_EXPORT DeviceMismatch : public c10::Error {
 public:
  explicit DeviceMismatch(std::string report) : c10::Error(std::move(report)) {}
};

/// A tensor, or something that holds tensors, under the name that a report uses. Owns neither; made for one call.
class Named {
 public:
  template <detail::HoldsTensors Value>
  Named(std::string_view name, const Value& value)
      : name_(name),
        value_(&value),
        compare_([](const void* held, detail::DeviceComparison& seen) {
          detail::visit(seen, *static_cast<const Value*>(held));
        }),
        list_([](const void* held, detail::Rows& rows) { detail::visit(rows, *static_cast<const Value*>(held)); }) {}

  /// Without a name: the report counts.
  template <detail::HoldsTensors Value>
  Named(const Value& value) : Named({}, value) {}

  void compare(detail::DeviceComparison& seen) const { compare_(value_, seen); }
  void list(detail::Rows& rows, std::size_t number) const {
    rows.begin(name_.empty() ? "tensor " + std::to_string(number) : std::string(name_));
    list_(value_, rows);
  }

 private:
  std::string_view name_;
  const void* value_;
  void (*compare_)(const void*, detail::DeviceComparison&);
  void (*list_)(const void*, detail::Rows&);
};

/// Throws unless all tensors are on one device.
/// @throws DeviceMismatch naming every tensor and where it is.
inline void check(std::initializer_list<Named> tensors, std::source_location where = std::source_location::current()) {
  detail::DeviceComparison seen;
  for (const Named& each : tensors) each.compare(seen);
  if (seen.agree()) [[likely]]
    return;
  detail::Rows rows;
  std::size_t number = 0;
  for (const Named& each : tensors) each.list(rows, number++);
  if (rows.disagree()) throw DeviceMismatch(detail::report_of_check(rows, "devsan::check", where));
}

/// As above, for the tensors that one value holds.
template <detail::HoldsTensors Value>
void check(const Value& tensors, std::source_location where = std::source_location::current()) {
  check({Named("tensors", tensors)}, where);
}

/// Throws unless all tensors are on `device`; one without an index stands for any device of its type.
/// @throws DeviceMismatch naming every tensor and where it is.
inline void expect(c10::Device device, std::initializer_list<Named> tensors,
                   std::source_location where = std::source_location::current()) {
  detail::DeviceComparison seen(device);
  for (const Named& each : tensors) each.compare(seen);
  if (seen.agree()) [[likely]]
    return;
  detail::Rows rows(device);
  std::size_t number = 0;
  for (const Named& each : tensors) each.list(rows, number++);
  if (rows.disagree()) throw DeviceMismatch(detail::report_of_expect(rows, "devsan::expect", where));
}

/// As above, for the tensors that one value holds.
template <detail::HoldsTensors Value>
void expect(c10::Device device, const Value& tensors, std::source_location where = std::source_location::current()) {
  expect(device, {Named("tensors", tensors)}, where);
}

namespace detail {

/// What the macros call. `text` is how the source writes the arguments.
template <class... Values>
void check_written(const char* text, std::source_location where, const Values&... values) {
  static_assert((HoldsTensors<Values> && ...),
                "DEVSAN_CHECK: expected tensors or containers of tensors, got an argument that can hold none");
  DeviceComparison seen;
  (visit(seen, values), ...);
  if (seen.agree()) [[likely]]
    return;
  Rows rows;
  list_written(rows, text, values...);
  if (rows.disagree()) throw DeviceMismatch(report_of_check(rows, "DEVSAN_CHECK", where));
}

template <class... Values>
void expect_written(c10::Device device, const char* text, std::source_location where, const Values&... values) {
  static_assert((HoldsTensors<Values> && ...),
                "DEVSAN_EXPECT: expected tensors or containers of tensors, got an argument that can hold none");
  DeviceComparison seen(device);
  (visit(seen, values), ...);
  if (seen.agree()) [[likely]]
    return;
  Rows rows(device);
  list_written(rows, text, values...);
  if (rows.disagree()) throw DeviceMismatch(report_of_expect(rows, "DEVSAN_EXPECT", where));
}

}  // namespace detail
}  // namespace devsan

/// devsan::check of the arguments, which the report names as they are written here.
#define DEVSAN_CHECK(...) ::devsan::detail::check_written(#__VA_ARGS__, ::std::source_location::current(), __VA_ARGS__)

/// devsan::expect of the arguments after the first, which the report names as they are written here.
#define DEVSAN_EXPECT(device, ...) \
  ::devsan::detail::expect_written(device, #__VA_ARGS__, ::std::source_location::current(), __VA_ARGS__)
