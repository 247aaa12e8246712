// The calling user. Statements: sql/queries/me.sql.
#include <optional>

#include "fcgi/api/handlers.h"
#include "fcgi/http/input.h"
#include "lib/account/account_rules.h"
#include "lib/http/client_url.h"
#include "lib/json.h"
#include "queries/me.h"

namespace hostler {
namespace {

constexpr TextBounds any_text{.max = 100'000, .takes_control = true};

std::optional<account::TextFault> avatar_url_fault(std::string_view avatar_url) {
  std::optional<http::HttpUrl> url = http::parse_http_url(avatar_url);
  if (url && url->scheme == "https" && !url->has_user_info) return std::nullopt;
  return account::TextFault{"bad_format", "must be an https address"};
}

// A member that may change but not be cleared; what checks it says what is wrong.
std::optional<std::string> read_change(
    Fields& fields, std::string_view name,
    std::optional<account::TextFault> (*check)(std::string_view)) {
  std::optional<std::string> value = fields.optional_text(name, any_text);
  if (!value) return std::nullopt;
  if (name == "username") value = account::trimmed_name(*value);
  if (name == "locale") value = account::language_tag(*std::move(value));
  std::optional<account::TextFault> fault = check(*value);
  if (fault) fields.fault(name, std::move(fault->code), std::move(fault->message));
  return value;
}

// Returns the changes in the form of the database's function.
std::string read_profile_changes(const Input& input) {
  Fields fields = input.body();
  JsonWriter changes;
  changes.begin_object();
  struct Member {
    std::string_view name;
    std::optional<account::TextFault> (*check)(std::string_view);
  };
  for (const Member& member :
       {Member{"username", account::name_fault}, Member{"locale", account::locale_fault},
        Member{"timezone", account::timezone_fault}}) {
    std::optional<std::string> value = read_change(fields, member.name, member.check);
    if (value) changes.member(member.name, *value);
    if (value && member.name == "username") {
      changes.member_raw("username_look", account::name_look(*value));
    }
  }
  Nullable<std::string> avatar = fields.nullable_text("avatar_url", {.max = 2048});
  if (avatar.value) {
    std::optional<account::TextFault> fault = avatar_url_fault(*avatar.value);
    if (fault) fields.fault("avatar_url", std::move(fault->code), std::move(fault->message));
    changes.member("avatar_url", *avatar.value);
  } else if (avatar.is_given) {
    changes.member_raw("avatar_url", "null");
  }
  fields.check_patch();
  changes.end_object();
  return changes.take();
}

}  // namespace

OneStatement show_me(const Input&) { return OneStatement::row(query::MeShow{}); }

OneStatement update_me(const Input& input) {
  return OneStatement::row(query::MeUpdate{.changes = read_profile_changes(input)});
}

}  // namespace hostler
