// Users and sessions; see ctl/users.h.
#include "ctl/users.h"

#include <fmt/format.h>

#include "ctl/answers.h"
#include "ctl/owner_session.h"
#include "lib/ids.h"
#include "lib/json.h"
#include "queries/operator.h"

namespace hostler {
namespace {

OwnerSession open(const Settings& settings) {
  return open_migrated(settings.text("database.url"), "hostlerctl user");
}

void write_member(JsonWriter& json, const Row& row, const char* column) {
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
void write_rows(JsonWriter& json, const Result& rows, const char* const (&columns)[size]) {
  json.begin_array();
  for (int i = 0; i < rows.size(); ++i) {
    json.begin_object();
    for (const char* column : columns) write_member(json, rows[i], column);
    json.end_object();
  }
  json.end_array();
}

std::string user_json(const Result& user, const Result& orgs, const Result& sessions) {
  Row row = user.front();
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
  return json.take() + "\n";
}

std::string user_lines(const Result& user, const Result& orgs, const Result& sessions) {
  Row row = user.front();
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

}  // namespace

int show_user(const Settings& settings, const std::string& login, bool as_json) {
  OwnerSession owner = open(settings);
  if (!owner.session) return fail(exit_bad_input, owner.refusal);
  Result user = owner.session->run(query::user_facts, Params().text(login));
  Result orgs = owner.session->run(query::user_orgs, Params().text(login));
  Result sessions = owner.session->run(query::user_sessions, Params().text(login));
  print_out(as_json ? user_json(user, orgs, sessions) : user_lines(user, orgs, sessions));
  return exit_ok;
}

int set_user_status(const Settings& settings, const std::string& login, const std::string& status) {
  OwnerSession owner = open(settings);
  if (!owner.session) return fail(exit_bad_input, owner.refusal);
  owner.session->run(query::user_status_set, Params().text(login).text(status));
  print_out(fmt::format("{} is {}\n", login, status));
  return exit_ok;
}

int revoke_session(const Settings& settings, const std::string& session_id) {
  if (!is_uuid(session_id)) return fail(exit_usage, session_id + " is not an id of a session");
  OwnerSession owner = open(settings);
  if (!owner.session) return fail(exit_bad_input, owner.refusal);
  owner.session->run(query::session_revoke_one, Params().text(session_id));
  print_out("1 session ended\n");
  return exit_ok;
}

int revoke_sessions(const Settings& settings, const std::string& login) {
  OwnerSession owner = open(settings);
  if (!owner.session) return fail(exit_bad_input, owner.refusal);
  Result ended = owner.session->run(query::session_revoke_all, Params().text(login));
  print_out(fmt::format("{} sessions ended\n", ended.text()));
  return exit_ok;
}

}  // namespace hostler
