// The ledger of ledger.h. Requests for /_requests itself are not entered.
#include "dev/fake-model/ledger.h"

#include <algorithm>
#include <string_view>

#include "lib/json.h"
#include "lib/time_text.h"

namespace hostler::fake_model {
namespace {

constexpr size_t entries_max = 100;
constexpr size_t body_bytes_kept = 256 * 1024;

bool is_secret(std::string_view name) {
  return name == "authorization" || name == "x-api-key" || name == "api-key" || name == "cookie" ||
         name == "proxy-authorization";
}

// chat, messages, alpha, beta, gamma, delta, pages or other.
std::string_view kind_of(std::string_view path) {
  if (path.ends_with("/chat/completions")) return "chat";
  if (path.ends_with("/v1/messages")) return "messages";
  for (std::string_view service : {"alpha", "beta", "gamma", "delta", "pages"}) {
    if (path.substr(1).starts_with(service)) return service;
  }
  return "other";
}

std::string_view outcome_name(Outcome outcome) {
  switch (outcome) {
    case Outcome::finished:
      return "finished";
    case Outcome::aborted_by_client:
      return "aborted_by_client";
    case Outcome::cut_by_server:
      return "cut_by_server";
  }
  return "finished";
}

}  // namespace

void Ledger::begin(uint64_t number, const HttpRequest& request) {
  if (request.path == "/_requests") return;
  ++requests_;
  if (!request.path.empty()) ++counts_[std::string(kind_of(request.path))];
  open_.emplace(number, Open{});
  open_max_ = std::max(open_max_, static_cast<int64_t>(open_.size()));
  Entry entry;
  entry.number = number;
  entry.began_unix_ms = unix_now_ms();
  entry.method = request.method;
  entry.target = request.target;
  for (const HeaderField& field : request.fields) {
    if (!is_secret(field.name)) entry.fields.push_back(field);
  }
  entry.body_cut = request.body.size() > body_bytes_kept;
  entry.body = request.body.substr(0, body_bytes_kept);
  if (entries_.size() >= entries_max) entries_.pop_front();
  entries_.push_back(std::move(entry));
}

Ledger::Entry* Ledger::find(uint64_t number) {
  auto found = std::lower_bound(entries_.begin(), entries_.end(), number,
                                [](const Entry& entry, uint64_t n) { return entry.number < n; });
  return found != entries_.end() && found->number == number ? &*found : nullptr;
}

void Ledger::stream(uint64_t number) {
  auto found = open_.find(number);
  if (found == open_.end()) return;
  found->second.streams = true;
  ++open_streams_;
  if (Entry* entry = find(number)) entry->streams = true;
}

void Ledger::end(uint64_t number, int status, Outcome outcome) {
  auto found = open_.find(number);
  if (found == open_.end()) return;
  if (found->second.streams) --open_streams_;
  open_.erase(found);
  if (outcome == Outcome::finished) ++finished_;
  if (outcome == Outcome::aborted_by_client) ++aborted_by_client_;
  if (outcome == Outcome::cut_by_server) ++cut_by_server_;
  if (Entry* entry = find(number)) {
    entry->status = status;
    entry->outcome = outcome;
    entry->took_ms = unix_now_ms() - entry->began_unix_ms;
  }
}

void Ledger::reset() {
  entries_.clear();
  counts_.clear();
  requests_ = finished_ = aborted_by_client_ = cut_by_server_ = 0;
  open_max_ = static_cast<int64_t>(open_.size());
}

std::string Ledger::dump() const {
  JsonWriter writer;
  writer.begin_object().member("count", requests_).member("finished", finished_);
  writer.member("aborted_by_client", aborted_by_client_).member("cut_by_server", cut_by_server_);
  writer.member("open", static_cast<int64_t>(open_.size())).member("open_streams", open_streams_);
  writer.member("open_most", open_max_);
  writer.key("counts").begin_object();
  for (const auto& [name, count] : counts_) writer.member(name, count);
  writer.end_object().key("requests").begin_array();
  for (const Entry& entry : entries_) {
    writer.begin_object().member("number", static_cast<int64_t>(entry.number));
    writer.member("began_at", rfc3339(entry.began_unix_ms)).member("method", entry.method);
    writer.member("target", entry.target).member("status", entry.status);
    writer.member("streamed", entry.streams);
    writer.member("outcome", entry.took_ms < 0 ? "open" : outcome_name(entry.outcome));
    if (entry.took_ms >= 0) writer.member("took_ms", entry.took_ms);
    writer.key("headers").begin_object();
    for (const HeaderField& field : entry.fields) writer.member(field.name, field.value);
    writer.end_object().member("body", entry.body).member("body_cut", entry.body_cut);
    writer.end_object();
  }
  writer.end_array().end_object();
  return writer.take();
}

}  // namespace hostler::fake_model
