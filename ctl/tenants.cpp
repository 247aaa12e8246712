// Organizations and keys; see ctl/tenants.h.
#include "ctl/tenants.h"

#include <iostream>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "ctl/identities.h"
#include "ctl/output.h"
#include "ctl/owner_session.h"
#include "lib/account/caller.h"
#include "lib/error.h"
#include "lib/ids.h"
#include "lib/json.h"
#include "queries/operator.h"

namespace hostler {
namespace {

constexpr const char* application = "hostlerctl";

// The SHA-256 of a key as somebody found it; nothing when it has not the form of one.
std::optional<std::string> hash_of_key(std::string line) {
  while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
  if (!line.starts_with("hst_")) return std::nullopt;
  return account::read_credential("Bearer " + line).hash;
}

void write_org(const postgres::Row& org, JsonWriter& json) {
  for (const char* name : {"id", "type", "slug", "name", "created_at"}) {
    json.member(name, org.text(name));
  }
  json.member("balance", org.integer("balance")).member("members", org.integer("member_count"));
}

std::string org_line(const postgres::Row& org) {
  return fmt::format("{}  {}  {}  {}  {}  {}\n", org.text("id"), org.text("type"), org.text("slug"),
                     org.text("name"), count_text(org.integer("balance"), "credit"),
                     count_text(org.integer("member_count"), "member"));
}

struct KeyToRevoke {
  std::string id;           // of the key; empty: the key itself is read
  bool from_stdin = false;  // from the first line of standard input
};

int revoke_api_key(const CommandCall& call, const KeyToRevoke& key) {
  std::optional<std::string> hash;
  if (key.from_stdin) {
    std::string line;
    std::getline(std::cin, line);
    hash = hash_of_key(std::move(line));
    if (!hash) return fail(exit_usage, "standard input does not begin with an API key (hst_…)");
  } else if (!is_uuid(key.id)) {
    return fail(exit_usage, "give the id of a key, or the key itself with --key-stdin");
  }
  OwnerSession owner = open_migrated(call.settings().text("database.url"), application);
  if (!owner.session) return fail(owner.status, owner.refusal);
  std::optional<std::string> key_id;
  if (!hash) key_id = key.id;
  postgres::Result revoked =
      owner.session->run(query::OperatorApiKeyRevoke{.key_id = key_id, .key_hash = hash});
  postgres::Row row = revoked.front();
  JsonWriter json;
  json.begin_object().member("id", row.text("id")).member("login", row.text("login")).end_object();
  return answer(call.as_json, json.take(),
                fmt::format("key {} ({}…) of {} is revoked\n", row.text("id"),
                            row.text("key_prefix"), row.text("login")));
}

// Newest first, at most so many.
int list_orgs(const CommandCall& call, int max) {
  OwnerSession owner = open_migrated(call.settings().text("database.url"), application);
  if (!owner.session) return fail(owner.status, owner.refusal);
  postgres::Result orgs =
      owner.session->run(query::OperatorOrgList{.limit = max, .id_or_slug = std::nullopt});
  std::string lines;
  JsonWriter json;
  json.begin_array();
  for (int i = 0; i < orgs.size(); ++i) {
    postgres::Row org = orgs[i];
    json.begin_object();
    write_org(org, json);
    json.end_object();
    lines += org_line(org);
  }
  json.end_array();
  return answer(call.as_json, json.take(), lines);
}

int show_org(const CommandCall& call, const std::string& id_or_slug) {
  OwnerSession owner = open_migrated(call.settings().text("database.url"), application);
  if (!owner.session) return fail(owner.status, owner.refusal);
  postgres::Result found =
      owner.session->run(query::OperatorOrgList{.limit = 1, .id_or_slug = id_or_slug});
  if (found.empty()) throw Error(ErrorCode::orgs_not_found);
  postgres::Row org = found.front();
  postgres::Result members =
      owner.session->run(query::OperatorMemberList{.org_id = org.text("id")});
  JsonWriter json;
  json.begin_object();
  write_org(org, json);
  json.key("member_list").begin_array();
  std::string lines = org_line(org);
  for (int i = 0; i < members.size(); ++i) {
    postgres::Row member = members[i];
    json.begin_object();
    for (const char* name : {"user_id", "login", "email", "role", "status"}) {
      json.member(name, member.text(name));
    }
    json.end_object();
    lines += fmt::format("  {}  {}  {}  {}  {}\n", member.text("user_id"), member.text("role"),
                         member.text("login"), member.text("email"), member.text("status"));
  }
  json.end_array().end_object();
  return answer(call.as_json, json.take(), lines);
}

}  // namespace

void add_tenant_commands(CommandLine& line) {
  CommandWord org = line.topic("org", "look at organizations, and let their members in");
  auto max = std::make_shared<int>(50);
  CommandWord list = line.command(org, "list", "all, newest first",
                                  [max](const CommandCall& call) { return list_orgs(call, *max); });
  list.add_option("--limit", *max, "maximum number of rows").within(1, 100'000).shows_default();
  auto shown = std::make_shared<std::string>();
  CommandWord show =
      line.command(org, "show", "one with its members",
                   [shown](const CommandCall& call) { return show_org(call, *shown); });
  show.add_option("ORG", *shown, "id or slug").required();
  add_org_sso_command(line, org);

  CommandWord apikey = line.topic("apikey", "end API keys");
  auto key = std::make_shared<KeyToRevoke>();
  CommandWord revoke =
      line.command(apikey, "revoke", "revoke a key, from the next request on",
                   [key](const CommandCall& call) { return revoke_api_key(call, *key); });
  CommandOption id = revoke.add_option("KEY_ID", key->id, "the id of the key");
  revoke
      .add_flag("--key-stdin", key->from_stdin,
                "take the key itself from the first line of standard input")
      .excludes(id);
}

}  // namespace hostler
