#pragma once

#include <string>
#include <string_view>

#include "model/frame.h"

namespace devsan::model {

/// The names of owners that causes know. Any other package that places tensors is an owner under its own name.
namespace owners {
inline constexpr std::string_view kProgram = "program";
inline constexpr std::string_view kAccelerate = "accelerate";
inline constexpr std::string_view kTransformers = "transformers";
inline constexpr std::string_view kPeft = "peft";
inline constexpr std::string_view kDataParallel = "torch.nn.DataParallel";
inline constexpr std::string_view kDataLoader = "DataLoader";
inline constexpr std::string_view kDefaultDevice = "torch.set_default_device";
}  // namespace owners

/// Who placed something, by which means, and what told it to.
struct Owner {
  std::string name;       ///< "program", "accelerate", "DDP", ...: one of `owners`, or a package; "" is not known
  std::string mechanism;  ///< "AlignDevicesHook", "Module.to", "DeepSpeedEngine", "replicate", "zeros"
  std::string setting;    ///< what made it do so, as the user wrote it: `device_map["model.layers.17"] = 1`
  Frame where;            ///< the user's line that installed it; not known where there is none

  bool is_known() const { return !name.empty(); }
  bool is(std::string_view other) const { return name == other; }

  bool operator==(const Owner&) const = default;
};

}  // namespace devsan::model
