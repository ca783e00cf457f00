#include <pybind11/stl.h>

#include <bitset>
#include <unordered_set>
#include <utility>
#include <vector>

#include "bindings/bindings.h"

namespace devsan::bindings {

namespace py = pybind11;

namespace {

using Names = std::vector<std::pair<py::object, py::object>>;  // a module, and a name of its own

/// A set of addresses that says of nearly all others at once that they are not in it.
class Addresses {
 public:
  explicit Addresses(const std::unordered_set<std::size_t>& addresses) : addresses_(addresses) {
    for (const std::size_t address : addresses) seen_.set(place_of(address));
  }

  bool contains(const PyObject* object) const {
    const auto address = reinterpret_cast<std::size_t>(object);
    return seen_.test(place_of(address)) && addresses_.contains(address);
  }

 private:
  static constexpr std::size_t kPlaces = 1 << 14;
  static std::size_t place_of(std::size_t address) { return (address >> 4) % kPlaces; }

  const std::unordered_set<std::size_t>& addresses_;
  std::bitset<kPlaces> seen_;
};

/// A program of transformers has 150,000 such names. Their values are compared by address and not touched: counting a
/// reference to each, as a loop of Python's does, takes several times as long.
Names names_of(const std::vector<py::object>& modules, const std::unordered_set<std::size_t>& ids) {
  const Addresses wanted(ids);
  Names found;
  for (const py::object& module : modules) {
    if (!PyModule_Check(module.ptr())) continue;
    Py_ssize_t at = 0;
    PyObject* name = nullptr;
    PyObject* value = nullptr;
    while (PyDict_Next(PyModule_GetDict(module.ptr()), &at, &name, &value)) {
      if (wanted.contains(value) && PyUnicode_Check(name)) {
        found.emplace_back(module, py::reinterpret_borrow<py::object>(name));
      }
    }
  }
  return found;
}

}  // namespace

void bind_module_names(py::module_& module) { module.def("names_of", &names_of, py::arg("modules"), py::arg("ids")); }

}  // namespace devsan::bindings
