// The operator's view of the outbox; see ctl/outbox.h.
#include "ctl/outbox.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "ctl/output.h"
#include "ctl/owner_session.h"
#include "lib/ids.h"
#include "lib/json.h"
#include "lib/utf8.h"
#include "queries/outbox.h"

namespace hostler {
namespace {

constexpr const char* columns[] = {"id",          "kind",       "status",          "what",
                                   "destination", "created_at", "next_attempt_at", "last_error"};

std::optional<std::string> text_or_none(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(text);
}

std::string json_of(const postgres::Result& rows) {
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
  return json.take();
}

// An address of a tenant has up to 2,048 characters: people see how it begins, JSON has all of it.
std::string shortened(std::string_view destination) {
  constexpr size_t bytes_max = 100;
  if (destination.size() <= bytes_max) return std::string(destination);
  return std::string(utf8_prefix(destination, bytes_max)) + "…";
}

std::string lines_of(const postgres::Result& rows) {
  std::string lines;
  for (int i = 0; i < rows.size(); ++i) {
    const postgres::Row row = rows[i];
    lines += fmt::format("{}  {:9} {}  {}  {}, {}", row.text("id"), row.text("status"),
                         row.text("what"), shortened(row.text("destination")),
                         row.text("created_at"), count_text(row.integer("attempts"), "attempt"));
    if (!row.is_null("next_attempt_at")) {
      lines += fmt::format(", next {}", row.text("next_attempt_at"));
    }
    if (!row.is_null("last_error")) lines += fmt::format(": {}", row.text("last_error"));
    lines += '\n';
  }
  return lines;
}

struct OutboxFilter {
  std::string status;  // pending, failed, cancelled or delivered; empty: pending and failed
  std::string kind;    // mail or webhook; empty: both
  int64_t limit = 50;
};

int list_outbox(const CommandCall& call, const OutboxFilter& filter) {
  OwnerSession owner = open_migrated(call.settings().text("database.url"), "hostlerctl outbox");
  if (!owner.session) return fail(owner.status, owner.refusal);
  postgres::Result rows =
      owner.session->run(query::OutboxList{.status = text_or_none(filter.status),
                                           .kind = text_or_none(filter.kind),
                                           .limit = filter.limit});
  return answer(call.as_json, json_of(rows), lines_of(rows));
}

int retry_outbox(const CommandCall& call, const std::string& id, bool all_failed) {
  if (id.empty() != all_failed) return fail(exit_usage, "name a message, or say --all-failed");
  if (!id.empty() && !is_uuid(id)) return fail(exit_usage, "the id of a message is a UUID");
  OwnerSession owner = open_migrated(call.settings().text("database.url"), "hostlerctl outbox");
  if (!owner.session) return fail(owner.status, owner.refusal);
  postgres::Result done = owner.session->run(query::OutboxRetry{.message_id = text_or_none(id)});
  int64_t count = done.front().integer("retried");
  if (count == 0 && !id.empty()) {
    return fail(exit_bad_input, "there is no such message, or it is delivered or under way");
  }
  owner.session->run(query::OutboxNotify{});
  return answer(call.as_json, fmt::format("{{\"retried\":{}}}", count),
                fmt::format("{} due now\n", count));
}

int drop_outbox(const CommandCall& call, const std::string& id) {
  if (!is_uuid(id)) return fail(exit_usage, "the id of a message is a UUID");
  OwnerSession owner = open_migrated(call.settings().text("database.url"), "hostlerctl outbox");
  if (!owner.session) return fail(owner.status, owner.refusal);
  postgres::Result done = owner.session->run(query::OutboxDrop{.message_id = id});
  if (done.front().integer("dropped") == 0) {
    return fail(exit_bad_input, "there is no such message, or it is delivered");
  }
  return answer(call.as_json, "{\"dropped\":1}", "dropped\n");
}

void add_list_command(CommandLine& line, CommandWord topic) {
  auto filter = std::make_shared<OutboxFilter>();
  CommandWord list =
      line.command(topic, "list", "what waits or failed, oldest first",
                   [filter](const CommandCall& call) { return list_outbox(call, *filter); });
  list.add_option("--status", filter->status, "only this status")
      .one_of({"pending", "failed", "cancelled", "delivered"});
  list.add_option("--kind", filter->kind, "only mails, or only webhooks")
      .one_of({"mail", "webhook"});
  list.add_option("--limit", filter->limit, "at most so many").within(1, 10'000).shows_default();
}

}  // namespace

void add_outbox_commands(CommandLine& line) {
  CommandWord topic = line.topic("outbox", "see and mend mails and webhooks that are stuck");
  add_list_command(line, topic);
  auto id = std::make_shared<std::string>();
  auto all_failed = std::make_shared<bool>(false);
  CommandWord retry = line.command(
      topic, "retry", "try again now what failed or waits",
      [id, all_failed](const CommandCall& call) { return retry_outbox(call, *id, *all_failed); });
  retry.add_option("ID", *id, "the message");
  retry.add_flag("--all-failed", *all_failed, "every message that failed");
  CommandWord drop = line.command(topic, "drop", "take a message away that nobody shall get",
                                  [id](const CommandCall& call) { return drop_outbox(call, *id); });
  drop.add_option("ID", *id, "the message").required();
}

}  // namespace hostler
