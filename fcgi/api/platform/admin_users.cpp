// Users, for platform administrators. Statements: sql/queries/admin_users.sql.
#include <array>
#include <optional>
#include <utility>

#include "fcgi/api/handlers.h"
#include "fcgi/http/input.h"
#include "lib/account/account_rules.h"
#include "lib/json.h"
#include "lib/mail_address.h"
#include "queries/admin_users.h"

namespace hostler {
namespace {

// Longer than any rule: the rules of lib/account/account_rules tell the fault.
constexpr TextBounds any_text{.max = 100'000, .takes_control = true};

struct Member {
  std::string_view name;
  std::optional<account::TextFault> (*check)(std::string_view);
};
constexpr std::array members{
    Member{"username", account::name_fault},
    Member{"email", account::email_fault},  // and below, what settings say of it
    Member{"locale", account::locale_fault},
    Member{"timezone", account::timezone_fault},
};

// Returns the changes in the form of the database's function.
std::string read_changes(const Input& input) {
  Fields fields = input.body();
  JsonWriter changes;
  changes.begin_object();
  std::optional<std::string> status = fields.optional_choice("status", {"active", "suspended"});
  if (status) changes.member("status", *status);
  for (const Member& member : members) {
    std::optional<std::string> value = fields.optional_text(member.name, any_text);
    if (!value) continue;
    if (member.name == "username") value = account::trimmed_name(*value);
    if (member.name == "email") value = account::trimmed_email(*value);
    if (member.name == "locale") value = account::language_tag(*std::move(value));
    std::optional<account::TextFault> fault =
        member.name == "email"
            ? account::new_email_fault(*value, input.settings.boolean("mail.smtputf8"))
            : member.check(*value);
    if (fault) fields.fault(member.name, std::move(fault->code), std::move(fault->message));
    changes.member(member.name, *value);
    if (fault) continue;
    if (member.name == "username") {
      changes.member_raw("username_look", account::name_look(*value));
    } else if (member.name == "email") {
      changes.member("email_key", mail_address_key(*value));
    }
  }
  std::optional<bool> is_verified = fields.optional_boolean("email_verified");
  if (is_verified) changes.member("email_verified", *is_verified);
  fields.check_patch();
  return changes.end_object().take();
}

}  // namespace

OneStatement list_users(const Input& input) {
  QueryFields fields = input.query();
  std::optional<std::string> part = fields.text("q", {.max = 254});
  std::optional<std::string> status = fields.choice("status", {"active", "suspended", "deleted"});
  Page page = Input::page_of(fields, "cursor");
  fields.check();
  return OneStatement::items(
      input,
      query::AdminUserPage{.q = part, .status = status, .limit = page.limit, .before = page.before},
      {.limit = page.limit, .cursor_name = "cursor"});
}

OneStatement show_user(const Input& input) {
  return OneStatement::row(query::AdminUserShow{.user_id = input.path_value("user_id")});
}

OneStatement update_user(const Input& input) {
  return OneStatement::row(query::AdminUserUpdate{.user_id = input.path_value("user_id"),
                                                  .changes = read_changes(input)});
}

OneStatement delete_user(const Input& input) {
  return OneStatement::no_content(query::AdminUserDelete{
      .user_id = input.path_value("user_id"),
      .privacy_org_delete_days = input.settings.integer("privacy.org_delete_days")});
}

}  // namespace hostler
