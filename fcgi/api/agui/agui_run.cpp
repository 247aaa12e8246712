// AG-UI: one request, one answer, of a thread that the client names. What is new begins a run or
// answers the one that waits; the relay answers. Statements: sql/queries/client_threads.sql.
#include <string>
#include <string_view>

#include "fcgi/api/agui/agui_input.h"
#include "fcgi/api/handlers.h"
#include "fcgi/http/sent_on.h"
#include "lib/search_words.h"
#include "queries/client_threads.h"
#include "queries/files.h"
#include "queries/runs.h"

namespace hostler {
namespace {

// Values that the encoder repeats (lib/formats/agui.h), and the context, which the daemon reads.
std::string facts_of(const AguiInput& wanted, bool begins) {
  JsonWriter json;
  json.begin_object().member("threadId", wanted.thread_id).member("runId", wanted.run_id);
  if (begins && !wanted.tool_names.empty()) {
    json.key("tools").begin_array();
    for (const std::string& name : wanted.tool_names) json.text(name);
    json.end_array();
  }
  if (begins && !wanted.context.empty()) json.member("context", wanted.context);
  return json.end_object().take();
}

OneStatement followed(postgres::BoundStatement statement, std::string_view format) {
  return answered_by_run(std::move(statement), format)
      .notify(query::RunNotify{})
      .notify_of(runs_that_stopped);
}

OneStatement continued(postgres::BoundStatement statement) {
  return followed(std::move(statement), "agui_continued");
}

OneStatement answer(const Input& input, const AguiInput& wanted) {
  const AguiAnswer& given = *wanted.answer;
  return continued(
      query::ClientChatInput{.client_id = wanted.thread_id,
                             .request_id = given.interrupt_id,
                             .content = given.text,
                             .decision = given.confirmation.decision,
                             .arguments = given.confirmation.arguments,
                             .reason = given.confirmation.reason,
                             .elicited = given.elicited,
                             .abandons = given.abandons,
                             .client_facts = facts_of(wanted, false),
                             .limit_input_bytes = input.settings.integer("limit.input_bytes")});
}

OneStatement begin(const Input& input, const AguiInput& wanted) {
  const config::Settings& settings = input.settings;
  OneStatement made = followed(
      query::ClientChatBegin{
          .client_id = wanted.thread_id,
          .end_user = wanted.end_user,
          .content = wanted.message,
          .words = search_words(wanted.message),
          .route_id = wanted.choice.route_id,
          .persona_id = wanted.choice.persona_id,
          .metadata = wanted.metadata,
          .tools = wanted.tools,
          .client_facts = facts_of(wanted, true),
          .limit_concurrent_runs = settings.integer("limit.concurrent_runs"),
          .limit_concurrent_runs_per_user = settings.integer("limit.concurrent_runs_per_user"),
          .limit_queued_runs = settings.integer("limit.queued_runs"),
          .limit_stored_bytes = settings.integer("limit.stored_bytes"),
          .credit_run_hold = settings.integer("credit.run_hold"),
          .limit_waiting_runs = settings.integer("limit.waiting_runs"),
          .message_id = std::nullopt,
          .sends_again = false,
          .parts = wanted.parts},
      "agui");
  if (wanted.parts) return std::move(made).notify(query::FileChecksWake{});
  return made;
}

}  // namespace

OneStatement run_agui(const Input& input) {
  AguiInput wanted = read_agui_input(input.body(), upload_limits(input.settings));
  if (wanted.answer) return answer(input, wanted);
  if (wanted.results) {
    return continued(query::ClientChatResults{.client_id = wanted.thread_id,
                                              .results = *wanted.results,
                                              .client_facts = facts_of(wanted, false)});
  }
  return begin(input, wanted);
}

}  // namespace hostler
