#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace devsan::guard {

// NOTE [Results without a value]
// Where a tensor on the meta device, which has no elements, meets a real one, torch runs the operator's meta kernel. Some of
// these (mm, conv2d, index_select, gather, indexing) take the result's device from the real operand: the program goes on with
// memory that nobody wrote. torch raises nothing, so DevSan does not either: it keeps the fact, and says so once a site.

/// A real tensor that an operator returned although an operand has no elements.
struct MetaMix {
  std::string op;       ///< "aten::mm"
  std::string operand;  ///< the operand on the meta device, as the schema names it
  std::string site;     ///< "train.py:12", empty where no Python is running
  std::uint64_t calls = 0;
};

/// Keeps one more call, and warns on stderr at the first one of its operator, operand and site. Takes a lock.
void note_meta_mix(std::string_view op, std::string_view operand);

/// What was kept, in the order of first calls.
std::vector<MetaMix> meta_mixes();
void forget_meta_mixes();

/// How to name the place in the program that is running: set by the bindings, which know Python.
using SiteSource = std::string (*)();
void set_site_source(SiteSource source);

}  // namespace devsan::guard
