# How DevSan's own code is compiled. Everything here is carried by the interface target devsan_compiler.
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
# Reading a precompiled header of torch takes two seconds of each file, more than most files' own code. The price: no two
# files of a folder may have the same name in an unnamed namespace. With OFF (make sanitize) each file stands alone.
set(CMAKE_UNITY_BUILD ${DEVSAN_UNITY})
set(CMAKE_UNITY_BUILD_BATCH_SIZE 12)

add_library(devsan_compiler INTERFACE)
# -g1 keeps function names and lines for stacks at little cost in build time.
target_compile_options(devsan_compiler INTERFACE -Wall -Wextra -Wpedantic -g1)
if(DEVSAN_WERROR)
  target_compile_options(devsan_compiler INTERFACE -Werror)
endif()
if(DEVSAN_SANITIZE)
  # Instrumented, GCC 12 takes the device guard in c10::ivalue::Future::invokeCallback for uninitialized: a false alarm.
  target_compile_options(devsan_compiler INTERFACE -fsanitize=${DEVSAN_SANITIZE}
                         -fno-omit-frame-pointer -O1 -UNDEBUG -Wno-maybe-uninitialized)
  target_link_options(devsan_compiler INTERFACE -fsanitize=${DEVSAN_SANITIZE})
endif()

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  # A precompiled header changes its time stamp with each build from nothing; without these settings ccache refuses it.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${CCACHE_PROGRAM})
endif()

find_program(MOLD_PROGRAM mold)
find_program(LLD_PROGRAM ld.lld)
if(MOLD_PROGRAM)
  target_link_options(devsan_compiler INTERFACE -fuse-ld=mold)
elseif(LLD_PROGRAM)
  target_link_options(devsan_compiler INTERFACE -fuse-ld=lld)
endif()
