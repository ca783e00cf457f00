#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/device.h"
#include "model/frame.h"

namespace devsan::model {

/// What memory of a GPU is held for.
enum class HolderKind {
  kParameter,       ///< of a model
  kGradient,        ///< of a parameter
  kOptimizerState,  ///< what an optimizer keeps for a parameter
  kBuffer,          ///< of a model
  kCache,           ///< keys and values that a model keeps of earlier tokens
  kCollected,       ///< in a list or a dictionary that a variable of the program holds
  kHistory,         ///< for a backward pass through several earlier passes, whose graphs one variable keeps
  kCommunication,   ///< made for collectives, as DDP's buckets: given to one or filled by one, and none of the above
  kActivation,      ///< the result of an operator in a forward pass, or beside all passes
  kTemporary,       ///< the result of an operator in a backward pass or in a step of an optimizer
  kData,            ///< a tensor that was created on the GPU or copied to it, and is none of the above
  kWorkspace,       ///< of a kernel or a library, beside all tensors
  kFragmentation,   ///< reserved by torch, and allocated for nothing: between and behind what is, or kept for later
  kContext,         ///< of CUDA itself: kernels' code and the runtime's own buffers
  kUnknown,         ///< nobody says
};

/// Tensors of one name, or those without a name that came from one operator or one line.
struct MemoryHolder {
  std::string name;             ///< "model.layers.0.weight", "`losses`"; "" where nothing names it
  std::string op;               ///< the operator that computed it, where it has no name: "aten::relu"
  std::string where;            ///< the line that placed it, where it has neither: "train.py:12"
  std::uint64_t placement = 0;  ///< the number of the placement of that line; 0: not known
  std::uint64_t bytes = 0;      ///< with what the allocator rounds up
  std::uint64_t tensors = 0;
};

/// All memory of one kind.
struct MemoryPart {
  HolderKind kind = HolderKind::kUnknown;
  std::uint64_t bytes = 0;
  std::uint64_t tensors = 0;
  std::vector<MemoryHolder> largest;  ///< at most three, the largest first
};

/// The room on one GPU.
struct GpuRoom {
  Device device;
  std::uint64_t total = 0;  ///< bytes
  std::uint64_t free = 0;   ///< bytes, with what torch could give back to the GPU
};

/// Who holds the memory of a GPU at the moment when it was asked for more than it has. All sizes are bytes.
struct HeldMemory {
  Device device;
  std::uint64_t requested = 0;  ///< what the program asked for
  std::uint64_t tried = 0;      ///< what was asked of the GPU for it: a segment
  std::uint64_t total = 0;
  std::uint64_t free = 0;
  std::uint64_t process = 0;    ///< what this process takes, with its CUDA context
  std::uint64_t others = 0;     ///< what other processes take
  std::uint64_t allowed = 0;    ///< the most that set_per_process_memory_fraction allows; 0: all of it
  std::uint64_t allocated = 0;  ///< in tensors and workspaces
  std::uint64_t reserved = 0;   ///< that, and what torch keeps for the next tensors
  bool expandable_segments = false;
  bool checkpoints = false;        ///< a model computes results of operators again in the backward pass
  std::vector<MemoryPart> parts;   ///< the largest first; together they are what is allocated
  std::vector<GpuRoom> elsewhere;  ///< the other GPUs that the process sees
};

/// Who held the memory of a GPU at the moment when the program held the most. All sizes are bytes.
struct PeakMemory {
  Device device;
  std::uint64_t allocated = 0;    ///< in tensors and workspaces
  std::uint64_t reserved = 0;     ///< that, and what torch keeps for the next tensors
  std::string op;                 ///< the operator whose result was the last to come; "" for none
  std::uint64_t placement = 0;    ///< the number under which the stack of that moment is kept; 0: of none
  std::vector<MemoryPart> parts;  ///< the largest first; together they are what the process takes of the GPU
  std::vector<Frame> stack;       ///< of that moment, innermost first; none where Python does not know the thread
};

}  // namespace devsan::model
