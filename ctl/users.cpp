// Users and sessions; see ctl/users.h.
#include "ctl/users.h"

#include <memory>

#include <fmt/format.h>

#include "ctl/admin.h"
#include "ctl/names.h"
#include "ctl/output.h"
#include "ctl/owner_session.h"
#include "lib/account/account_rules.h"
#include "lib/ids.h"
#include "lib/json.h"
#include "queries/operator.h"

namespace hostler {
namespace {

OwnerSession open(const config::Settings& settings) {
  return open_migrated(settings.text("database.url"), "hostlerctl user");
}

void write_member(JsonWriter& json, const postgres::Row& row, const char* column) {
  json.key(column);
  row.is_null(column) ? json.null() : json.text(row.text(column));
}

constexpr const char* user_texts[] = {"id", "login", "username", "email", "status"};
constexpr const char* user_marks[] = {"email_verified", "platform_admin"};
constexpr const char* user_times[] = {"created_at", "last_login_at"};
constexpr const char* org_texts[] = {"org_id", "slug", "name", "role"};
constexpr const char* session_texts[] = {"id", "created_at", "last_seen_at", "client_ip",
                                         "user_agent"};

template <size_t size>
void write_rows(JsonWriter& json, const postgres::Result& rows,
                const char* const (&columns)[size]) {
  json.begin_array();
  for (int i = 0; i < rows.size(); ++i) {
    json.begin_object();
    for (const char* column : columns) write_member(json, rows[i], column);
    json.end_object();
  }
  json.end_array();
}

std::string user_json(const postgres::Result& user, const postgres::Result& orgs,
                      const postgres::Result& sessions) {
  postgres::Row row = user.front();
  JsonWriter json;
  json.begin_object();
  for (const char* column : user_texts) write_member(json, row, column);
  for (const char* column : user_marks) json.member(column, row.boolean(column));
  for (const char* column : user_times) write_member(json, row, column);
  json.key("orgs");
  write_rows(json, orgs, org_texts);
  json.key("sessions");
  write_rows(json, sessions, session_texts);
  json.end_object();
  return json.take();
}

std::string user_lines(const postgres::Result& user, const postgres::Result& orgs,
                       const postgres::Result& sessions) {
  postgres::Row row = user.front();
  std::string lines;
  for (const char* column : user_texts) {
    lines += fmt::format("{}: {}\n", column, row.text(column));
  }
  for (const char* column : user_marks) {
    lines += fmt::format("{}: {}\n", column, row.boolean(column) ? "yes" : "no");
  }
  for (const char* column : user_times) {
    lines += fmt::format("{}: {}\n", column, row.is_null(column) ? "never" : row.text(column));
  }
  for (int i = 0; i < orgs.size(); ++i) {
    lines += fmt::format("org: {} {} ({})\n", orgs[i].text("org_id"), orgs[i].text("name"),
                         orgs[i].text("role"));
  }
  for (int i = 0; i < sessions.size(); ++i) {
    lines += fmt::format("session: {} last seen {} from {}\n", sessions[i].text("id"),
                         sessions[i].text("last_seen_at"), sessions[i].text("client_ip"));
  }
  return lines;
}

// login: a login, username or mail address.
int show_user(const CommandCall& call, const std::string& login) {
  OwnerSession owner = open(call.settings());
  if (!owner.session) return fail(owner.status, owner.refusal);
  const std::string key = account::login_key(login);
  postgres::Result user = owner.session->run(query::UserFacts{.login = key});
  postgres::Result orgs = owner.session->run(query::UserOrgs{.login = key});
  postgres::Result sessions = owner.session->run(query::UserSessions{.login = key});
  return answer(call.as_json, user_json(user, orgs, sessions), user_lines(user, orgs, sessions));
}

int set_user_status(const CommandCall& call, const std::string& login, const std::string& status) {
  OwnerSession owner = open(call.settings());
  if (!owner.session) return fail(owner.status, owner.refusal);
  owner.session->run(query::UserStatusSet{.login = account::login_key(login), .status = status});
  JsonWriter json;
  json.begin_object().member("login", login).member("status", status).end_object();
  return answer(call.as_json, json.take(), fmt::format("{} is {}\n", login, status));
}

int answer_ended(const CommandCall& call, std::string_view count) {
  return answer(call.as_json, fmt::format("{{\"sessions_ended\":{}}}", count),
                fmt::format("{} session{} ended\n", count, count == "1" ? "" : "s"));
}

int revoke_session(const CommandCall& call, const std::string& session_id) {
  if (!is_uuid(session_id)) return fail(exit_usage, session_id + " is not an id of a session");
  OwnerSession owner = open(call.settings());
  if (!owner.session) return fail(owner.status, owner.refusal);
  owner.session->run(query::SessionRevokeOne{.session_id = session_id});
  return answer_ended(call, "1");
}

int revoke_sessions(const CommandCall& call, const std::string& login) {
  OwnerSession owner = open(call.settings());
  if (!owner.session) return fail(owner.status, owner.refusal);
  postgres::Result ended =
      owner.session->run(query::SessionRevokeAll{.login = account::login_key(login)});
  return answer_ended(call, ended.text());
}

void add_status_command(CommandLine& line, CommandWord topic, const std::string& name,
                        const std::string& sentence, const std::string& status) {
  auto login = std::make_shared<std::string>();
  CommandWord command = line.command(
      topic, name, sentence,
      [login, status](const CommandCall& call) { return set_user_status(call, *login, status); });
  command.add_option("LOGIN", *login, "login, username or mail address").required();
}

void add_session_commands(CommandLine& line) {
  CommandWord topic = line.topic("session", "end sessions");
  auto session_id = std::make_shared<std::string>();
  auto login = std::make_shared<std::string>();
  CommandWord revoke = line.command(topic, "revoke", "end one session, or all of a user",
                                    [session_id, login](const CommandCall& call) {
                                      if (session_id->empty() && login->empty()) {
                                        return fail(exit_usage, "say SESSION_ID or --user LOGIN");
                                      }
                                      return session_id->empty()
                                                 ? revoke_sessions(call, *login)
                                                 : revoke_session(call, *session_id);
                                    });
  CommandOption id = revoke.add_option("SESSION_ID", *session_id, "as user show prints it");
  revoke.add_option("--user", *login, "login, username or mail address: all of theirs")
      .excludes(id);
}

}  // namespace

void add_user_commands(CommandLine& line) {
  CommandWord topic = line.topic("user", "make, show, suspend users");
  add_create_command(line, topic, "a new user, as by registration", false);
  auto login = std::make_shared<std::string>();
  CommandWord show =
      line.command(topic, "show", "print a user with organizations and sessions",
                   [login](const CommandCall& call) { return show_user(call, *login); });
  show.add_option("LOGIN", *login, "login, username or mail address").required();
  add_status_command(line, topic, "suspend", "end the sessions and let nobody in", "suspended");
  add_status_command(line, topic, "activate", "let a suspended user in again", "active");
  line.command(topic, "looks", "compute again what names look like, after an upgrade of ICU",
               refresh_looks);
  add_session_commands(line);
}

}  // namespace hostler
