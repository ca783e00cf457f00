#include "collectives/fingerprint_check.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include <c10/util/StringUtil.h>

namespace devsan::collectives {
namespace {

/// A rank that finds a difference gives the others so much time to come, so that the sentence has the sizes of all.
constexpr std::chrono::milliseconds kOthersCome{5000};
constexpr std::chrono::milliseconds kLookAgain{10};

template <std::size_t N>
std::string text_in(const Text<N>& value) {
  return {value.data(), strnlen(value.data(), N)};
}

template <std::size_t N>
void fill(Text<N>& text, std::string_view value) {
  value = value.substr(0, N - 1);
  std::copy(value.begin(), value.end(), text.begin());
  text[value.size()] = '\0';
}

CollectiveFingerprint fingerprint_of(const Call& call, const CallSite& site, const CollectiveRequest& request,
                                     std::uint64_t number) {
  CollectiveFingerprint fingerprint;
  fingerprint.number = number;
  fingerprint.sequence = call.sequence;
  fingerprint.bytes = request.bytes;
  fingerprint.elements = call.elements_in;
  fingerprint.route = static_cast<std::uint32_t>(request.route);
  fingerprint.root = request.root;
  fingerprint.type = static_cast<std::int32_t>(request.type);
  fingerprint.line = site.line;
  fill(fingerprint.name, call.name);
  if (const at::Tensor* tensor = call.first()) fill(fingerprint.dtype, name_of(tensor->scalar_type()));
  fingerprint.file = site.file;
  return fingerprint;
}

std::string list_of(const std::vector<std::int64_t>& numbers) {
  std::string all;
  for (const std::int64_t number : numbers) all += c10::str(all.empty() ? "" : ", ", number);
  return "[" + all + "]";
}

}  // namespace

FingerprintCheck::FingerprintCheck(const Group& group, std::unique_ptr<FingerprintTable> table)
    : group_(group),
      table_(std::move(table)),
      sent_(static_cast<std::size_t>(group.size)),
      received_(static_cast<std::size_t>(group.size)) {}

bool FingerprintCheck::proposes(const Call& call, const CallSite& site, c10::ArrayRef<CollectiveRequest> requests) {
  if (table_ == nullptr) return true;
  const std::uint64_t first = proposed_ + 1;
  std::vector<CollectiveFingerprint> fingerprints;
  fingerprints.reserve(requests.size());
  for (const CollectiveRequest& request : requests) {
    fingerprints.push_back(fingerprint_of(call, site, request, ++proposed_));
    if (!request.given.empty()) table_->write_shares(group_.rank, proposed_, request.given, request.wanted);
  }
  for (const CollectiveFingerprint& fingerprint : fingerprints) table_->write(group_.rank, fingerprint);
  if (is_refused(proposed_)) return false;
  for (std::size_t i = 0; i < fingerprints.size(); ++i) {
    for (const int rank : group_.attendance.present()) {
      if (rank == group_.rank || fits(rank, fingerprints[i], requests[i])) continue;
      table_->refuse(first + i);
      wait_for_others(first + i);
      return false;
    }
  }
  return true;
}

bool FingerprintCheck::fits(int rank, const CollectiveFingerprint& own, const CollectiveRequest& request) const {
  if (table_->differs(rank, own)) return false;
  if (request.given.empty()) return true;
  const auto share = table_->read_share(rank, own.number, group_.rank);
  const auto place = static_cast<std::size_t>(rank);
  return !share.has_value() || (share->first == request.wanted[place] && share->second == request.given[place]);
}

void FingerprintCheck::take_back(std::size_t count) {
  for (; count > 0; --count, --proposed_) {
    if (table_ != nullptr) table_->erase(group_.rank, proposed_);
  }
}

bool FingerprintCheck::proposes_message(bool sends, int peer, std::int64_t bytes) {
  if (table_ == nullptr) return true;
  std::uint64_t& number = (sends ? sent_ : received_)[static_cast<std::size_t>(peer)];
  const TableMessage message{sends ? group_.rank : peer, sends ? peer : group_.rank, ++number};
  table_->write_message(message, sends, bytes);
  const auto other = table_->read_message(message, !sends);
  if (!other.has_value() || *other == bytes) return true;
  table_->refuse(message);
  return false;
}

bool FingerprintCheck::is_refused(std::uint64_t number) const noexcept {
  if (table_ == nullptr) return false;
  const std::uint64_t refused = table_->refused_call();
  return (refused != 0 && refused <= number) || table_->refused_message().has_value();
}

void FingerprintCheck::wait_for_others(std::uint64_t number) const {
  const auto end = std::chrono::steady_clock::now() + kOthersCome;
  for (const int rank : group_.attendance.present()) {
    while (!table_->read(rank, number).has_value() && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(kLookAgain);
    }
  }
}

std::string FingerprintCheck::refusal() const {
  if (table_ == nullptr) return "";
  if (const std::uint64_t number = table_->refused_call(); number != 0) return refusal_of_call(number);
  if (const auto message = table_->refused_message(); message.has_value()) return refusal_of(*message);
  return "";
}

std::string FingerprintCheck::refusal_of_call(std::uint64_t number) const {
  std::string lines;
  std::uint64_t sequence = 0;
  for (const int rank : group_.attendance.present()) {
    const auto call = table_->read(rank, number);
    if (call.has_value()) sequence = call->sequence;
    lines += "\n  " + line_of(rank, call);
  }
  return c10::str("Expected the same call in all ranks, got at number ", sequence, " of the group:", lines);
}

std::string FingerprintCheck::line_of(int rank, const std::optional<CollectiveFingerprint>& call) const {
  const std::string who = c10::str("rank ", group_.global_rank(rank), ": ");
  if (!call.has_value()) return who + "has not come to it";
  std::string line = c10::str(who, text_in(call->name));
  if (call->root >= 0) line += c10::str(" with root ", group_.global_rank(call->root));
  if (call->dtype[0] != '\0') line += c10::str(" of ", call->elements, " elements of ", text_in(call->dtype));
  if (static_cast<Route>(call->route) == Route::kAllToAll) {
    std::vector<std::int64_t> given;
    std::vector<std::int64_t> wanted;
    for (int other = 0; other < group_.size; ++other) {
      const auto share = table_->read_share(rank, call->number, other);
      if (!share.has_value()) break;
      given.push_back(share->first);
      wanted.push_back(share->second);
    }
    line += c10::str(", gives ", list_of(given), " bytes to the ranks and expects ", list_of(wanted), " from them");
  } else {
    line += c10::str(" (", call->bytes, " bytes)");
  }
  if (call->file[0] != '\0') line += c10::str(", at ", text_in(call->file), ":", call->line);
  return line;
}

std::string FingerprintCheck::refusal_of(const TableMessage& message) const {
  const std::int64_t sent = table_->read_message(message, true).value_or(0);
  const std::int64_t wanted = table_->read_message(message, false).value_or(0);
  const int from = group_.global_rank(message.from);
  const int to = group_.global_rank(message.to);
  return c10::str("Expected one size on both sides, got at message ", message.number, " from rank ", from, " to rank ",
                  to, ":\n  rank ", from, ": send of ", sent, " bytes\n  rank ", to, ": recv of ", wanted, " bytes");
}

}  // namespace devsan::collectives
