// Invitation codes and referrals, for platform administrators. Statements:
// sql/queries/admin_referrals.sql.
#include "queries/admin_referrals.h"
#include "fcgi/handlers.h"
#include "fcgi/input.h"
#include "fcgi/one_statement.h"
#include "fcgi/services.h"

namespace hostler {
namespace {

constexpr Bounds uses_bounds{0, 1'000'000};
constexpr int64_t tree_nodes_max = 10'000;  // about 2 MiB of text

}  // namespace

Task<Response> list_invite_codes(Services& services, Request& request) {
  Query query(request);
  Params params;
  params.text_or_null(query.text("q", {.most = 254}));
  return list_page(services, request, std::move(query), query::admin_invite_code_page,
                   std::move(params), "cursor");
}

Task<Response> show_invite_code(Services& services, Request& request) {
  return one_row(services, request, query::admin_invite_code_show,
                 Params().text(request.path_value("invite_code_id")));
}

Task<Response> update_invite_code(Services& services, Request& request) {
  Fields fields = Fields::of_body(request);
  JsonWriter changes;
  changes.begin_object();
  std::optional<int64_t> max_uses = fields.optional_integer("max_uses", uses_bounds);
  if (max_uses) changes.member("max_uses", *max_uses);
  std::optional<bool> is_active = fields.optional_boolean("is_active");
  if (is_active) changes.member("is_active", *is_active);
  changes.end_object();
  fields.check_patch();
  Params params;
  params.text(request.path_value("invite_code_id")).text(changes.take());
  Result changed =
      co_await services.query(request, query::admin_invite_code_update, std::move(params));
  co_return Response::json_row(200, std::move(changed));
}

Task<Response> list_referrals(Services& services, Request& request) {
  Query query(request);
  Params params;
  params.text_or_null(query.id("inviter_user_id"));
  return list_page(services, request, std::move(query), query::referral_page, std::move(params),
                   "cursor");
}

Task<Response> show_referral_tree(Services& services, Request& request) {
  Query query(request);
  std::string root = query.required_id("user_id");
  query.check();
  Params params;
  params.text(root).integer(tree_nodes_max);
  return one_row(services, request, query::referral_tree, std::move(params));
}

}  // namespace hostler
