#include <algorithm>

#include "diagnose/context.h"

// The model that failed, its hooks and wrappers; settings and versions.

namespace devsan::diagnose {

using model::Device;
using model::Module;

const model::Model* Context::model() const { return facts_.models.empty() ? nullptr : &facts_.models.front(); }

namespace {

bool is_hooked(const model::Model& model) {
  return std::any_of(model.modules.begin(), model.modules.end(),
                     [](const Module& module) { return !module.hooks.empty(); });
}

bool has_map(const model::Model& model) {
  return is_hooked(model) || !model.device_map.empty() || !model.device_map_text.empty();
}

bool spans_gpus(const model::Model& model) {
  std::vector<Device> found = model.devices();
  for (const model::MapEntry& entry : model.device_map) found.push_back(entry.device);
  const Device* first = nullptr;
  for (const Device& device : found) {
    if (!device.is_accelerator()) continue;
    if (first == nullptr) first = &device;
    if (*first != device) return true;
  }
  return false;
}

}  // namespace

bool Context::model_spans_gpus() const { return model() != nullptr && spans_gpus(*model()); }

bool Context::any_spans_gpus() const { return std::any_of(facts_.models.begin(), facts_.models.end(), spans_gpus); }

bool Context::is_hooked() const { return model() != nullptr && diagnose::is_hooked(*model()); }

bool Context::has_map() const { return model() != nullptr && diagnose::has_map(*model()); }

bool Context::any_has_map() const {
  return std::any_of(facts_.models.begin(), facts_.models.end(),
                     [](const auto& each) { return diagnose::has_map(each); });
}

bool Context::is_wrapped_by(std::string_view wrapper) const {
  if (model() == nullptr) return false;
  const auto& all = model()->wrappers;
  return std::find(all.begin(), all.end(), wrapper) != all.end();
}

const Module* Context::hooked_parent(std::string_view path) const {
  const Module* best = nullptr;
  if (model() == nullptr) return nullptr;
  for (const Module& module : model()->modules) {
    if (module.hooks.empty() || !model::is_under(path, module.path)) continue;
    if (best == nullptr || module.path.size() > best->path.size()) best = &module;
  }
  return best;
}

std::vector<Device> Context::devices_below(std::string_view path) const {
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

bool Context::trains_on(const Device& device) const {
  return std::any_of(facts_.optimizers.begin(), facts_.optimizers.end(), [&](const model::Optimizer& each) {
    return std::find(each.trains_on.begin(), each.trains_on.end(), device) != each.trains_on.end();
  });
}

const model::Setting* Context::setting(std::string_view part_of_name) const {
  for (const model::Setting& setting : facts_.settings) {
    if (setting.name.find(part_of_name) != std::string::npos) return &setting;
  }
  return nullptr;
}

std::string Context::version(std::string_view distribution) const {
  const auto found = process().versions.find(std::string(distribution));
  return found == process().versions.end() ? "" : found->second;
}

}  // namespace devsan::diagnose
