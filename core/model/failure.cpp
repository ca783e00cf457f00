#include "model/failure.h"

#include <algorithm>

namespace devsan::model {

const Frame* Failure::site() const {
  // The line that wrote the operation: torch's own Python and accelerate's wrapper of forward only pass it on.
  const auto written = std::find_if(frames.begin(), frames.end(), [](const Frame& frame) {
    return frame.is_known() && frame.package != "torch" && frame.package != "accelerate";
  });
  if (written != frames.end()) return &*written;
  return frames.empty() ? nullptr : &frames.front();
}

}  // namespace devsan::model
