#pragma once

#include <functional>

#include "collectives/flight_recorder.h"

namespace devsan::collectives {

/// What only the bindings know, because the program is written in Python.
struct Python {
  /// Whether the calling thread holds Python's lock.
  bool (*holds_lock)() = nullptr;
  /// Runs something that may take long, without the lock. Only for a thread that holds it.
  void (*without_lock)(const std::function<void()>& long_one) = nullptr;
  /// The innermost frame of the program: not of torch's own files.
  void (*locate)(CallSite& site) = nullptr;
};

/// Empty functions until the bindings have been loaded: a program in C++ has none.
Python& python();

}  // namespace devsan::collectives
