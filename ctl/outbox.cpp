// The operator's view of the outbox; see ctl/outbox.h.
#include "ctl/outbox.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "ctl/output.h"
#include "ctl/owner_session.h"
#include "lib/config/live_settings.h"
#include "lib/config/secret_box.h"
#include "lib/ids.h"
#include "lib/json.h"
#include "lib/mail/mailed_secret.h"
#include "lib/utf8.h"
#include "queries/outbox.h"
#include "queries/settings.h"

namespace hostler {
namespace {

constexpr const char* columns[] = {"id",          "kind",       "status",          "what",
                                   "destination", "created_at", "next_attempt_at", "expires_at",
                                   "last_error"};

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
  std::string status;  // pending, failed, expired, cancelled or delivered; empty: the first three
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

struct RetryCounts {
  int64_t as_it_was = 0;
  int64_t renewed = 0;
  int64_t refused = 0;
  std::map<std::string, int64_t> reasons;  // how many were refused, by why
};

// A new code or token for this mail; nothing when there is no key to seal it with.
std::optional<std::string> fresh_secret(const config::SecretBox* box, const postgres::Row& row) {
  if (box == nullptr || row.is_null("template")) return std::nullopt;
  std::string_view name = row.text("template");
  if (name == "login_code") {
    if (row.is_null("subject_id")) return std::nullopt;
    return mail::new_mailed_code(*box, row.text("subject_id"));
  }
  return mail::new_mailed_token(*box, name == "invitation" ? mail::invitation_token_prefix : "");
}

void retry_one(const postgres::Row& row, const config::SecretBox* box,
               const config::Settings& in_force, postgres::DbSession& session,
               RetryCounts& counts) {
  postgres::Result tried = session.run(
      query::OutboxRetry{.message_id = row.text("id"),
                         .fresh = fresh_secret(box, row),
                         .auth_email_token_seconds = in_force.integer("auth.email_token_seconds"),
                         .auth_otp_seconds = in_force.integer("auth.otp_seconds")});
  std::string_view outcome = tried.front().text("outcome");
  if (outcome == "due") {
    ++counts.as_it_was;
  } else if (outcome == "renewed") {
    ++counts.renewed;
  } else {
    ++counts.refused;
    ++counts.reasons[std::string(tried.front().text("reason"))];
  }
}

// One message, or with an empty id every one that failed or expired, each in its own transaction.
RetryCounts retry_each(const std::string& id, const config::SecretBox* box,
                       const config::Settings& in_force, postgres::DbSession& session) {
  constexpr int64_t page = 500;
  RetryCounts counts;
  std::string after = "00000000-0000-0000-0000-000000000000";
  for (bool goes_on = true; goes_on;) {
    postgres::Result rows = session.run(
        query::OutboxRetriable{.message_id = text_or_none(id), .after_id = after, .limit = page});
    for (int i = 0; i < rows.size(); ++i) {
      after = rows[i].text("id");
      retry_one(rows[i], box, in_force, session, counts);
    }
    goes_on = rows.size() == page;
  }
  return counts;
}

std::string json_of(const RetryCounts& counts) {
  JsonWriter json;
  json.begin_object().member("retried", counts.as_it_was + counts.renewed);
  json.member("renewed", counts.renewed).member("refused", counts.refused);
  json.key("reasons").begin_array();
  for (const auto& [reason, count] : counts.reasons) {
    json.begin_object().member("reason", reason).member("count", count).end_object();
  }
  return json.end_array().end_object().take();
}

std::string lines_of(const RetryCounts& counts) {
  std::string lines = fmt::format(
      "{} due now: {} as they were, {} with a new code or link; {} refused\n",
      counts.as_it_was + counts.renewed, counts.as_it_was, counts.renewed, counts.refused);
  for (const auto& [reason, count] : counts.reasons) {
    lines += fmt::format("  {} refused: {}\n", count, reason);
  }
  return lines;
}

int retry_outbox(const CommandCall& call, const std::string& id, bool all_failed) {
  if (id.empty() != all_failed) return fail(exit_usage, "name a message, or give --all-failed");
  if (!id.empty() && !is_uuid(id)) return fail(exit_usage, "the id of a message is a UUID");
  const config::Settings& settings = call.settings();
  OwnerSession owner = open_migrated(settings.text("database.url"), "hostlerctl outbox");
  if (!owner.session) return fail(owner.status, owner.refusal);
  postgres::Result stored = owner.session->run(query::SettingsAll{});
  config::Settings in_force = config::settings_with_stored(settings, stored, nullptr);
  auto loaded = config::SecretBox::load(settings.text("secrets.key_file"));
  const config::SecretBox* box = std::get_if<config::SecretBox>(&loaded);
  RetryCounts counts = retry_each(id, box, in_force, *owner.session);
  if (counts.as_it_was + counts.renewed > 0) owner.session->run(query::OutboxNotify{});
  if (!id.empty() && counts.as_it_was + counts.renewed == 0) {
    return fail(exit_bad_input, counts.reasons.empty()
                                    ? "the message does not exist, or is delivered or under way"
                                    : counts.reasons.begin()->first);
  }
  return answer(call.as_json, json_of(counts), lines_of(counts));
}

int drop_outbox(const CommandCall& call, const std::string& id) {
  if (!is_uuid(id)) return fail(exit_usage, "the id of a message is a UUID");
  OwnerSession owner = open_migrated(call.settings().text("database.url"), "hostlerctl outbox");
  if (!owner.session) return fail(owner.status, owner.refusal);
  postgres::Result done = owner.session->run(query::OutboxDrop{.message_id = id});
  if (done.front().integer("dropped") == 0) {
    return fail(exit_bad_input, "the message does not exist, or is delivered");
  }
  return answer(call.as_json, "{\"dropped\":1}", "dropped\n");
}

void add_list_command(CommandLine& line, CommandWord topic) {
  auto filter = std::make_shared<OutboxFilter>();
  CommandWord list =
      line.command(topic, "list", "waiting and failed messages, oldest first",
                   [filter](const CommandCall& call) { return list_outbox(call, *filter); });
  list.add_option("--status", filter->status, "only this status")
      .one_of({"pending", "failed", "expired", "cancelled", "delivered"});
  list.add_option("--kind", filter->kind, "only mails, or only webhooks")
      .one_of({"mail", "webhook"});
  list.add_option("--limit", filter->limit, "maximum number of rows")
      .within(1, 10'000)
      .shows_default();
}

}  // namespace

void add_outbox_commands(CommandLine& line) {
  CommandWord topic = line.topic("outbox", "list and fix mails and webhooks that are stuck");
  add_list_command(line, topic);
  auto id = std::make_shared<std::string>();
  auto all_failed = std::make_shared<bool>(false);
  CommandWord retry = line.command(
      topic, "retry", "send failed or waiting messages now, with a new code or link if needed",
      [id, all_failed](const CommandCall& call) { return retry_outbox(call, *id, *all_failed); });
  retry.add_option("ID", *id, "the message");
  retry.add_flag("--all-failed", *all_failed, "every message that failed or expired");
  CommandWord drop = line.command(topic, "drop", "remove a message that nobody should get",
                                  [id](const CommandCall& call) { return drop_outbox(call, *id); });
  drop.add_option("ID", *id, "the message").required();
}

}  // namespace hostler
