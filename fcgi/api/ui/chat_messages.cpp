// GET /v1/ui/chat/{chat}/messages: what useChat begins with. A user's message is one as it is
// stored; a run's is made of its events by what streams it, too (lib/formats/ui_messages.h).
#include <string>
#include <string_view>

#include "fcgi/api/handlers.h"
#include "fcgi/http/input.h"
#include "fcgi/http/response.h"
#include "lib/events/event_batch.h"
#include "lib/formats/ui_messages.h"
#include "lib/json.h"
#include "queries/ui_chats.h"

namespace hostler {
namespace {

std::string_view text_or_none(const postgres::Row& row, const char* name) {
  return row.is_null(name) ? std::string_view() : row.text(name);
}

// With one part, whole.
void write_text_message(const postgres::Row& row, JsonWriter& json) {
  json.begin_object().member("id", row.text("id")).member("role", row.text("role"));
  json.key("metadata").begin_object().member("createdAt", row.text("made_at")).end_object();
  json.key("parts").begin_array().begin_object();
  json.member("type", "text").member("text", row.text("content")).end_object();
  json.end_array().end_object();
}

// Handles the run whose events begin with the row; returns the first row after them.
int write_run(const postgres::Result& rows, int at, JsonWriter& json) {
  std::string id(rows[at].text("id"));
  formats::UiMessage message({id, text_or_none(rows[at], "facts"), rows[at].boolean("is_checked")});
  for (; at < rows.size() && rows[at].text("id") == id; ++at) {
    postgres::Row row = rows[at];
    message.take({.seq = row.integer("seq"),
                  .type = row.text("type"),
                  .data_json = row.text("data"),
                  .created_at = row.text("created_at"),
                  .usage_json = text_or_none(row, "usage")});
  }
  if (!message.is_empty()) json.raw(message.json());
  return at;
}

Response render(const postgres::Result& rows, std::string_view uri) {
  JsonWriter json;
  json.begin_array();
  for (int at = 0; at < rows.size();) {
    postgres::Row row = rows[at];
    if (!row.is_null("seq")) {
      at = write_run(rows, at, json);
      continue;
    }
    // A run whose events were pruned keeps its answer, if it gave one.
    if (!row.is_null("content")) write_text_message(row, json);
    ++at;
  }
  json.end_array();
  Response response = Response::json_text(200, json.take());
  if (!rows.empty() && rows.front().boolean("has_more")) {
    response.add_header("Link", next_link(uri, "before", rows.front().text("id")));
  }
  return response;
}

}  // namespace

OneStatement list_ui_chat_messages(const Input& input) {
  Page page = input.page();
  std::string_view uri = input.request().uri;
  return {query::UiChatMessages{
              .chat = input.path_value("chat"), .limit = page.limit, .before = page.before},
          [uri](const postgres::Result& rows) { return render(rows, uri); }};
}

}  // namespace hostler
