#include "emulate/runtime/stream_progress.h"

#include "order/monitor.h"

namespace devsan::emulate {
namespace {

order::Lane lane_of(int device, memory::StreamId stream) { return {device, static_cast<std::int64_t>(stream)}; }

class Progress final : public memory::StreamProgress {
 public:
  std::uint64_t launched(int device, memory::StreamId stream) override {
    return order::Monitor::instance().launched(lane_of(device, stream));
  }

  bool is_done(int device, memory::StreamId stream, std::uint64_t moment) override {
    return !order::Monitor::is_on() || order::Monitor::instance().host_knows(lane_of(device, stream), moment);
  }
};

}  // namespace

memory::StreamProgress* stream_progress() {
  static auto* progress = new Progress();  // leaked: tensors are freed after statics are
  return progress;
}

}  // namespace devsan::emulate
