#pragma once

#include <c10/macros/Macros.h>

#include "memory/caching_allocator.h"
#include "record/recorder.h"

namespace devsan::emulate {

/// After an allocation: tells `allocator` the calling stack, where it asks for it. See NOTE [The moment of the peak].
inline void tell_peak_cause(memory::CachingAllocator& allocator) {
  if (C10_LIKELY(!allocator.asks_for_peak_cause())) return;
  record::Recorder& recorder = record::Recorder::instance();
  // Of the host: it is the placement of no tensor, and none that is on a GPU.
  allocator.tell_peak_cause(recorder.note_aside({.op = recorder.intern("devsan::peak")}));
}

}  // namespace devsan::emulate
