#pragma once

#include <cstddef>
#include <memory>
#include <typeinfo>

#include <torch/csrc/utils/pybind.h>

namespace devsan::bindings {

/// How a field of one type is read and written, in whatever record it is. Such a pair is compiled once for each type of
/// field; pybind11's own def_readwrite compiles one for each field of each record, of which there are some two hundred.
struct FieldType {
  pybind11::handle (*read)(const void* field, pybind11::handle record);
  bool (*write)(void* field, pybind11::handle value);  ///< false when the value is not one of this type
  const std::type_info* type;
};

template <class Field>
pybind11::handle read_field(const void* field, pybind11::handle record) {
  return pybind11::detail::make_caster<Field>::cast(*static_cast<const Field*>(field),
                                                    pybind11::return_value_policy::reference_internal, record);
}

template <class Field>
bool write_field(void* field, pybind11::handle value) {
  pybind11::detail::make_caster<Field> caster;
  if (!caster.load(value, true)) return false;
  *static_cast<Field*>(field) = pybind11::detail::cast_op<const Field&>(caster);
  return true;
}

/// Gives the class `bound`, of the C++ type `record`, a property for the field at `offset` bytes.
/// Setting it to a value of another type raises TypeError.
void add_field(const pybind11::handle& bound, const char* name, const std::type_info& record, std::size_t offset,
               const FieldType& type);

/// A bound class of plain fields.
template <class Record>
class BoundRecord : public pybind11::class_<Record> {
 public:
  using pybind11::class_<Record>::class_;

  template <class Field>
  BoundRecord& def_readwrite(const char* name, Field Record::*member) {
    const Record record{};
    const auto offset = reinterpret_cast<const char*>(&(record.*member)) - reinterpret_cast<const char*>(&record);
    add_field(*this, name, typeid(Record), static_cast<std::size_t>(offset),
              {&read_field<Field>, &write_field<Field>, &typeid(Field)});
    return *this;
  }
};

/// A plain record: `Event(kind=EventKind.MADE, device="cuda:0")` sets those fields, the others have their defaults.
template <class Record>
BoundRecord<Record> bind_record(pybind11::module_& module, const char* name) {
  BoundRecord<Record> bound(module, name);
  bound.def(pybind11::init([](const pybind11::kwargs& fields) {
    auto record = std::make_unique<Record>();
    const pybind11::object self = pybind11::cast(record.get(), pybind11::return_value_policy::reference);
    for (const auto& [field, value] : fields) pybind11::setattr(self, field, value);
    return record;
  }));
  bound.def("__copy__", [](const Record& self) { return Record(self); });
  return bound;
}

}  // namespace devsan::bindings
