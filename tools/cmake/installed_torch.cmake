# The torch that is installed beside the building Python, as imported targets:
#   installed_torch          headers, libtorch_cpu, libc10
#   installed_torch_python   the same and libtorch_python, for code that speaks Python
# find_package(Torch) is not used: in a CUDA build of torch it insists on a CUDA toolkit, which DevSan does not need.
# pybind11 is the copy in torch's headers: casters for at::Tensor are shared with torch only within one pybind11 ABI.
execute_process(
  COMMAND ${Python_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/torch_facts.py
  OUTPUT_VARIABLE torch_facts
  ERROR_VARIABLE torch_facts_error
  RESULT_VARIABLE torch_facts_result)
if(NOT torch_facts_result EQUAL 0)
  message(FATAL_ERROR "${torch_facts_error}")
endif()
foreach(fact version git_version site root cxx11_abi)
  string(JSON DEVSAN_TORCH_${fact} GET "${torch_facts}" ${fact})
endforeach()
message(STATUS "DevSan is built for torch ${DEVSAN_TORCH_version} (${DEVSAN_TORCH_root})")

# Another torch in the same environment means configuring again.
set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
             ${DEVSAN_TORCH_root}/version.py ${PROJECT_SOURCE_DIR}/tools/torch_facts.py)

add_library(installed_torch INTERFACE)
target_include_directories(installed_torch SYSTEM INTERFACE
  ${DEVSAN_TORCH_root}/include ${DEVSAN_TORCH_root}/include/torch/csrc/api/include)
target_compile_definitions(installed_torch INTERFACE
  _GLIBCXX_USE_CXX11_ABI=${DEVSAN_TORCH_cxx11_abi}
  # In every command line, so that another torch rebuilds every file.
  DEVSAN_TORCH_VERSION="${DEVSAN_TORCH_version}")
target_link_libraries(installed_torch INTERFACE
  ${DEVSAN_TORCH_root}/lib/libtorch_cpu.so ${DEVSAN_TORCH_root}/lib/libc10.so)

add_library(installed_torch_python INTERFACE)
target_link_libraries(installed_torch_python INTERFACE
  installed_torch ${DEVSAN_TORCH_root}/lib/libtorch_python.so Python::Module)

# What the core was built for; devsan/emulation.py compares it with the torch that is imported.
set(devsan_build_json "${PROJECT_BINARY_DIR}/generated/_build.json")
file(CONFIGURE OUTPUT ${devsan_build_json} @ONLY CONTENT [[{
  "torch_version": "@DEVSAN_TORCH_version@",
  "torch_git_version": "@DEVSAN_TORCH_git_version@",
  "python": "@Python_SOABI@",
  "compiler": "@CMAKE_CXX_COMPILER_ID@ @CMAKE_CXX_COMPILER_VERSION@"
}
]])
