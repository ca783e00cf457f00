#include "guard/meta_mixes.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <mutex>

namespace devsan::guard {
namespace {

std::mutex g_mixes_mutex;
std::vector<MetaMix> g_mixes;
std::atomic<SiteSource> g_site_source{nullptr};

}  // namespace

void note_meta_mix(std::string_view op, std::string_view operand) {
  const SiteSource source = g_site_source;
  std::string site = source == nullptr ? std::string() : source();  // may wait for Python's lock, so before ours
  const std::lock_guard<std::mutex> lock(g_mixes_mutex);
  const auto found = std::find_if(g_mixes.begin(), g_mixes.end(), [&](const MetaMix& mix) {
    return mix.op == op && mix.operand == operand && mix.site == site;
  });
  if (found != g_mixes.end()) {
    ++found->calls;
    return;
  }
  std::fprintf(stderr,
               "devsan: warning: %s%s%.*s returned memory that nobody wrote: its operand %.*s is on meta and has "
               "no elements\n",
               site.c_str(), site.empty() ? "" : ": ", static_cast<int>(op.size()), op.data(),
               static_cast<int>(operand.size()), operand.data());
  g_mixes.push_back({std::string(op), std::string(operand), std::move(site), 1});
}

std::vector<MetaMix> meta_mixes() {
  const std::lock_guard<std::mutex> lock(g_mixes_mutex);
  return g_mixes;
}

void forget_meta_mixes() {
  const std::lock_guard<std::mutex> lock(g_mixes_mutex);
  g_mixes.clear();
}

void set_site_source(SiteSource source) { g_site_source = source; }

}  // namespace devsan::guard
