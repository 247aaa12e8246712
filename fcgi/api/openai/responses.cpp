// Responses in OpenAI's form: runs of a thread, or, if not stored, of a thread that nobody sees.
// The relay sends their answers, except those before a run has ended. Statements:
// sql/queries/responses.sql.
#include <string>
#include <utility>

#include "fcgi/api/handlers.h"
#include "fcgi/api/openai/response_items.h"
#include "fcgi/api/openai/response_request.h"
#include "fcgi/http/input.h"
#include "fcgi/http/sent_on.h"
#include "lib/formats/openai_response_object.h"
#include "queries/files.h"
#include "queries/responses.h"
#include "queries/runs.h"

namespace hostler {
namespace {

constexpr const char* stored_format = "openai_response_stored";
constexpr const char* stream_format = "openai_response";

// Response of a run that has not ended.
Response unfinished(std::string_view run_id, std::string_view facts, bool has_begun) {
  formats::ResponseState state{.status = has_begun ? "in_progress" : "queued"};
  Response response = Response::json_text(200, formats::response_object(run_id, facts, state));
  response.add_header("X-Hostler-Run", std::string(run_id));
  return response;
}

Response created(const postgres::Result& result, bool is_stream, bool is_background) {
  std::optional<Json> made = parse_json_or_nothing(result.front().text("item"));
  std::string_view run_id = made ? made->text_or("run_id") : "";
  if (is_stream) return sent_on(run_id, stream_format);
  if (is_background) return unfinished(run_id, result.front().text("facts"), false);
  return sent_on(run_id, "openai_response_whole");
}

}  // namespace

OneStatement create_response(const Input& input) {
  NewResponse wanted = read_new_response(input);
  const config::Settings& settings = input.settings;
  query::ResponseCreate statement{
      .persona_id = wanted.model.persona_id,
      .route_id = wanted.model.route_id,
      .items = wanted.input.messages,
      .words = wanted.input.words,
      .previous_run_id = wanted.previous_run_id,
      .thread_id = wanted.thread_id,
      .sampling = wanted.sampling,
      .end_user = wanted.marks.end_user,
      .metadata = wanted.marks.metadata,
      .keeps = wanted.keeps,
      .limit_concurrent_runs = settings.integer("limit.concurrent_runs"),
      .limit_concurrent_runs_per_user = settings.integer("limit.concurrent_runs_per_user"),
      .limit_stored_bytes = settings.integer("limit.stored_bytes"),
      .credit_run_hold = settings.integer("credit.run_hold"),
      .response_format = wanted.response_format,
      .tools = wanted.tools,
      .answered_calls = wanted.input.answered_calls,
      .missing_calls = wanted.input.missing_calls,
      .client_facts = wanted.facts,
      .opens_stream = wanted.is_stream || !wanted.is_background};
  OneStatement made(
      std::move(statement),
      [is_stream = wanted.is_stream, is_background = wanted.is_background](
          const postgres::Result& result) { return created(result, is_stream, is_background); });
  if (wanted.input.has_files) made = std::move(made).notify(query::FileChecksWake{});
  return std::move(made).notify(query::RunNotify{}).share_commit();
}

OneStatement show_response(const Input& input) {
  QueryFields fields = input.query();
  bool is_stream = fields.boolean("stream").value_or(false);
  fields.integer("starting_after", {.min = 0});
  fields.check();
  std::string run_id = run_id_in(input.path_value("response"));
  return OneStatement(query::ResponseShow{.run_id = run_id},
                      [run_id, is_stream](const postgres::Result& result) {
                        postgres::Row row = result.front();
                        bool is_ended = row.boolean("is_ended");
                        if (is_stream) return sent_on(run_id, stream_format);
                        if (is_ended) return sent_on(run_id, stored_format);
                        return unfinished(run_id, row.text("facts"), row.boolean("has_begun"));
                      });
}

// The relay waits for the run's end, which is there at once or a moment away.
OneStatement cancel_response(const Input& input) {
  std::string run_id = run_id_in(input.path_value("response"));
  return OneStatement(query::ResponseCancel{.run_id = run_id},
                      [run_id](const postgres::Result&) { return sent_on(run_id, stored_format); })
      .notify(query::RunNotify{})
      .notify(query::RunControlNotify{.run_ids = std::vector{run_id}});
}

OneStatement delete_response(const Input& input) {
  std::string run_id = run_id_in(input.path_value("response"));
  return OneStatement(query::ResponseDelete{.run_id = run_id},
                      [run_id](const postgres::Result&) {
                        JsonWriter json;
                        json.begin_object().member("id", formats::response_id(run_id));
                        json.member("object", "response").member("deleted", true).end_object();
                        return Response::json_text(200, json.take());
                      })
      .notify(query::RunNotify{})
      .notify_of(runs_that_stopped);
}

OneStatement list_response_items(const Input& input) {
  QueryFields fields = input.query();
  InputItemPage page;
  page.limit = fields.integer("limit", {1, 100}).value_or(page.limit);
  page.is_ascending = fields.choice("order", {"asc", "desc"}).value_or("desc") == "asc";
  page.after = fields.text("after", {.min = 1, .max = 256});
  fields.check();
  std::string run_id = run_id_in(input.path_value("response"));
  return OneStatement(
      query::ResponseItems{.run_id = run_id}, [run_id, page](const postgres::Result& result) {
        return Response::json_text(200, response_item_list(run_id, result.text(), page));
      });
}

}  // namespace hostler
