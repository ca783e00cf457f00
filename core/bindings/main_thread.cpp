#include "bindings/main_thread.h"

#include <pthread.h>

namespace devsan::bindings {
namespace {

PyThreadState* g_main = nullptr;  // Python's lock guards it

PyThreadState* oldest_thread() noexcept {
  PyThreadState* oldest = PyInterpreterState_ThreadHead(PyThreadState_GetInterpreter(PyThreadState_Get()));
  while (PyThreadState* older = PyThreadState_Next(oldest)) oldest = older;
  return oldest;
}

}  // namespace

PyThreadState* main_thread() noexcept {
  // Looked for once: every placement asks, and a program may have hundreds of threads. It lives as long as Python does;
  // only in a forked child another one may take its place.
  static const int registered = pthread_atfork(nullptr, nullptr, [] { g_main = nullptr; });
  static_cast<void>(registered);
  if (g_main == nullptr) g_main = oldest_thread();
  return g_main;
}

}  // namespace devsan::bindings
