#pragma once

#include <chrono>
#include <functional>
#include <vector>

#include <ATen/core/Tensor.h>
#include <torch/csrc/distributed/c10d/Types.hpp>
#include <torch/csrc/distributed/c10d/Work.hpp>

#include "collectives/flight_recorder.h"
#include "collectives/group.h"

namespace devsan::collectives {

/// What a collective is called with, as far as messages and the flight recorder tell.
struct Call {
  c10d::OpType op = c10d::OpType::UNKNOWN;
  const char* name = "";  ///< the function of torch.distributed
  std::int64_t elements_in = 0;
  std::int64_t elements_out = 0;
  std::chrono::milliseconds timeout{0};
  std::vector<at::Tensor> inputs;   ///< kept until the work is done
  std::vector<at::Tensor> outputs;  ///< what `result()` and the future give
  int peer = -1;                    ///< rank in the group: the root, or the other side
  std::uint64_t sequence = 0;
  std::uint64_t number = 0;                  ///< of the last that gloo was given for it: see FingerprintCheck
  std::vector<std::int64_t> splits_in = {};  ///< of all_to_all, as the program gave them; none for even shares
  std::vector<std::int64_t> splits_out = {};

  const at::Tensor* first() const {
    return !inputs.empty() ? &inputs.front() : !outputs.empty() ? &outputs.front() : nullptr;
  }
};

// NOTE [Tensors in gloo's threads]
// gloo's thread may be the last that holds a work, and Python may be ending then: a tensor that has an object of Python's
// would take Python's lock, which ends the thread, and with it the process. A work holds tensors of its own over the same
// storages, which have none.

/// Python's name of a type: "float32".
std::string_view name_of(at::ScalarType type);

/// The call with such tensors in place of the program's.
Call without_python(Call call);

/// Where the program is that calls now; nothing without Python.
CallSite call_site();

/// One call in the flight recorder of the process, if there is one. Ended as a failure when nobody ended it otherwise.
class Noted {
 public:
  Noted() = default;
  Noted(const Call& call, const CallSite& site, const Group& group, std::uint32_t group_number);
  void waiting(bool waits) noexcept;
  void end(std::string_view error) noexcept;

 private:
  FlightRecorder* flight_recorder_ = nullptr;
  CallToken token_;
};

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
