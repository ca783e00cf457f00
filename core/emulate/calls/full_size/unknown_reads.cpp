#include "emulate/calls/full_size/unknown_reads.h"

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <utility>

namespace devsan::emulate {
namespace {

constexpr std::array<std::string_view, 8> kReads{"aten::_local_scalar_dense",
                                                 "aten::equal",
                                                 "aten::nonzero",
                                                 "aten::masked_select",
                                                 "aten::_unique2",
                                                 "aten::_unique",
                                                 "aten::unique_dim",
                                                 "aten::unique_consecutive"};

std::mutex g_told_mutex;
std::shared_ptr<const std::function<void(const std::string&)>> g_told;

}  // namespace

bool is_read(std::string_view op) noexcept { return std::find(kReads.begin(), kReads.end(), op) != kReads.end(); }

void set_told_of_reads(std::function<void(const std::string&)> told) {
  auto fresh = told ? std::make_shared<const std::function<void(const std::string&)>>(std::move(told)) : nullptr;
  const std::lock_guard lock(g_told_mutex);
  g_told.swap(fresh);
}

void tell_read(record::OperatorId op) {
  std::shared_ptr<const std::function<void(const std::string&)>> told;
  {
    const std::lock_guard lock(g_told_mutex);
    told = g_told;
  }
  if (told != nullptr) (*told)(record::Recorder::instance().operator_name(op));
}

}  // namespace devsan::emulate
