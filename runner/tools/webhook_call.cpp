// See runner/tools/webhook_call.h.
#include "runner/tools/webhook_call.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "lib/client/trace.h"
#include "lib/config/result_token.h"
#include "lib/config/stored_secret.h"
#include "lib/crypto.h"
#include "lib/http/client.h"
#include "lib/json.h"
#include "lib/loop/wait.h"
#include "lib/postgres/with_retry.h"
#include "lib/webhook_signature.h"
#include "queries/webhook_calls.h"
#include "runner/mcp/raw_json.h"
#include "runner/tools/webhook_answer.h"

namespace hostler::runner {
namespace {

constexpr int tries_max = 3;
constexpr int64_t first_pause_ms = 500;  // doubled from try to try, unless the server says when
constexpr int64_t pause_max_ms = 600'000;

// Both statements lock the run, so each has a connection of its own.
Task<postgres::Result> ask(ToolServices& services, postgres::BoundStatement statement) {
  return postgres::dedicated_with_retry(services.loop, services.db, std::move(statement));
}

// Newest first; one that cannot be opened signs nothing.
std::vector<std::string> signing_secrets(const config::SecretBox& box, std::string_view json) {
  std::vector<std::string> secrets;
  std::optional<Json> sealed = parse_json_or_nothing(json);
  if (!sealed || !sealed->is_array()) return secrets;
  for (const Json& one : *sealed->as_array()) {
    config::SecretIdentity identity{std::string(one.text_or("id")),
                                    std::string(one.text_or("org_id")), "tool"};
    std::optional<std::string> secret = box.open(identity, config::stored_secret(one));
    if (secret) secrets.push_back(std::move(*secret));
  }
  return secrets;
}

// The same bytes on every try, but for metadata that were changed meanwhile.
std::string body_of(const ToolServices& services, const ToolContext& context,
                    const WebhookCall& call, const postgres::Row& row) {
  JsonWriter json;
  json.begin_object().member("type", "tool.call").member("timestamp", row.text("asked_at"));
  json.key("data").begin_object();
  json.member("run_id", context.run_id).member("thread_id", row.text("thread_id"));
  json.member("org_id", context.org_id).key("end_user");
  if (row.is_null("end_user")) {
    json.null();
  } else {
    json.text(row.text("end_user"));
  }
  json.member_raw("metadata", row.text("metadata"));
  json.member("tool_call_id", call.call.id).member("tool_name", call.call.name);
  std::optional<Json> arguments = parse_json_or_nothing(call.call.arguments);
  json.member_raw("arguments", arguments ? arguments->dump() : "{}");
  json.member("result_token",
              config::make_result_token(services.secrets, context.run_id, call.call.id));
  return json.end_object().end_object().take();
}

http::HttpRequest request_of(const ToolServices& services, const ToolContext& context,
                             const WebhookCall& call, const postgres::Row& row,
                             const std::vector<std::string>& secrets) {
  http::HttpRequest request;
  request.method = "POST";
  request.url = row.text("url");
  request.guarded = true;
  request.https_only = row.boolean("is_org_scope");
  request.is_sent_once = true;
  request.body = body_of(services, context, call, row);
  int64_t timeout_ms = row.integer("timeout_seconds") * 1000;
  request.connect_timeout_ms = std::min(request.connect_timeout_ms, timeout_ms);
  request.first_byte_timeout_ms = timeout_ms;
  request.idle_timeout_ms = timeout_ms;
  request.total_timeout_ms = timeout_ms;
  request.response_bytes_max = webhook_answer_bytes_max;
  int64_t timestamp_s = row.integer("now_seconds");
  std::string id = fmt::format("{}_{}", context.run_id, call.call.id);
  request.headers = {
      {"Content-Type", "application/json"},
      {"webhook-id", id},
      {"webhook-timestamp", std::to_string(timestamp_s)},
      {"webhook-signature", webhook_signature(id, timestamp_s, request.body, secrets)}};
  if (context.trace_id.size() == 32) {
    request.headers.emplace_back("traceparent", client::traceparent_of(context.trace_id));
  }
  return request;
}

// Why the call is not made, and is not waited for.
ToolOutcome refusal_of(std::string_view state) {
  if (state == "unknown") {
    return tool_failed("tool.outcome_unknown",
                       "It is unknown whether the call was carried out, because the daemon that "
                       "made it stopped meanwhile. Check before you repeat it.");
  }
  if (state == "used_up") {
    return tool_failed("tool.timeout", "The tool was called three times without an answer.");
  }
  if (state == "gone") return tool_failed("tool.unknown", "The tool does not exist any more.");
  return tool_failed("tool.timeout", "Another daemon has taken the run.");
}

int64_t pause_ms(const WebhookAnswer& answer, int tries) {
  int64_t own = first_pause_ms << (tries - 1);
  return std::min(std::max(answer.retry_after_ms.value_or(0), own), pause_max_ms);
}

// The call was answered. An earlier result by token counts instead. is_repeatable: after a
// take-over before its outcome is committed the call may be made again.
Task<std::optional<ToolOutcome>> end_call(ToolServices& services, ToolContext context,
                                          WebhookCall call, std::optional<ToolOutcome> outcome,
                                          bool is_repeatable) {
  std::optional<std::string> own;
  if (outcome && !is_repeatable) own = early_json(call.call.id, *outcome);
  postgres::BoundStatement ending = query::WebhookCallEnd{.run_id = context.run_id,
                                                          .epoch = context.epoch,
                                                          .tool_call_id = call.call.id,
                                                          .is_accepted = !outcome,
                                                          .result = own};
  Task<postgres::Result> work = ask(services, std::move(ending));
  postgres::Result ended = co_await work;
  if (!ended.front().is_null("early")) co_return early_outcome(ended.front().text("early"));
  co_return outcome;
}

}  // namespace

std::string early_json(std::string_view tool_call_id, const ToolOutcome& outcome) {
  JsonWriter json;
  json.begin_object().member("tool_call_id", tool_call_id);
  if (outcome.error_code.empty())
    return json.member_raw("output", outcome.result).end_object().take();
  json.key("error").begin_object();
  json.member("code", outcome.error_code).member("message", outcome.error_message).end_object();
  return json.end_object().take();
}

ToolOutcome early_outcome(std::string_view json) {
  ToolOutcome outcome;
  std::optional<Json> error = parse_json_or_nothing(raw_member(json, "error").value_or(""));
  if (error) {
    return tool_failed(std::string(error->text_or("code")), std::string(error->text_or("message")));
  }
  outcome.result = raw_member(json, "output").value_or("null");
  return outcome;
}

Task<std::optional<ToolOutcome>> call_webhook_tool(ToolServices& services, ToolContext context,
                                                   WebhookCall call) {
  std::optional<ToolOutcome> outcome;  // nothing: accepted
  bool is_repeatable = false;
  for (int64_t tries = 0;;) {
    // Not while it pauses between tries: that costs nobody anything.
    ToolPermits::Permit taken = co_await services.calls.take(context.org_id, context.user_id);
    std::optional<ToolPermits::Permit> permit(std::move(taken));
    postgres::BoundStatement beginning =
        query::WebhookCallBegin{.run_id = context.run_id,
                                .epoch = context.epoch,
                                .turn = call.turn,
                                .tool_call_id = call.call.id,
                                .tool_name = call.call.name,
                                .tool_id = call.tool_id,
                                .tries_known = tries,
                                .tries_max = tries_max,
                                .try_id = to_hex(random_bytes(16))};
    Task<postgres::Result> begin = ask(services, std::move(beginning));
    postgres::Result begun = co_await begin;
    postgres::Row row = begun.front();
    std::string state(row.text("state"));
    if (state == "result") co_return early_outcome(row.text("early"));
    if (state == "accepted") co_return std::nullopt;
    // A tool that went between two tries: what came of the last one holds.
    if (state != "send") co_return outcome ? std::move(*outcome) : refusal_of(state);
    tries = row.integer("tries");
    is_repeatable = row.boolean("is_repeatable");
    std::vector<std::string> secrets = signing_secrets(services.secrets, row.text("secrets"));
    if (secrets.empty()) {
      outcome = tool_failed("tool.failed", "The tool's signing secret cannot be read; rotate it.");
      break;
    }
    http::HttpRequest request = request_of(services, context, call, row, secrets);
    http::HttpAnswer came = co_await services.http.fetch(std::move(request));
    Task<WebhookAnswer> reading = read_webhook_answer(services.loop, std::move(came));
    WebhookAnswer answer = co_await reading;
    outcome.reset();
    if (answer.kind == WebhookAnswer::Kind::accepted) break;
    bool is_unclear = answer.kind == WebhookAnswer::Kind::unclear;
    outcome = is_unclear ? unclear_outcome(answer, is_repeatable) : answer.outcome;
    bool may_repeat = answer.kind == WebhookAnswer::Kind::unsent || (is_unclear && is_repeatable);
    if (!may_repeat || tries >= tries_max) break;
    permit.reset();
    co_await loop::sleep_ms(services.loop, pause_ms(answer, static_cast<int>(tries)));
  }
  Task<std::optional<ToolOutcome>> ending =
      end_call(services, std::move(context), std::move(call), std::move(outcome), is_repeatable);
  outcome = co_await ending;
  co_return outcome;
}

}  // namespace hostler::runner
