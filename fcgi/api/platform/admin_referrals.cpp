// Invitation codes and referrals, for platform administrators. Statements:
// sql/queries/admin_referrals.sql.
#include "queries/admin_referrals.h"
#include "fcgi/api/handlers.h"
#include "fcgi/http/input.h"

namespace hostler {
namespace {

constexpr Bounds uses_bounds{0, 1'000'000};
constexpr int64_t tree_nodes_max = 10'000;  // about 2 MiB of text

}  // namespace

OneStatement list_invite_codes(const Input& input) {
  QueryFields fields = input.query();
  std::optional<std::string> part = fields.text("q", {.max = 254});
  Page page = Input::page_of(fields, "cursor");
  fields.check();
  return OneStatement::items(
      input, query::AdminInviteCodePage{.q = part, .limit = page.limit, .before = page.before},
      {.limit = page.limit, .cursor_name = "cursor"});
}

OneStatement show_invite_code(const Input& input) {
  return OneStatement::row(
      query::AdminInviteCodeShow{.invite_code_id = input.path_value("invite_code_id")});
}

OneStatement update_invite_code(const Input& input) {
  Fields fields = input.body();
  JsonWriter changes;
  changes.begin_object();
  std::optional<int64_t> max_uses = fields.optional_integer("max_uses", uses_bounds);
  if (max_uses) changes.member("max_uses", *max_uses);
  std::optional<bool> is_active = fields.optional_boolean("is_active");
  if (is_active) changes.member("is_active", *is_active);
  changes.end_object();
  fields.check_patch();
  return OneStatement::row(query::AdminInviteCodeUpdate{
      .invite_code_id = input.path_value("invite_code_id"), .changes = changes.take()});
}

OneStatement list_referrals(const Input& input) {
  QueryFields fields = input.query();
  std::optional<std::string> inviter = fields.id("inviter_user_id");
  Page page = Input::page_of(fields, "cursor");
  fields.check();
  return OneStatement::items(
      input,
      query::ReferralPage{.inviter_user_id = inviter, .limit = page.limit, .before = page.before},
      {.limit = page.limit, .cursor_name = "cursor"});
}

OneStatement show_referral_tree(const Input& input) {
  QueryFields fields = input.query();
  std::string root = fields.required_id("user_id");
  fields.check();
  return OneStatement::row(query::ReferralTree{.user_id = root, .nodes_max = tree_nodes_max});
}

}  // namespace hostler
