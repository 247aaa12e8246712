// See runner/agent/run_waits.h.
#include "runner/agent/run_waits.h"

#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "lib/config/live_settings.h"
#include "lib/json.h"
#include "queries/daemon.h"
#include "queries/mcp_connections.h"
#include "runner/agent/tool_calls.h"
#include "runner/tools/tool_box.h"

namespace hostler::runner {
namespace {

// The run's last event for now: who follows it learns what is asked.
Task<void> begin_wait(RunPtr run, std::string shown, std::string request, int64_t wait_seconds) {
  WaitRecord record;
  record.request_json = std::move(request);
  record.wait_seconds = wait_seconds;
  run->writer->wait(std::move(shown), std::move(record));
  co_await run->writer->committed();
}

int64_t input_seconds(AgentServices& services) {
  return services.settings.current()->integer("run.input_seconds");
}

Task<std::string> new_request_id(AgentServices& services) {
  postgres::Batch batch;
  batch.add(query::NewId{});
  postgres::Results created = co_await read_with_retry(services, std::move(batch));
  co_return std::string(created.at(0).text());
}

// Names who gets the token, who gives it, and what for. Empty if that is not known yet.
std::string consent_words(const postgres::Result& consent) {
  if (consent.empty()) return {};
  postgres::Row row = consent.front();
  std::string words = fmt::format("{} gets an access token of {}", row.text("origin"),
                                  row.text("authorization_server"));
  std::optional<Json> scopes = parse_json_or_nothing(row.text("scopes"));
  std::string names;
  if (scopes && scopes->is_array()) {
    for (const Json& scope : *scopes->as_array()) names += " " + *scope.as_text();
  }
  return words + (names.empty() ? "." : ", with the scopes" + names + ".");
}

// The party that must give the call's result.
std::string_view answerer_of(const RunParts& parts, const ToolCall& call) {
  if (parts.offered.remote(call.name) != nullptr) return "server";
  return parts.offered.has(call.name) ? "webhook" : "client";
}

}  // namespace

Task<void> ask(AgentServices& services, RunPtr run, int turn, ToolCall call) {
  bool is_question = services.tools.is_question(call.name);
  std::string request_id = co_await new_request_id(services);
  std::string message = "Allow this call of " + call.name + "?";
  if (is_question) {
    std::optional<Json> arguments = parse_json_or_nothing(call.arguments);
    message = arguments ? std::string(arguments->text_or("message")) : "";
  }
  JsonWriter data;
  data.begin_object().member("request_id", request_id);
  data.member("kind", is_question ? "question" : "tool_confirmation").member("message", message);
  data.member("tool_call_id", call.id).member("tool_name", call.name);
  data.member_raw("arguments", shown_arguments(call));
  std::string shown = data.so_far() + "}";
  data.member("turn", turn).end_object();
  co_await begin_wait(run, std::move(shown), data.take(), input_seconds(services));
}

// The stored request leaves the arguments out. The answering client has them from the event or from
// the call.
Task<void> ask_for_results(AgentServices& services, RunPtr run, const RunParts& parts, int turn,
                           std::vector<ToolCall> calls) {
  std::string request_id = co_await new_request_id(services);
  std::string message =
      calls.size() == 1 ? "Waits for the result of " + calls.front().name + "."
                        : "Waits for the results of " + std::to_string(calls.size()) + " calls.";
  JsonWriter shown;
  JsonWriter kept;
  for (JsonWriter* json : {&shown, &kept}) {
    json->begin_object().member("request_id", request_id).member("kind", "tool_results");
    json->member("message", message);
    if (json == &kept) json->member("turn", turn);
    json->key("calls").begin_array();
    for (const ToolCall& call : calls) {
      json->begin_object().member("tool_call_id", call.id).member("tool_name", call.name);
      if (json == &shown) json->member_raw("arguments", shown_arguments(call));
      json->member("answered_by", answerer_of(parts, call)).end_object();
    }
    json->end_array().end_object();
  }
  co_await begin_wait(run, shown.take(), kept.take(), input_seconds(services));
}

Task<void> ask_for_server(AgentServices& services, RunPtr run, int turn, ToolCall call,
                          McpQuestion question) {
  std::string request_id = co_await new_request_id(services);
  JsonWriter shown;
  JsonWriter kept;
  for (JsonWriter* json : {&shown, &kept}) {
    json->begin_object().member("request_id", request_id).member("kind", "elicitation");
    json->member("message", question.message).member_raw("schema", question.schema);
    json->member("tool_call_id", call.id).member("tool_name", call.name);
    if (json == &kept) json->member("turn", turn).member("key", question.key);
    json->end_object();
  }
  co_await begin_wait(run, shown.take(), kept.take(), input_seconds(services));
}

Task<void> ask_to_connect(AgentServices& services, RunPtr run, int turn, ToolCall call,
                          McpAuthorization authorization) {
  postgres::Batch batch;
  batch.add(query::NewId{});
  batch.add(query::McpConsent{.server_id = authorization.server_id, .run_id = run->claim.id});
  postgres::Results read = co_await read_with_retry(services, std::move(batch));
  std::string request_id(read.at(0).text());
  std::string message = "Connect with " + authorization.server_key + ", so that " + call.name +
                        " can be called for you.";
  std::string consent = consent_words(read.at(1));
  if (!consent.empty()) message += " " + consent;
  // Empty where nobody said what the site's address is: then it is a path of this site.
  std::string url = services.settings.current()->text("mail.site_url");
  if (url.ends_with('/')) url.pop_back();
  url += "/console/#/mcp-servers/" + authorization.server_id;
  JsonWriter shown;
  JsonWriter kept;
  for (JsonWriter* json : {&shown, &kept}) {
    json->begin_object().member("request_id", request_id).member("kind", "authorization");
    json->member("message", message).member("server_id", authorization.server_id);
    json->member("server_key", authorization.server_key).member("url", url);
    if (!read.at(1).empty()) {
      postgres::Row row = read.at(1).front();
      json->member("origin", row.text("origin"));
      json->member("authorization_server", row.text("authorization_server"));
      json->member_raw("scopes", row.text("scopes"));
    }
    json->member("tool_call_id", call.id).member("tool_name", call.name);
    if (json == &kept) json->member("turn", turn);
    json->end_object();
  }
  co_await begin_wait(run, shown.take(), kept.take(), input_seconds(services));
}

// limit.waiting_runs is checked as the wait is stored (run_wait).
Task<void> wait_for_budget(AgentServices& services, RunPtr run, ExhaustedBudget budget) {
  std::string request_id = co_await new_request_id(services);
  std::shared_ptr<const config::Settings> settings = services.settings.current();
  std::string message = "Waits until " + budget.name + " is raised or removed";
  message += budget.renews_at.empty() ? "." : ", or renews at " + budget.renews_at + ".";
  JsonWriter shown;
  JsonWriter kept;
  for (JsonWriter* json : {&shown, &kept}) {
    json->begin_object().member("request_id", request_id).member("kind", "budget");
    json->member("message", message).member("budget_id", budget.id).member("name", budget.name);
    json->key("renews_at");
    if (budget.renews_at.empty()) {
      json->null();
    } else {
      json->text(budget.renews_at);
    }
    if (json == &kept) {
      json->member("decided_at", budget.decided_at);
      json->member("waiting_max", settings->integer("limit.waiting_runs"));
    }
    json->end_object();
  }
  int64_t wait_seconds =
      budget.wait_seconds > 0 ? budget.wait_seconds : settings->integer("run.budget_wait_seconds");
  co_await begin_wait(run, shown.take(), kept.take(), wait_seconds);
}

}  // namespace hostler::runner
