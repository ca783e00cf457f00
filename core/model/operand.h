#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/device.h"
#include "model/event.h"
#include "model/frame.h"

namespace devsan::model {

/// What a tensor is in the program.
enum class OperandKind {
  kUnknown,
  kParameter,       ///< registered in a module
  kBuffer,          ///< registered in a module
  kAttribute,       ///< held by a module (or an object in one), but not registered: attribute, list, dict, closure
  kLocal,           ///< a variable of a function
  kTemporary,       ///< the value of an expression; no name holds it
  kInput,           ///< came with the batch or as an argument of the model: input_ids, labels, num_items_in_batch
  kOptimizerState,  ///< a value in optimizer.state, or in an average of the weights (EMA)
  kCache,           ///< generation state: keys, values, recurrent state
  kGlobal,          ///< of a module of Python, of a class or of a function (a default, a captured variable)
  kGenerator,       ///< a torch.Generator, not a tensor
  kNumber,          ///< a Python number
};

/// What `Operand::best_name` begins with where it is a description and no name of the source.
inline constexpr std::string_view kOutputOf = "the output of ";

/// One operand of the failing operation.
struct Operand {
  std::string role;            ///< as torch's schema names it: "mat2", "tensors[1]", "self"
  std::string name;            ///< as the source writes it: "self.norm.weight"; "" when no source names it
  std::string qualified_name;  ///< its path in the model: "model.layers.17.mlp.down_proj.weight"; "" outside of one
  std::string output_of;       ///< the module whose output it is, where no name holds that: "model[1] (ReLU)"
  OperandKind kind = OperandKind::kUnknown;
  Device device;
  std::string dtype;                               ///< without "torch.": "float32"; "" when not known
  std::optional<std::vector<std::int64_t>> shape;  ///< none: not known
  std::uint64_t bytes = 0;
  bool offending = false;     ///< torch names it, or the rules single it out, as the one in the wrong place
  Span span;                  ///< where the failing frame writes it
  Provenance provenance;      ///< how it came to be where it is, newest first
  std::vector<Event> copies;  ///< copies of it on other devices that were made since: `y = x.to(d)`, `x.to(d)`
  std::string
      holder;  ///< path of the module that holds it, registered or not: "model.layers.17.attn"; a global's function
  std::string kept_as;  ///< what is not registered, by how it is kept: "layers.1.codebook.codes", a class's "Norm.mean"
  std::string tied_to;  ///< path of another module's parameter that is the same tensor; "" where there is none
  Frame replaced_at;    ///< the program's statement that put it in the place of another one of its module's
  Frame ignored_at;   ///< the program's call that told FSDP to leave parameters where they are, where it has the model
  Frame override_at;  ///< its holder's own `to` or `cuda`, which moves it and which no move of a parent calls
  std::string device_there;  ///< what the function that placed it calls the device of another operand: "device"
  std::string left_in;       ///< where an object keeps it that was moved in part, or not at all: "batch.pool_index[0]"
  std::string made_of;       ///< a variable in its expression that is a tensor on its device; "" where its name is one
  std::string moved_part;  ///< a part of that object that is on another GPU: "batch.atoms"; "" where nothing was moved
  std::string
      member;  ///< what of a program's object holds it, where all else of that object is elsewhere: "self.table"
  std::string member_of;           ///< the class of that object
  Device member_home;              ///< where all else of it is
  Frame member_given;              ///< the line that gave it to the object
  std::vector<std::string> given;  ///< what Failure::call passes on for it, and after that what else is on its device
  std::string given_in;            ///< "dict" or "tuple", where the first of them is one of tensors
  std::string asked;               ///< what has its device where that call stands: "model", "self.head.weight"
  std::string beside;      ///< what it stands beside: path of the base weight of an adapter or a quantization state
  Device beside_device;    ///< where that is
  bool registered = true;  ///< a parameter or buffer of a module that the model does not register (in a list): false
  bool requires_grad = false;
  bool is_leaf = true;

  /// The newest event that decided its device; null where the provenance does not reach it.
  const Event* placement() const { return placement_of(provenance); }
  bool is_scalar() const { return shape && shape->empty(); }
  /// The best name there is: the source's, or the model's, or whose output it is, or the schema's.
  std::string best_name() const {
    if (!name.empty() || !qualified_name.empty()) return name.empty() ? qualified_name : name;
    return output_of.empty() ? role : std::string(kOutputOf) + output_of;
  }
};

}  // namespace devsan::model
