// What most of the libraries that use torch include, precompiled once for all of them.
// A file still includes what it uses: the build must work with -DDEVSAN_PCH=OFF.
#pragma once

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>
