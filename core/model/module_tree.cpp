#include "model/module_tree.h"

#include <algorithm>

namespace devsan::model {

const Module* Model::find(std::string_view path) const {
  const auto found =
      std::find_if(modules.begin(), modules.end(), [&](const Module& module) { return module.path == path; });
  return found == modules.end() ? nullptr : &*found;
}

std::vector<Device> Model::devices() const {
  std::vector<Device> found;
  for (const Module& module : modules) {
    for (const ModuleTensor& tensor : module.tensors) {
      if (std::find(found.begin(), found.end(), tensor.device) == found.end()) found.push_back(tensor.device);
    }
  }
  return found;
}

const MapEntry* entry_for(const std::vector<MapEntry>& map, std::string_view path) {
  const MapEntry* best = nullptr;
  for (const MapEntry& entry : map) {
    if (is_under(path, entry.key) && (best == nullptr || entry.key.size() > best->key.size())) best = &entry;
  }
  return best;
}

std::string_view parent_of(std::string_view path) {
  const auto dot = path.rfind('.');
  return dot == std::string_view::npos ? std::string_view() : path.substr(0, dot);
}

bool is_under(std::string_view path, std::string_view ancestor) {
  if (ancestor.empty() || path == ancestor) return true;
  return path.size() > ancestor.size() && path.starts_with(ancestor) && path[ancestor.size()] == '.';
}

}  // namespace devsan::model
