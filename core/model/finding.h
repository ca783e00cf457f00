#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "model/frame.h"
#include "model/message.h"

namespace devsan::model {

enum class Severity { kError, kWarning, kNote };

/// How sure a finding or a fix is.
enum class Confidence {
  kPossible,  ///< fits, and so do others
  kLikely,    ///< fits better than any other
  kCertain,   ///< the facts leave no other
};

/// Where a fix is applied, the best place first.
enum class FixKind { kConfiguration, kMap, kCreationSite, kUseSite };

/// A change of source text that a machine can make. Lines `line` to `line + number of lines of before - 1`.
struct Edit {
  std::string file;
  int line = 0;        ///< from 1
  std::string before;  ///< the text as it is, without indentation of the first line
  std::string after;
};

struct Fix {
  FixKind kind = FixKind::kUseSite;
  Message text;              ///< one sentence in the imperative: "create delta on the device of cur_out"
  std::optional<Edit> edit;  ///< where it is mechanical
  Confidence confidence = Confidence::kLikely;
};

/// A place where the cause shows.
struct Site {
  Frame frame;
  std::string op;
  std::string sentence;
  int count = 1;  ///< how often
};

/// What is wrong: the result of a diagnosis.
struct Finding {
  std::string code;  ///< "DV101"; "DV000" when the evidence does not decide
  std::string name;  ///< "single-device-assumption"
  Message title;     ///< what is wrong in this case, in one line
  Severity severity = Severity::kError;
  Confidence confidence = Confidence::kLikely;
  std::vector<std::size_t> operands;    ///< indices into the failure's operands, the one to change first
  std::vector<Message> evidence;        ///< what was seen that makes it this cause and not another; whole sentences
  std::vector<Fix> fixes;               ///< best first
  std::string naive_fix;                ///< what a bare `.to(device)` at the failing line would break
  std::vector<std::string> candidates;  ///< codes that fit as well; more than one only where it is undecided
  std::vector<Site> sites;              ///< all places of this cause, the one that failed first
  std::string id;     ///< stable over runs: of the failing operation (op, operand roles, owners, frame)
  std::string cause;  ///< stable over runs and sites: of the placement that is to be changed; "" when not known
};

}  // namespace devsan::model
