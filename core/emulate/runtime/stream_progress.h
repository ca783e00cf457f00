#pragma once

#include "memory/stream_progress.h"

namespace devsan::emulate {

/// How far the streams of the emulated GPUs have come: what the host has waited for since the first `record_stream`. It
/// lives as long as the process.
memory::StreamProgress* stream_progress();

}  // namespace devsan::emulate
