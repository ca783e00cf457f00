#include "bindings/record.h"

#include <string>

namespace devsan::bindings {

namespace py = pybind11;

namespace {

/// Where the field is in the object behind `self`.
char* find_field(py::handle self, const std::type_info& record, std::size_t offset) {
  py::detail::type_caster_generic caster(record);
  if (!caster.load(self, false) || caster.value == nullptr) {
    throw py::type_error("Expected a record of DevSan's, got " + std::string(py::repr(self)));
  }
  return static_cast<char*>(caster.value) + offset;
}

}  // namespace

void add_field(const py::handle& bound, const char* name, const std::type_info& record, std::size_t offset,
               const FieldType& type) {
  const py::cpp_function getter(
      [&record, offset, read = type.read](py::handle self) {
        return py::reinterpret_steal<py::object>(read(find_field(self, record, offset), self));
      },
      py::is_method(bound));
  const py::cpp_function setter(
      [&record, offset, type, name](py::handle self, py::handle value) {
        if (type.write(find_field(self, record, offset), value)) return;
        std::string expected = type.type->name();
        py::detail::clean_type_id(expected);
        throw py::type_error(std::string(name) + ": expected " + expected + ", got " + std::string(py::repr(value)));
      },
      py::is_method(bound));
  const auto property = py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(&PyProperty_Type));
  py::setattr(bound, name, property(getter, setter));
}

}  // namespace devsan::bindings
