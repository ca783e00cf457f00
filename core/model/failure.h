#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/frame.h"
#include "model/held_memory.h"
#include "model/operand.h"

namespace devsan::model {

// The same list, in the same order, as `Kind` in devsan/introspect/frames/error_patterns.py.
/// What the sentence is about.
enum class SentenceKind {
  kNone,  ///< nothing failed
  kMixed,
  kIndex,
  kGradient,
  kModule,
  kNumpy,
  kHost,
  kFork,
  kGenerator,
  kOrdinal,
  kMemory,
  kMeta,
  kPointer,
  kGroup,
  kLoad,
  kPlacement,
  kExpected,  ///< a tensor is not where `devsan.expect` was told
};

/// What the program was doing.
enum class Phase { kNone, kLoad, kData, kForward, kLoss, kBackward, kOptimizer, kGenerate };

/// The operation that was refused.
struct Failure {
  std::string op;        ///< "aten::addmm"; "" when nobody says
  std::string sentence;  ///< torch's or the library's own words, one line
  SentenceKind kind = SentenceKind::kNone;
  std::map<std::string, std::string> figures;  ///< what the sentence tells besides: "rank", "gpu", "count", ...
  std::vector<Operand> operands;  ///< in the order of the source; those that take part in the mismatch, or all
  std::vector<Device> around;     ///< where the other tensors are that the failing statement names
  std::vector<Frame> frames;      ///< innermost first
  Frame call;  ///< the program's statement that led into the library that fails, where a line can stand above it
  Phase phase = Phase::kNone;
  int step = -1;                     ///< of the failing call, as Event::step
  std::optional<HeldMemory> memory;  ///< of a GPU that ran out of memory, where DevSan knows who holds it

  /// The innermost frame of the program, or of a library that is neither torch nor accelerate's wrapper; null without.
  const Frame* site() const;
};

}  // namespace devsan::model
