#include <algorithm>
#include <cstddef>

#include "diagnose/context.h"

// The failing stack, and events as seen from it: in this call, in an earlier one, outside.

namespace devsan::diagnose {

using model::Event;
using model::Frame;
using model::Module;

namespace {

/// Whether two frames of one function stand at the same call. Columns tell two calls of one line apart, where both have them.
bool same_call(const Frame& one, const Frame& other) {
  const bool columns = one.span.end_column > 0 && other.span.end_column > 0;
  return one.span.line == other.span.line && (!columns || one.span.column == other.span.column);
}

/// Whether two frames are of one function. All comprehensions, or lambdas, of a function have one name: their lines tell.
bool same_function(const Frame& one, const Frame& other) {
  const bool unnamed = last_part(one.function).starts_with('<') && one.function != "<module>";
  return one.file == other.file && one.function == other.function && (!unnamed || one.span.line == other.span.line);
}

/// A cell of a notebook. ipykernel/compiler.py and IPython/core/compilerop.py name the files of cells so.
bool is_cell(const Frame& frame) {
  const bool named = frame.file.find("/ipykernel_") != std::string::npos || frame.file.starts_with("<ipython-input-");
  return named && frame.function == "<module>";
}

}  // namespace

const Frame* Context::shared_function(const Event& event) const {
  // Outermost first: the stacks are of one run of a function for as long as they went through the same lines. The
  // event's may be cut at its outer end: then it begins at a frame that may occur in several places; where they agree
  // longest it is.
  const Frame* shared = nullptr;
  std::ptrdiff_t longest = 0;
  const auto end = failure().frames.rend();
  for (auto start = failure().frames.rbegin(); start != end; ++start) {
    auto there = event.stack.rbegin();
    auto here = start;
    const Frame* last = nullptr;
    while (there != event.stack.rend() && here != end) {
      if (there->file != here->file || there->function != here->function) break;
      last = &*here;
      if (!same_call(*there, *here)) break;
      ++there;
      ++here;
    }
    const std::ptrdiff_t length = here - start;
    if (last == nullptr || (shared != nullptr && length <= longest)) continue;
    shared = last;
    longest = length;
  }
  return shared;
}

bool Context::in_failing_call(const Event& event) const {
  if (in_earlier_call(event)) return false;
  const Frame* shared = shared_function(event);
  if (shared == nullptr) return false;
  // The call of the model is the outermost frame that is a module's own.
  const auto& frames = failure().frames;
  const Module* root = model() == nullptr ? nullptr : model()->find("");
  const auto call = std::find_if(frames.rbegin(), frames.rend(), [&](const Frame& frame) {
    const bool step = root != nullptr && frame.function.starts_with(std::string(last_part(root->type)) + ".") &&
                      frame.function.ends_with("_step");  // Lightning calls that instead of forward
    return step || !frame.module.empty() || last_part(frame.function) == "forward" ||
           last_part(frame.function) == "_wrapped_call_impl";
  });
  if (call == frames.rend()) return false;
  return shared <= &*call;  // at or inside of it
}

bool Context::in_earlier_call(const Event& event) const {
  if (event.step >= 0 && failure().step >= 0 && event.step < failure().step) return true;
  // Or by another line of a function further out, through the function that failed: another call of it, which is over.
  const Frame* used = failure().site();
  const Frame* shared = shared_function(event);
  if (used == nullptr || shared == nullptr || shared <= used) return false;
  const auto split = std::find_if(event.stack.begin(), event.stack.end(), [&](const Frame& frame) {
    return frame.file == shared->file && frame.function == shared->function;
  });
  return split != event.stack.end() && !same_call(*split, *shared) &&
         std::any_of(event.stack.begin(), split, [&](const Frame& frame) { return same_function(frame, *used); });
}

bool Context::made_for_use(const Event& event) const {
  if (in_failing_call(event)) return true;
  if (in_earlier_call(event)) return false;
  const Frame* made = event.written();
  const Frame* used = failure().site();
  if (made == nullptr || used == nullptr) return false;
  const bool same = (made->file == used->file || (is_cell(*made) && is_cell(*used))) &&  // cells are one program
                    (made->function == used->function || used->function.starts_with(made->function + ".<locals>"));
  // Or in something that the function called before, and that returned it.
  const Frame* shared = shared_function(event);
  const bool called = shared != nullptr && shared->function != "<module>" && shared->file == used->file &&
                      shared->function == used->function;
  if (!same && !called) return false;
  // Handed to a module, it is the module's input.
  for (const Frame& frame : failure().frames) {
    if (&frame == used) return true;
    if (last_part(frame.function) == "_call_impl" || last_part(frame.function) == "forward") return false;
  }
  return true;
}

bool Context::at_construction(const Event& event) { return in_function(event, "__init__"); }

bool Context::at_module_level(const Event& event) {
  const Frame* frame = event.written();
  // The body of a class runs when the class is defined (CLASS_BODY in devsan/introspect/frames/places.py).
  return frame != nullptr && (frame->function == "<module>" || (last_part(frame->function) == "<class>" &&
                                                                frame->function.find("<locals>") == std::string::npos));
}

bool Context::in_function(const Event& event, std::string_view name) {
  return std::any_of(event.stack.begin(), event.stack.end(),
                     [&](const Frame& frame) { return frame.function == name || last_part(frame.function) == name; });
}

bool Context::on_stack(std::string_view package) const {
  const auto& frames = failure().frames;
  return std::any_of(frames.begin(), frames.end(), [&](const Frame& frame) { return frame.package == package; });
}

bool Context::runs_function(std::initializer_list<std::string_view> names) const {
  const auto& frames = failure().frames;
  return std::any_of(frames.begin(), frames.end(), [&](const Frame& frame) {
    return std::find(names.begin(), names.end(), last_part(frame.function)) != names.end();
  });
}

bool Context::runs_file(std::string_view part) const {
  const auto& frames = failure().frames;
  return std::any_of(frames.begin(), frames.end(),
                     [&](const Frame& frame) { return frame.file.find(part) != std::string::npos; });
}

const Module* Context::failing_module() const {
  if (model() == nullptr) return nullptr;
  // The innermost method of a module of the model; torch's own containers only call their children.
  const Module* root = model()->find("");
  for (const Frame& frame : failure().frames) {
    // The root has no path; its method is known by the name of its class.
    const bool of_root =
        root != nullptr && frame.module.empty() && frame.function == std::string(last_part(root->type)) + ".forward";
    if (frame.module.empty() && !of_root) continue;
    if (const Module* module = model()->find(frame.module); module != nullptr && !module->is_container) return module;
  }
  return nullptr;
}

}  // namespace devsan::diagnose
