// Chats as the AI SDK's useChat asks for them: what it posts becomes a message and its run, a
// retry, or the answer that a run waits for, and the relay streams what follows (X-Accel-Redirect).
// Statements: sql/queries/ui_chats.sql.
#include <string>
#include <utility>

#include <fmt/format.h>

#include "fcgi/api/handlers.h"
#include "fcgi/api/ui/chat_body.h"
#include "fcgi/http/input.h"
#include "fcgi/http/sent_on.h"
#include "lib/search_words.h"
#include "queries/client_threads.h"
#include "queries/files.h"
#include "queries/runs.h"
#include "queries/ui_chats.h"

namespace hostler {
namespace {

// Formats of lib/formats/formats.cpp.
constexpr std::string_view from_the_beginning = "ui_chat";
constexpr std::string_view behind_the_answer = "ui_chat_go_on";
constexpr std::string_view taken_up = "ui_chat_replay";

OneStatement say(const Input& input, const std::string& chat, const NewUiMessage& wanted) {
  const config::Settings& settings = input.settings;
  query::ClientChatBegin statement{
      .client_id = chat,
      .end_user = wanted.end_user,
      .content = wanted.content,
      .words = search_words(wanted.content),
      .route_id = wanted.choice.route_id,
      .persona_id = wanted.choice.persona_id,
      .metadata = wanted.metadata,
      .tools = wanted.tools,
      .client_facts = std::nullopt,
      .limit_concurrent_runs = settings.integer("limit.concurrent_runs"),
      .limit_concurrent_runs_per_user = settings.integer("limit.concurrent_runs_per_user"),
      .limit_queued_runs = settings.integer("limit.queued_runs"),
      .limit_stored_bytes = settings.integer("limit.stored_bytes"),
      .credit_run_hold = settings.integer("credit.run_hold"),
      .limit_waiting_runs = settings.integer("limit.waiting_runs"),
      .message_id = wanted.message_id,
      .sends_again = wanted.sends_again,
      .parts = wanted.parts};
  OneStatement made = answered_by_run(std::move(statement), from_the_beginning);
  if (wanted.parts) made = std::move(made).notify(query::FileChecksWake{});
  return std::move(made).notify(query::RunNotify{}).notify_of(runs_that_stopped);
}

OneStatement retry(const Input& input, const std::string& chat, const UiRetry& wanted) {
  const config::Settings& settings = input.settings;
  NewUiMessage unsaid = wanted.unsaid.value_or(NewUiMessage());
  query::UiChatRetry statement{
      .chat = chat,
      .message_id = wanted.message_id,
      .question = wanted.question,
      .content = wanted.unsaid ? std::optional(unsaid.content) : std::nullopt,
      .words = search_words(unsaid.content),
      .end_user = unsaid.end_user,
      .route_id = unsaid.choice.route_id,
      .persona_id = unsaid.choice.persona_id,
      .metadata = unsaid.metadata,
      .tools = unsaid.tools,
      .limit_concurrent_runs = settings.integer("limit.concurrent_runs"),
      .limit_concurrent_runs_per_user = settings.integer("limit.concurrent_runs_per_user"),
      .limit_queued_runs = settings.integer("limit.queued_runs"),
      .limit_stored_bytes = settings.integer("limit.stored_bytes"),
      .credit_run_hold = settings.integer("credit.run_hold"),
      .limit_waiting_runs = settings.integer("limit.waiting_runs")};
  return answered_by_run(std::move(statement), from_the_beginning)
      .notify(query::RunNotify{})
      .notify_of(runs_that_stopped);
}

// The run that went on is known when the statement has answered.
std::optional<postgres::BoundStatement> run_that_goes_on(const postgres::Result& result) {
  std::optional<Json> answered = parse_json_or_nothing(result.front().text("item"));
  if (!answered) return std::nullopt;
  return query::RunControlNotify{.run_ids = std::vector{std::string(answered->text_or("run_id"))}};
}

OneStatement answer(const Input& input, const std::string& chat, const UiAnswers& wanted) {
  query::UiChatAnswer statement{.chat = chat,
                                .results = wanted.results,
                                .approvals = wanted.approvals,
                                .limit_input_bytes = input.settings.integer("limit.input_bytes")};
  return answered_by_run(std::move(statement), behind_the_answer)
      .notify(query::RunNotify{})
      .notify_of(run_that_goes_on);
}

}  // namespace

OneStatement post_ui_chat(const Input& input) {
  UiChatBody body = read_ui_chat_body(input.body(), upload_limits(input.settings));
  if (auto* message = std::get_if<NewUiMessage>(&body.wanted)) {
    return say(input, body.chat, *message);
  }
  if (auto* wanted = std::get_if<UiRetry>(&body.wanted)) return retry(input, body.chat, *wanted);
  return answer(input, body.chat, std::get<UiAnswers>(body.wanted));
}

// 204: the chat is at nothing.
OneStatement stream_ui_chat(const Input& input) {
  return {query::UiChatActiveRun{.chat = input.path_value("chat")},
          [](const postgres::Result& result) {
            if (result.empty()) return Response::no_content();
            return sent_on(result.front().text("run_id"), taken_up);
          }};
}

OneStatement stop_ui_chat(const Input& input) {
  return OneStatement::ok(query::UiChatStop{.chat = input.path_value("chat")})
      .notify(query::RunNotify{})
      .notify_of(runs_that_stopped);
}

}  // namespace hostler
