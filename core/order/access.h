#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "order/lane.h"
#include "order/vector_clock.h"
#include "record/stack_depot.h"

namespace devsan::order {

/// The bytes of a tensor. Where it leaves gaps, only its first and its last byte are certain to be its own.
struct Bytes {
  std::uintptr_t first = 0;
  std::uintptr_t end = 0;      ///< one beyond the last
  std::uint64_t geometry = 0;  ///< of a tensor with gaps: the same number for the same elements; 0 without gaps

  std::size_t size() const noexcept { return end - first; }
  bool holds(std::uintptr_t address) const noexcept { return first <= address && address < end; }
  /// Whether all of `other` is in these.
  bool cover(const Bytes& other) const noexcept {
    return geometry == 0 ? first <= other.first && other.end <= end : *this == other;
  }
  /// Whether they certainly have a byte in common.
  bool meet(const Bytes& other) const noexcept {
    if (geometry == 0 && other.geometry == 0) return first < other.end && other.first < end;
    if (geometry == 0) return holds(other.first) || holds(other.end - 1);
    if (other.geometry == 0) return other.holds(first) || other.holds(end - 1);
    return *this == other || first == other.first || end == other.end;
  }
  friend bool operator==(const Bytes&, const Bytes&) = default;
};

/// One tensor of an operator.
struct Touch {
  std::uintptr_t memory = 0;  ///< where its allocation begins
  Bytes bytes;
  bool writes = false;
  bool on_host = false;  ///< pinned memory
};

/// That an operator read or wrote memory on a lane.
struct Access {
  Lane lane;
  std::size_t timeline = 0;
  Time time = 0;
  Bytes bytes;
  bool writes = false;
  const std::string* op = nullptr;  ///< never goes away
  record::StackId stack = record::kNoStack;
};

/// Two accesses without an order.
struct Race {
  enum class Kind {
    kUnordered,  ///< memory of a GPU
    kFreed,      ///< the earlier access may still run when the later one gets its memory
    kPinned,     ///< memory of the host that a copy still reads or writes
  };
  Kind kind = Kind::kUnordered;
  Access earlier;
  Access later;
  record::StackId freed = record::kNoStack;  ///< where the memory was given back
};

}  // namespace devsan::order
