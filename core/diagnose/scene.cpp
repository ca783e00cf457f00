#include "diagnose/scene.h"

#include <algorithm>

#include "diagnose/source_text.h"

namespace devsan::diagnose {

using model::Device;
using model::DeviceSource;
using model::Event;
using model::EventKind;
using model::Frame;
using model::Module;
using model::Operand;
namespace owners = model::owners;

bool Scene::is_mismatch() const { return across_gpus() || host_meets_gpu() || has_meta(); }

bool Scene::across_gpus() const {
  const Device* first = nullptr;
  for (const Operand& operand : operands()) {
    if (!operand.device.is_accelerator()) continue;
    if (first == nullptr) first = &operand.device;
    if (*first != operand.device) return true;
  }
  return false;
}

bool Scene::host_meets_gpu() const {
  const auto has = [&](auto test) {
    return std::any_of(operands().begin(), operands().end(), [&](const Operand& each) { return test(each.device); });
  };
  return has([](const Device& device) { return device.is_host(); }) &&
         has([](const Device& device) { return device.is_accelerator(); });
}

bool Scene::has_meta() const {
  return std::any_of(operands().begin(), operands().end(), [](const Operand& each) { return each.device.is_meta(); });
}

bool Scene::op_is(std::initializer_list<std::string_view> names) const {
  const auto op = short_op(failure().op);
  return std::find(names.begin(), names.end(), op) != names.end();
}

bool Scene::sentence_has(std::string_view words) const { return failure().sentence.find(words) != std::string::npos; }

const Operand* Scene::partner_of(const Operand& operand) const {
  const Operand* best = nullptr;
  for (const Operand& other : operands()) {
    if (other.device == operand.device || !other.device.is_known()) continue;
    if (best == nullptr || other.bytes > best->bytes) best = &other;
  }
  return best;
}

std::size_t Scene::index_of(const Operand& operand) const {
  return static_cast<std::size_t>(&operand - operands().data());
}

std::string Scene::text_of(const Operand& operand) const {
  return quoted(operand.best_name()) + " on " + operand.device.str();
}

std::string Scene::path_of(const Operand& operand) const {
  if (!operand.known_as.empty()) return operand.known_as;
  // The probe names what a computed operand followed where it is a tensor of the model.
  for (const Event& event : operand.trail) {
    if (event.kind == EventKind::kComputed && model() != nullptr &&
        model()->find(model::parent_of(event.followed)) != nullptr && !model::parent_of(event.followed).empty()) {
      return event.followed;
    }
  }
  return "";
}

bool Scene::is_called(const Operand& operand, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
    return operand.name.find(word) != std::string::npos || operand.known_as.find(word) != std::string::npos;
  });
}

bool Scene::is_placed_by_map(const Operand& operand) const {
  if (const Event* placed = placement_of(operand.trail)) {
    if (source_of(*placed) == DeviceSource::kMap || placed->owner.is(owners::kAccelerate)) return true;
    if (placed->owner.setting.starts_with("device_map")) return true;
    if (placed->owner.is_known()) return false;
  }
  const std::string path = path_of(operand);
  if (path.empty() || model() == nullptr) return false;
  const auto* entry = model::entry_for(model()->device_map, path);
  return entry != nullptr && entry->device == operand.device;
}

const Frame* Scene::shared_function(const Event& event) const {
  // Outermost first: the stacks are of one run of a function for as long as they went through the same lines.
  const Frame* shared = nullptr;
  auto there = event.stack.rbegin();
  auto here = failure().frames.rbegin();
  while (there != event.stack.rend() && here != failure().frames.rend()) {
    if (there->file != here->file || there->function != here->function) break;
    shared = &*here;
    if (there->span.line != here->span.line) break;
    ++there;
    ++here;
  }
  return shared;
}

bool Scene::in_failing_call(const Event& event) const {
  if (event.step >= 0 && failure().step >= 0) return event.step == failure().step;
  const Frame* shared = shared_function(event);
  if (shared == nullptr) return false;
  // The call of the model is the outermost frame that is a module's own.
  const auto& frames = failure().frames;
  const auto call = std::find_if(frames.rbegin(), frames.rend(), [](const Frame& frame) {
    return !frame.module.empty() || last_part(frame.function) == "forward";
  });
  if (call == frames.rend()) return false;
  return shared <= &*call;  // at or inside of it
}

bool Scene::made_for_use(const Event& event) const {
  if (in_failing_call(event)) return true;
  if (event.step >= 0 && failure().step >= 0) return false;
  const Frame* made = event.written();
  const Frame* used = failure().site();
  if (made == nullptr || used == nullptr) return false;
  const bool same = made->file == used->file &&
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

bool Scene::at_construction(const Event& event) { return in_function(event, "__init__"); }

bool Scene::at_module_level(const Event& event) {
  const Frame* frame = event.written();
  return frame != nullptr && frame->function == "<module>";
}

bool Scene::in_function(const Event& event, std::string_view name) {
  return std::any_of(event.stack.begin(), event.stack.end(),
                     [&](const Frame& frame) { return frame.function == name || last_part(frame.function) == name; });
}

bool Scene::on_stack(std::string_view package) const {
  const auto& frames = failure().frames;
  return std::any_of(frames.begin(), frames.end(), [&](const Frame& frame) { return frame.package == package; });
}

bool Scene::runs_function(std::initializer_list<std::string_view> names) const {
  const auto& frames = failure().frames;
  return std::any_of(frames.begin(), frames.end(), [&](const Frame& frame) {
    return std::find(names.begin(), names.end(), last_part(frame.function)) != names.end();
  });
}

bool Scene::runs_file(std::string_view part) const {
  const auto& frames = failure().frames;
  return std::any_of(frames.begin(), frames.end(),
                     [&](const Frame& frame) { return frame.file.find(part) != std::string::npos; });
}

const Module* Scene::failing_module() const {
  if (model() == nullptr) return nullptr;
  // The innermost method of a module of the model; torch's own containers only call their children.
  for (const Frame& frame : failure().frames) {
    if (frame.module.empty()) continue;
    if (const Module* module = model()->find(frame.module); module != nullptr && !module->is_container) return module;
  }
  return nullptr;
}

const model::Model* Scene::model() const { return facts_.models.empty() ? nullptr : &facts_.models.front(); }

bool Scene::model_spans_gpus() const {
  if (model() == nullptr) return false;
  std::vector<Device> found = model()->devices();
  for (const model::MapEntry& entry : model()->device_map) found.push_back(entry.device);
  const Device* first = nullptr;
  for (const Device& device : found) {
    if (!device.is_accelerator()) continue;
    if (first == nullptr) first = &device;
    if (*first != device) return true;
  }
  return false;
}

bool Scene::is_hooked() const {
  return model() != nullptr && std::any_of(model()->modules.begin(), model()->modules.end(),
                                           [](const Module& module) { return !module.hooks.empty(); });
}

bool Scene::is_wrapped_by(std::string_view wrapper) const {
  if (model() == nullptr) return false;
  const auto& all = model()->wrappers;
  return std::find(all.begin(), all.end(), wrapper) != all.end();
}

const Module* Scene::hooked_parent(std::string_view path) const {
  const Module* best = nullptr;
  if (model() == nullptr) return nullptr;
  for (const Module& module : model()->modules) {
    if (module.hooks.empty() || !model::is_under(path, module.path)) continue;
    if (best == nullptr || module.path.size() > best->path.size()) best = &module;
  }
  return best;
}

std::vector<Device> Scene::devices_below(std::string_view path) const {
  std::vector<Device> found;
  if (model() == nullptr) return found;
  const auto add = [&](const Device& device) {
    if (device.is_known() && std::find(found.begin(), found.end(), device) == found.end()) found.push_back(device);
  };
  for (const Module& module : model()->modules) {
    if (!model::is_under(module.path, path)) continue;
    for (const model::Hook& hook : module.hooks) add(hook.execution_device);
    for (const model::ModuleTensor& tensor : module.tensors) add(tensor.device);
  }
  return found;
}

const model::Setting* Scene::setting(std::string_view part_of_name) const {
  for (const model::Setting& setting : facts_.settings) {
    if (setting.name.find(part_of_name) != std::string::npos) return &setting;
  }
  return nullptr;
}

std::string Scene::version(std::string_view distribution) const {
  const auto found = process().versions.find(std::string(distribution));
  return found == process().versions.end() ? "" : found->second;
}

std::string_view short_op(std::string_view op) {
  if (const auto colons = op.find("::"); colons != std::string_view::npos) op.remove_prefix(colons + 2);
  return op.substr(0, op.find('.'));
}

std::string_view last_part(std::string_view name) {
  const auto dot = name.rfind('.');
  return dot == std::string_view::npos ? name : name.substr(dot + 1);
}

std::string quoted(std::string_view name) { return "`" + std::string(name) + "`"; }

std::string text_of(const model::Owner& owner) {
  std::string text = owner.is(owners::kProgram) ? "this program" : owner.name;
  if (!owner.mechanism.empty()) text += " (" + owner.mechanism + ")";
  if (!owner.setting.empty()) text += ": " + owner.setting;
  return text;
}

std::string text_of(const Frame* frame) {
  if (frame == nullptr || !frame->is_known()) return "";
  const auto slash = frame->file.rfind('/');
  const auto file = slash == std::string::npos ? frame->file : frame->file.substr(slash + 1);
  return frame->span.line > 0 ? file + ":" + std::to_string(frame->span.line) : file;
}

std::string at_text(const Event& event) {
  const bool by_owner = event.owner.where.is_known();
  const std::string place = text_of(by_owner                         ? &event.owner.where
                                    : event.kind == EventKind::kMade ? event.written()
                                                                     : event.site());
  return place.empty() ? "" : ", at " + place;
}

}  // namespace devsan::diagnose
