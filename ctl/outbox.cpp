// The operator's view of the outbox; see ctl/outbox.h.
#include "ctl/outbox.h"

#include <fmt/format.h>

#include "ctl/answers.h"
#include "ctl/owner_session.h"
#include "lib/ids.h"
#include "lib/json.h"
#include "queries/outbox.h"

namespace hostler {
namespace {

constexpr const char* columns[] = {"id",          "kind",       "status",          "what",
                                   "destination", "created_at", "next_attempt_at", "last_error"};

Params text_or_none(const std::string& text) {
  Params params;
  if (text.empty()) {
    params.null();
  } else {
    params.text(text);
  }
  return params;
}

std::string json_of(const Result& rows) {
  JsonWriter json;
  json.begin_array();
  for (int i = 0; i < rows.size(); ++i) {
    json.begin_object();
    for (const char* column : columns) {
      json.key(column);
      if (rows[i].is_null(column)) {
        json.null();
      } else {
        json.text(rows[i].text(column));
      }
    }
    json.member("attempts", rows[i].integer("attempts"));
    json.member("is_under_way", rows[i].boolean("is_under_way")).end_object();
  }
  json.end_array();
  return json.take() + "\n";
}

std::string lines_of(const Result& rows) {
  std::string lines;
  for (int i = 0; i < rows.size(); ++i) {
    const Row row = rows[i];
    lines += fmt::format("{}  {:9} {}  {}  {}, {} attempts", row.text("id"), row.text("status"),
                         row.text("what"), row.text("destination"), row.text("created_at"),
                         row.integer("attempts"));
    if (!row.is_null("next_attempt_at")) {
      lines += fmt::format(", next {}", row.text("next_attempt_at"));
    }
    if (!row.is_null("last_error")) lines += fmt::format(": {}", row.text("last_error"));
    lines += '\n';
  }
  return lines;
}

}  // namespace

int list_outbox(const Settings& settings, const OutboxFilter& filter, bool as_json) {
  OwnerSession owner = open_migrated(settings.text("database.url"), "hostlerctl outbox");
  if (!owner.session) return fail(exit_bad_input, owner.refusal);
  Params params = text_or_none(filter.status);
  if (filter.kind.empty()) {
    params.null();
  } else {
    params.text(filter.kind);
  }
  params.integer(filter.limit);
  Result rows = owner.session->run(query::outbox_list, params);
  print_out(as_json ? json_of(rows) : lines_of(rows));
  return exit_ok;
}

int retry_outbox(const Settings& settings, const std::string& id) {
  if (!id.empty() && !is_uuid(id)) return fail(exit_usage, "the id of a message is a UUID");
  OwnerSession owner = open_migrated(settings.text("database.url"), "hostlerctl outbox");
  if (!owner.session) return fail(exit_bad_input, owner.refusal);
  Result done = owner.session->run(query::outbox_retry, text_or_none(id));
  int64_t count = done.front().integer("retried");
  if (count == 0 && !id.empty()) {
    return fail(exit_bad_input, "there is no such message, or it is delivered or under way");
  }
  owner.session->run(query::outbox_bell);
  print_out(fmt::format("{} due now\n", count));
  return exit_ok;
}

int drop_outbox(const Settings& settings, const std::string& id) {
  if (!is_uuid(id)) return fail(exit_usage, "the id of a message is a UUID");
  OwnerSession owner = open_migrated(settings.text("database.url"), "hostlerctl outbox");
  if (!owner.session) return fail(exit_bad_input, owner.refusal);
  Result done = owner.session->run(query::outbox_drop, Params().text(id));
  if (done.front().integer("dropped") == 0) {
    return fail(exit_bad_input, "there is no such message, or it is delivered");
  }
  print_out("dropped\n");
  return exit_ok;
}

}  // namespace hostler
