#include <structmember.h>

#include "bindings/bindings.h"
#include "memory/scope.h"

namespace devsan::bindings {

namespace py = pybind11;

namespace {

// NOTE [Calls of modules]
// A run file tells which part of a model took the memory, so something has to know which module runs. A hook of torch's
// would be traced by dynamo, which refuses a full graph for it, and a Python function would be a frame in every stack. So
// an object stands in the place of torch.nn.Module.__call__. Python finds it for each call of an instance and calls it by
// the vectorcall protocol, as it does with a function; asked of the class, it gives the function that stood there.

struct ModuleCalls {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* call;  ///< torch's own
  PyObject* then;  ///< what the next call begins with, where it is awaited
  bool is_awaited;
};

ModuleCalls* as_calls(PyObject* object) { return reinterpret_cast<ModuleCalls*>(object); }

PyObject* call_module(PyObject* object, PyObject* const* arguments, size_t count, PyObject* keywords) {
  ModuleCalls* self = as_calls(object);
  if (self->is_awaited) {
    self->is_awaited = false;
    PyObject* returned = PyObject_CallNoArgs(self->then);
    if (returned == nullptr) return nullptr;
    Py_DECREF(returned);
  }
  const py::object call = py::reinterpret_borrow<py::object>(self->call);
  const auto module = PyVectorcall_NARGS(count) > 0 ? reinterpret_cast<memory::Scope>(arguments[0]) : memory::Scope{0};
  const memory::ScopeGuard scope(module);
  return PyObject_Vectorcall(call.ptr(), arguments, count, keywords);
}

PyObject* create(PyTypeObject* type, PyObject* arguments, PyObject* keywords) {
  static const char* names[] = {"call", "then", nullptr};
  PyObject* call = nullptr;
  PyObject* then = nullptr;
  if (PyArg_ParseTupleAndKeywords(arguments, keywords, "OO", const_cast<char**>(names), &call, &then) == 0) {
    return nullptr;
  }
  PyObject* object = type->tp_alloc(type, 0);
  if (object == nullptr) return nullptr;
  ModuleCalls* self = as_calls(object);
  self->vectorcall = &call_module;
  self->call = Py_NewRef(call);
  self->then = Py_NewRef(then);
  self->is_awaited = false;
  return object;
}

int traverse(PyObject* object, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(as_calls(object)->call);
  Py_VISIT(as_calls(object)->then);
  return 0;
}

int clear(PyObject* object) {
  Py_CLEAR(as_calls(object)->call);
  Py_CLEAR(as_calls(object)->then);
  return 0;
}

void destroy(PyObject* object) {
  PyObject_GC_UnTrack(object);
  clear(object);
  PyTypeObject* type = Py_TYPE(object);
  type->tp_free(object);
  Py_DECREF(type);
}

PyObject* bind_to(PyObject* object, PyObject* instance, PyObject*) {
  return instance == nullptr ? Py_NewRef(as_calls(object)->call) : PyMethod_New(object, instance);
}

PyObject* await_call(PyObject* object, PyObject*) {
  as_calls(object)->is_awaited = true;
  Py_RETURN_NONE;
}

PyObject* stop_waiting(PyObject* object, PyObject*) {
  as_calls(object)->is_awaited = false;
  Py_RETURN_NONE;
}

PyMethodDef methods[] = {{"await_call", &await_call, METH_NOARGS, nullptr},
                         {"stop_waiting", &stop_waiting, METH_NOARGS, nullptr},
                         {nullptr, nullptr, 0, nullptr}};

PyMemberDef members[] = {{"__vectorcalloffset__", T_PYSSIZET, offsetof(ModuleCalls, vectorcall), READONLY, nullptr},
                         {nullptr, 0, 0, 0, nullptr}};

PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(&create)},
                       {Py_tp_dealloc, reinterpret_cast<void*>(&destroy)},
                       {Py_tp_traverse, reinterpret_cast<void*>(&traverse)},
                       {Py_tp_clear, reinterpret_cast<void*>(&clear)},
                       {Py_tp_call, reinterpret_cast<void*>(&PyVectorcall_Call)},
                       {Py_tp_descr_get, reinterpret_cast<void*>(&bind_to)},
                       {Py_tp_methods, methods},
                       {Py_tp_members, members},
                       {0, nullptr}};

PyType_Spec spec = {"devsan._core.ModuleCalls", sizeof(ModuleCalls), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR,
                    slots};

}  // namespace

void bind_module_calls(py::module_& module) {
  module.def("around", [](const py::object& call, const py::object& begin, const py::object& end) {
    return py::cpp_function([call, begin, end](const py::args& arguments, const py::kwargs& keywords) {
      const py::object begun = begin();
      py::object result;
      try {
        result = call(*arguments, **keywords);
      } catch (py::error_already_set&) {
        end(begun);
        throw;
      }
      end(begun);
      return result;
    });
  });
  module.attr("ModuleCalls") = py::reinterpret_steal<py::object>(PyType_FromSpec(&spec));
}

}  // namespace devsan::bindings
