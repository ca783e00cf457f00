#pragma once

#include <string>

namespace devsan::model {

/// A piece of one source file. Lines and columns count from 1; 0 is not known. The end is exclusive.
struct Span {
  int line = 0;
  int column = 0;
  int end_line = 0;
  int end_column = 0;

  bool operator==(const Span&) const = default;
};

/// A place in a Python program: one frame of a stack.
struct Frame {
  std::string file;      ///< as Python names it
  Span span;             ///< what the frame was executing
  std::string function;  ///< the qualified name where Python tells it: "LlamaAttention.forward"
  std::string source;    ///< the text of that line (or of all lines of the statement), stripped; "" when not known
  std::string package;   ///< distribution that the file belongs to: "torch", "transformers"; "" is the program itself
  std::string module;    ///< path of the module whose method this is: "model.layers.17"; "" when it is none

  bool is_known() const { return !file.empty(); }
  bool is_program() const { return is_known() && package.empty(); }

  bool operator==(const Frame&) const = default;
};

}  // namespace devsan::model
