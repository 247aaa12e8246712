// Conversations in OpenAI's form: threads, by `conv_` and their ids. What is said in one is the
// responses' matter. Statements: sql/queries/threads.sql.
#include <string>

#include "fcgi/api/handlers.h"
#include "fcgi/api/openai/openai_marks.h"
#include "fcgi/api/openai/response_request.h"
#include "fcgi/http/input.h"
#include "lib/formats/openai_response_object.h"
#include "lib/http/openai_error.h"
#include "queries/runs.h"
#include "queries/threads.h"

namespace hostler {
namespace {

Response shown(const postgres::Result& result) {
  postgres::Row thread = result.front();
  std::string_view id = thread.text("id");
  JsonWriter json;
  json.begin_object().member("id", formats::conversation_id(id)).member("object", "conversation");
  json.member("created_at", formats::seconds_of_id(id));
  json.member_raw("metadata", thread.text("metadata")).end_object();
  return Response::json_text(200, json.take());
}

}  // namespace

OneStatement create_conversation(const Input& input) {
  Fields fields = input.optional_body();
  std::string metadata = read_openai_metadata(fields);
  const Json* items = fields.any("items");
  bool is_empty = items == nullptr || items->is_null() ||
                  (items->as_array() != nullptr && items->as_array()->empty());
  if (!is_empty) {
    fields.fault("items", std::string(http::unsupported_parameter),
                 "are not supported here; send them as the input of a response");
  }
  fields.check();
  query::ThreadCreate statement{.title = std::nullopt,
                                .is_private = false,
                                .end_user = std::nullopt,
                                .metadata = metadata,
                                .words = ""};
  return OneStatement(std::move(statement), shown).share_commit();
}

OneStatement show_conversation(const Input& input) {
  std::string thread_id = thread_id_in(input.path_value("conversation"));
  return {query::ThreadShow{.thread_id = thread_id}, shown};
}

OneStatement update_conversation(const Input& input) {
  std::string thread_id = thread_id_in(input.path_value("conversation"));
  Fields fields = input.body();
  std::string metadata = read_openai_metadata(fields);
  if (!fields.has("metadata")) fields.fault("metadata", "required", "is required");
  fields.check();
  return {query::ThreadUpdate{.thread_id = thread_id,
                              .has_title = false,
                              .title = std::nullopt,
                              .metadata = metadata,
                              .words = "",
                              .is_pinned = std::nullopt,
                              .is_archived = std::nullopt},
          shown};
}

OneStatement delete_conversation(const Input& input) {
  std::string thread_id = thread_id_in(input.path_value("conversation"));
  return OneStatement(query::ThreadDelete{.thread_id = thread_id},
                      [thread_id](const postgres::Result&) {
                        JsonWriter json;
                        json.begin_object().member("id", formats::conversation_id(thread_id));
                        json.member("object", "conversation.deleted").member("deleted", true);
                        return Response::json_text(200, json.end_object().take());
                      })
      .notify_of(runs_that_stopped);
}

}  // namespace hostler
