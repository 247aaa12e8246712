// Runs made: in a thread that is there or in a new one, with the message that they answer or
// without one. The daemon executes them, which hears of them by a notification; with `stream` the
// relay answers with their events (fcgi/http/sent_on.h). Statements: sql/queries/runs.sql.
#include <optional>
#include <string>
#include <utility>

#include "fcgi/api/billing/budget_input.h"
#include "fcgi/api/handlers.h"
#include "fcgi/api/runs/function_tools.h"
#include "fcgi/api/runs/marks.h"
#include "fcgi/api/runs/message_content.h"
#include "fcgi/api/runs/new_thread.h"
#include "fcgi/api/runs/run_choice.h"
#include "fcgi/http/input.h"
#include "fcgi/http/query_names.h"
#include "fcgi/http/response_format.h"
#include "fcgi/http/sent_on.h"
#include "lib/ids.h"
#include "lib/search_words.h"
#include "queries/runs.h"

namespace hostler {
namespace {

constexpr std::string_view native = "native";  // of lib/formats/formats.cpp

struct NewRun {
  RunChoice choice;
  std::string strategy;
  std::optional<std::string> tools;            // as the run keeps them
  std::optional<std::string> response_format;  // JSON text
  std::string metadata;
  std::optional<std::string> budget;   // its own, JSON text
  std::optional<std::string> content;  // of the message that it answers; nothing: the thread has it
  std::optional<std::string> parts;    // of this message, JSON
  bool is_streamed = false;

  std::string words() const { return content ? search_words(*content) : ""; }
};

// The names of its tools are checked by check_tool_names(), behind the faults of the whole body.
NewRun read_new_run(Fields& fields, FunctionTools& tools) {
  NewRun wanted;
  if (fields.has("content")) {
    MessageContent message = read_message_parts(fields);
    wanted.content = std::move(message.text);
    wanted.parts = std::move(message.parts);
  }
  wanted.is_streamed = fields.optional_boolean("stream").value_or(false);
  wanted.choice = read_run_choice(fields);
  wanted.strategy = fields.nullable_choice("multitask_strategy", {"reject", "enqueue", "interrupt"})
                        .value.value_or("reject");
  wanted.metadata = read_metadata(fields).value_or("{}");
  wanted.response_format = read_response_format(fields).value;
  wanted.budget = read_run_budget(fields);
  tools = read_function_tools(fields);
  wanted.tools = tools.json;
  return wanted;
}

// thread_id: empty when the statement's `item` tells it.
OneStatement answered_by_stream(postgres::BoundStatement statement, std::string thread_id) {
  return {std::move(statement), [thread_id = std::move(thread_id)](const postgres::Result& result) {
            std::optional<Json> made = parse_json_or_nothing(result.front().text("item"));
            if (!made) throw Error(ErrorCode::internal_error, {}, "the new run has no JSON");
            std::string_view thread = thread_id.empty() ? made->text_or("thread_id") : thread_id;
            return sent_on(made->text_or("run_id"), native, thread);
          }};
}

postgres::BoundStatement creation(const config::Settings& settings, const std::string& thread_id,
                                  const NewRun& wanted) {
  return query::RunCreate{
      .thread_id = thread_id,
      .route_id = wanted.choice.route_id,
      .persona_id = wanted.choice.persona_id,
      .strategy = wanted.strategy,
      .metadata = wanted.metadata,
      .limit_concurrent_runs = settings.integer("limit.concurrent_runs"),
      .limit_concurrent_runs_per_user = settings.integer("limit.concurrent_runs_per_user"),
      .limit_queued_runs = settings.integer("limit.queued_runs"),
      .limit_stored_bytes = settings.integer("limit.stored_bytes"),
      .credit_run_hold = settings.integer("credit.run_hold"),
      .limit_waiting_runs = settings.integer("limit.waiting_runs"),
      .tools = wanted.tools,
      .response_format = wanted.response_format,
      .budget = wanted.budget};
}

postgres::BoundStatement beginning(const config::Settings& settings, const std::string& thread_id,
                                   const NewRun& wanted) {
  return query::RunBegin{
      .thread_id = thread_id,
      .content = wanted.content,
      .words = wanted.words(),
      .stream = wanted.is_streamed,
      .route_id = wanted.choice.route_id,
      .persona_id = wanted.choice.persona_id,
      .strategy = wanted.strategy,
      .metadata = wanted.metadata,
      .limit_concurrent_runs = settings.integer("limit.concurrent_runs"),
      .limit_concurrent_runs_per_user = settings.integer("limit.concurrent_runs_per_user"),
      .limit_queued_runs = settings.integer("limit.queued_runs"),
      .limit_stored_bytes = settings.integer("limit.stored_bytes"),
      .credit_run_hold = settings.integer("credit.run_hold"),
      .limit_waiting_runs = settings.integer("limit.waiting_runs"),
      .tools = wanted.tools,
      .response_format = wanted.response_format,
      .budget = wanted.budget,
      .parts = wanted.parts};
}

postgres::BoundStatement beginning(const config::Settings& settings, const NewThread& thread,
                                   const NewRun& wanted) {
  return query::ThreadBegin{
      .title = thread.title,
      .title_words = thread.words,
      .is_private = thread.is_private,
      .end_user = thread.end_user,
      .thread_metadata = thread.metadata,
      .content = *wanted.content,
      .words = wanted.words(),
      .stream = wanted.is_streamed,
      .route_id = wanted.choice.route_id,
      .persona_id = wanted.choice.persona_id,
      .metadata = wanted.metadata,
      .limit_concurrent_runs = settings.integer("limit.concurrent_runs"),
      .limit_concurrent_runs_per_user = settings.integer("limit.concurrent_runs_per_user"),
      .limit_stored_bytes = settings.integer("limit.stored_bytes"),
      .credit_run_hold = settings.integer("credit.run_hold"),
      .limit_waiting_runs = settings.integer("limit.waiting_runs"),
      .tools = wanted.tools,
      .response_format = wanted.response_format,
      .budget = wanted.budget,
      .parts = wanted.parts};
}

OneStatement in_thread(const Input& input, const std::string& thread_id, const NewRun& wanted) {
  bool is_more = wanted.content || wanted.is_streamed;
  postgres::BoundStatement statement = is_more ? beginning(input.settings, thread_id, wanted)
                                               : creation(input.settings, thread_id, wanted);
  OneStatement made = wanted.is_streamed ? answered_by_stream(std::move(statement), thread_id)
                                         : OneStatement::row(std::move(statement), 201);
  OneStatement notifying = std::move(made).notify(query::RunNotify{}).notify_of(runs_that_stopped);
  // Interrupting writes the last events of the runs that it ends.
  if (wanted.strategy == "interrupt") return notifying;
  return std::move(notifying).share_commit();
}

OneStatement in_new_thread(const Input& input, const NewThread& thread, const NewRun& wanted) {
  postgres::BoundStatement statement = beginning(input.settings, thread, wanted);
  OneStatement made = wanted.is_streamed ? answered_by_stream(std::move(statement), "")
                                         : OneStatement::row(std::move(statement), 201);
  return std::move(made).notify(query::RunNotify{}).share_commit();
}

}  // namespace

OneStatement create_run(const Input& input) {
  Fields fields = input.optional_body();
  FunctionTools tools;
  NewRun wanted = read_new_run(fields, tools);
  fields.check();
  check_tool_names(tools.names);
  return in_thread(input, std::string(input.path_value("thread_id")), wanted);
}

// The value of thread_id, whatever its form, is looked up before any other fault of the body is
// reported (fcgi/body_guards.h).
OneStatement begin_run(const Input& input) {
  Fields fields = input.optional_body();
  FunctionTools tools;
  NewRun wanted = read_new_run(fields, tools);
  const Json* named = fields.has_value("thread_id") ? fields.any("thread_id") : nullptr;
  NewThread thread;
  Nullable<Fields> described = fields.nullable_object("thread");
  if (described.value) thread = read_new_thread(*described.value);
  if (named != nullptr && fields.has_value("thread")) {
    fields.fault("thread", "bad_format", "describes a new thread; leave it out beside thread_id");
  }
  for (FieldFault& fault : unknown_parameters(input.routed)) {
    fields.fault(fault.field, std::move(fault.code), std::move(fault.message));
  }
  fields.check();
  check_tool_names(tools.names);
  if (named == nullptr && !wanted.content) {
    throw Error(ErrorCode::runs_no_messages,
                "Send content, or the thread_id of an existing thread.");
  }
  if (named == nullptr) return in_new_thread(input, thread, wanted);
  std::string thread_id(named->is_text() ? *named->as_text() : "");
  if (!is_uuid(thread_id)) throw Error(ErrorCode::threads_not_found);
  return in_thread(input, thread_id, wanted);
}

}  // namespace hostler
