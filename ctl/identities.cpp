// See ctl/identities.h.
#include "ctl/identities.h"

#include <memory>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "ctl/output.h"
#include "ctl/owner_session.h"
#include "lib/account/account_rules.h"
#include "lib/json.h"
#include "queries/identity_providers.h"

namespace hostler {
namespace {

constexpr const char* application = "hostlerctl";

OwnerSession open_owner(const CommandCall& call) {
  return open_migrated(call.settings().text("database.url"), application);
}

int list_identities(const CommandCall& call, const std::string& login) {
  OwnerSession owner = open_owner(call);
  if (!owner.session) return fail(owner.status, owner.refusal);
  postgres::Result links =
      owner.session->run(query::UserIdentities{.login = account::login_key(login)});
  JsonWriter json;
  std::string lines;
  json.begin_array();
  for (int i = 0; i < links.size(); ++i) {
    std::string_view item = links[i].text("item");
    json.raw(item);
    std::optional<Json> link = parse_json_or_nothing(item);
    lines += fmt::format("{} {} {}\n", link->text_or("id"), link->text_or("provider_key"),
                         link->text_or("issuer"));
  }
  return answer(call.as_json, json.end_array().take(),
                lines.empty() ? fmt::format("{} has no linked identity\n", login) : lines);
}

int switch_sso_off(const CommandCall& call, const std::string& org) {
  OwnerSession owner = open_owner(call);
  if (!owner.session) return fail(owner.status, owner.refusal);
  postgres::Result switched = owner.session->run(query::SsoOff{.org_name = org});
  std::string_view count = switched.text();
  return answer(call.as_json, fmt::format("{{\"switched_off\":{}}}", count),
                count == "0" ? fmt::format("{} requires no identity provider\n", org)
                             : fmt::format("{} requires its identity provider no more\n", org));
}

}  // namespace

void add_identity_commands(CommandLine& line) {
  CommandWord topic = line.topic("identity", "links of accounts with identity providers");
  auto login = std::make_shared<std::string>();
  CommandWord list =
      line.command(topic, "list", "print the links of a user",
                   [login](const CommandCall& call) { return list_identities(call, *login); });
  list.add_option("LOGIN", *login, "login, username or mail address").required();
}

void add_org_sso_command(CommandLine& line, CommandWord topic) {
  auto org = std::make_shared<std::string>();
  auto is_off = std::make_shared<bool>(false);
  CommandWord sso =
      line.command(topic, "sso", "let members sign in without the required identity provider",
                   [org, is_off](const CommandCall& call) {
                     if (!*is_off) return fail(exit_usage, "say --off");
                     return switch_sso_off(call, *org);
                   });
  sso.add_option("ORG", *org, "id or slug").required();
  sso.add_flag("--off", *is_off, "set is_required of its providers to false");
}

}  // namespace hostler
