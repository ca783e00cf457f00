#include "bindings/code_size.h"

namespace devsan::bindings {
namespace {

constexpr int kDeepest = 32;

/// As sys.getsizeof, from the layout alone; of what constants can be.
std::size_t size_of(PyObject* object, int depth) {
  if (object == nullptr || depth > kDeepest) return 0;
  const PyTypeObject* type = Py_TYPE(object);
  auto bytes = static_cast<std::size_t>(type->tp_basicsize);
  if (PyUnicode_Check(object)) {
    return bytes + static_cast<std::size_t>(PyUnicode_GET_LENGTH(object)) * PyUnicode_KIND(object);
  }
  if (type->tp_itemsize > 0) {
    const Py_ssize_t items = Py_SIZE(object);  // an int's sign is its size's, and later lies in it
    if (!PyLong_Check(object)) bytes += static_cast<std::size_t>(items) * static_cast<std::size_t>(type->tp_itemsize);
  }
  if (PyCode_Check(object)) return code_size(*reinterpret_cast<const PyCodeObject*>(object));
  if (PyTuple_Check(object)) {
    for (Py_ssize_t at = 0; at < PyTuple_GET_SIZE(object); ++at)
      bytes += size_of(PyTuple_GET_ITEM(object, at), depth + 1);
  }
  return bytes;
}

}  // namespace

std::size_t code_size(const PyCodeObject& code) {
  const auto* object = reinterpret_cast<const PyObject*>(&code);
  const PyTypeObject* type = Py_TYPE(object);
  auto bytes = static_cast<std::size_t>(type->tp_basicsize);
#if PY_VERSION_HEX >= 0x030B0000
  bytes += static_cast<std::size_t>(Py_SIZE(object)) * static_cast<std::size_t>(type->tp_itemsize);
  bytes += size_of(code.co_exceptiontable, 1) + size_of(code.co_localsplusnames, 1);
#else
  bytes += size_of(code.co_code, 1) + size_of(code.co_varnames, 1);
#endif
  return bytes + size_of(code.co_linetable, 1) + size_of(code.co_consts, 1) + size_of(code.co_names, 1);
}

}  // namespace devsan::bindings
