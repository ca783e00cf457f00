#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/device.h"
#include "model/frame.h"
#include "model/owner.h"

namespace devsan::model {

enum class EventKind {
  kMade,      ///< a factory: zeros, tensor, empty, from_numpy
  kMoved,     ///< the bytes went to another device: Tensor.to, .cuda, copy_, Module.to
  kLoaded,    ///< read from a checkpoint or received: torch.load, safetensors, a DataLoader's worker
  kComputed,  ///< the result of an operator: it is where its operands were
  kShared,    ///< the same bytes under another name: a view, detach, set_
};

/// How the device of a placement was said.
enum class DeviceSource {
  kUnknown,
  kDefault,  ///< not at all: torch.zeros(3)
  kCurrent,  ///< "cuda", .cuda(): whatever GPU is current
  kLiteral,  ///< "cuda:0", 1, "cpu"
  kScalar,   ///< one value that stands for "the device": hparams.device, self.device, args.device, model.device
  kPeer,     ///< that of a tensor: x.device, zeros_like(x), x.new_zeros(3)
  kMap,      ///< an entry of a device map, or what a hook was told
};

/// Something that happened to a tensor's storage or to a module.
struct Event {
  EventKind kind = EventKind::kMade;
  Device device;             ///< where it was afterwards
  Device from;               ///< where it was before; not known for what was made
  std::string op;            ///< "aten::zeros", "Tensor.to", "Module.to", "AlignDevicesHook.pre_forward"
  std::uint64_t bytes = 0;   ///< that were placed or moved
  Owner owner;               ///< who did it
  std::vector<Frame> stack;  ///< innermost first; the program's own frame is among them where there is one
  DeviceSource source = DeviceSource::kUnknown;
  std::string device_text;  ///< the argument that said the device, as written: `f"cuda:{hparams.device}"`
  std::string
      device_value;  ///< what that argument was given elsewhere, if it is a name: "next(model.parameters()).device"
  std::string device_value_at;  ///< where that stands: "train.py:76"
  std::string followed;         ///< of a result: the operand whose device it took; of a move: what it is of, as written
  std::string subject;  ///< of a module's event: its path, "" for the whole model; unused in a tensor's provenance
  std::uint64_t sequence = 0;  ///< orders the events of one process; 0 is not known
  int step = -1;               ///< of two calls of the failing function the earlier has the lower number; -1: not known
  bool discarded = false;      ///< the statement threw the result away: `x.to(device)` on a line of its own
  std::string amended;         ///< of a move without effect: its statement as it would have one; "" if not known

  /// The innermost frame of the program; the innermost of all where none is the program's; null without a stack.
  const Frame* site() const;
  /// The innermost frame that is neither torch's, accelerate's nor Python's own: who wrote the call. As `site` where there
  /// is none.
  const Frame* written() const;
};

/// The placement history of one storage, newest first. After a kComputed event come the events of the operand that it
/// followed, so that the provenance of a result reads back to whatever placed its device.
using Provenance = std::vector<Event>;

/// The newest event that decided the device: not computed, not shared. Null where the provenance does not reach it.
const Event* placement_of(const Provenance& provenance);

}  // namespace devsan::model
