// Requests for streams read; see sse-relay/stream_request.h. The rules of the cursors are those of
// contract section 4, Event stream.
#include "sse-relay/stream_request.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include <fmt/format.h>

#include "lib/crypto.h"
#include "lib/http/cors.h"
#include "lib/http/query_bound.h"
#include "lib/http/request_target.h"
#include "lib/ids.h"

namespace hostler::relay {
namespace {

constexpr const char* route = "GET /v1/runs/{run_id}/events";

// Nothing, with a fault, when the text is not a whole number from 0 to 2^63-1.
std::optional<int64_t> read_cursor(std::string_view name, std::string_view text,
                                   std::vector<FieldFault>& faults) {
  const char* end = text.data() + text.size();
  int64_t value = 0;
  auto [stop, fault] = std::from_chars(text.data(), end, value);
  bool is_integer = stop == end && fault != std::errc::invalid_argument;
  if (!is_integer) {
    faults.push_back({std::string(name), "wrong_type", "must be an integer"});
    return std::nullopt;
  }
  if (fault != std::errc() || text.starts_with('-')) {  // -0 too
    faults.push_back({std::string(name), "out_of_range", "must be 0 to 9223372036854775807"});
    return std::nullopt;
  }
  return value;
}

void read_cursors(const ScgiRequest& request, const http::Target& target, StreamRequest& wanted) {
  if (const std::string* text = target.query_value("after_seq")) {
    wanted.after = read_cursor("after_seq", *text, wanted.faults).value_or(0);
  }
  if (request.last_event_id.empty()) return;
  wanted.has_last_event_id = true;
  std::optional<int64_t> last = read_cursor("Last-Event-ID", request.last_event_id, wanted.faults);
  wanted.after = std::max(wanted.after, last.value_or(0));
}

void read_follow(const http::Target& target, StreamRequest& wanted) {
  const std::string* text = target.query_value("follow");
  if (text == nullptr) return;
  wanted.follow = *text != "false";
  if (*text == "true" || *text == "false") return;
  wanted.faults.push_back({"follow", "wrong_type", "must be true or false"});
}

// As the pool does for its routes (fcgi/http/query_names.h).
void refuse_unknown(const http::Target& target, StreamRequest& wanted) {
  for (const auto& [name, value] : target.query) {
    auto is_known = [&name = name](const FieldFault& fault) { return fault.field == name; };
    if (name == "after_seq" || name == "follow") continue;
    if (std::any_of(wanted.faults.begin(), wanted.faults.end(), is_known)) continue;
    wanted.faults.push_back(
        {name, "unknown", "is no query parameter: this route takes after_seq follow"});
  }
}

// A parameter that is given twice is a fault.
void refuse_duplicates(const http::Target& target, StreamRequest& wanted) {
  for (std::string_view name : {"after_seq", "follow"}) {
    auto count = std::count_if(target.query.begin(), target.query.end(),
                               [name](const auto& pair) { return pair.first == name; });
    if (count <= 1) continue;
    // Then what is wrong with its first value is no news.
    std::erase_if(wanted.faults, [name](const FieldFault& fault) { return fault.field == name; });
    wanted.faults.push_back({std::string(name), "doubled", "is given twice"});
  }
}

// From the query, which the pool has read before.
int64_t read_behind_frame(const ScgiRequest& request) {
  http::Target target;
  http::parse_target(request.uri, target);
  const std::string* text = target.query_value("starting_after");
  std::vector<FieldFault> faults;
  return text == nullptr ? 0 : read_cursor("starting_after", *text, faults).value_or(0);
}

// The pool began the run and sent the client's request on: its path, query and body are the pool's.
StreamRequest read_sent_request(const ScgiRequest& request, const formats::Format& format) {
  StreamRequest wanted;
  wanted.run_id = request.run_id;
  wanted.credential = account::read_credential(request.authorization);
  wanted.org_id = request.org_id;
  wanted.user_agent = request.user_agent;
  if (format.start == formats::Start::starting_after) {
    wanted.behind_frame = read_behind_frame(request);
  }
  return wanted;
}

}  // namespace

AnswerContext answer_context(const ScgiRequest& request, const client::Gateway& gateway) {
  client::RequestOrigin origin;
  origin.address = {request.peer, request.forwarded_for, request.connecting_ip};
  origin.traceparent = request.traceparent;
  origin.user_agent = request.user_agent;
  origin.authorization = request.authorization;
  client::ClientFacts facts = gateway.facts_of(origin);
  AnswerContext context;
  context.trace_id = is_trace_id(request.trace_id) ? request.trace_id : make_trace_id();
  if (facts.trace_id) context.trace_id = std::move(*facts.trace_id);
  context.note = {std::move(facts.client_ip), facts.risk_score, {}};
  context.is_risky = facts.is_risky;
  context.needs_proof = facts.needs_proof;
  context.origin = request.origin;
  context.is_protocol = http::is_protocol_path(request.uri);
  context.is_tls = request.is_tls;
  return context;
}

postgres::Denial denial_of(const StreamRequest& wanted, const AnswerContext& context,
                           const Error& error) {
  postgres::Denial denial;
  denial.org_id = context.note.identity.org_id;
  denial.user_id = context.note.identity.user_id;
  bool is_key = wanted.credential.kind == account::Credential::Kind::api_key;
  if (is_key) denial.api_key_hash = wanted.credential.hash;
  denial.route = route;
  denial.code = error_row(error.code).name;
  // What is no id may be anything: it is not told.
  denial.target =
      is_uuid(wanted.run_id)
          ? fmt::format("{} /v1/runs/{}/events", wanted.is_head ? "HEAD" : "GET", wanted.run_id)
          : route;
  denial.trace_id = context.trace_id;
  denial.client_ip = context.note.client_ip;
  denial.user_agent = wanted.user_agent;
  return denial;
}

StreamRequest read_stream_request(const ScgiRequest& request, const formats::Format& format) {
  if (!request.format.empty()) return read_sent_request(request, format);
  http::Target target;
  http::parse_target(request.uri, target);
  bool is_known = target.segment_count == 4 && !target.is_too_deep && target.segments[0] == "v1" &&
                  target.segments[1] == "runs" && target.segments[3] == "events";
  if (!is_known) throw Error(ErrorCode::http_not_found, "No part of the API has this path.");
  bool is_head = request.method == "HEAD";
  if (!is_head && request.method != "GET") {
    Error error(ErrorCode::http_method_not_allowed, "This path takes GET.");
    error.headers.emplace_back("Allow", "GET, HEAD, OPTIONS");
    throw error;
  }
  StreamRequest wanted;
  wanted.is_head = is_head;
  wanted.credential = account::read_credential(request.authorization);
  wanted.run_id = target.segments[2];
  wanted.org_id = request.org_id;
  wanted.user_agent = request.user_agent;
  wanted.query_fault = http::query_fault(target);
  if (wanted.query_fault) return wanted;
  read_cursors(request, target, wanted);
  read_follow(target, wanted);
  refuse_duplicates(target, wanted);
  refuse_unknown(target, wanted);
  return wanted;
}

}  // namespace hostler::relay
