// Invitation codes and referrals, for platform administrators. Statements:
// sql/queries/admin_referrals.sql.
#include "queries/admin_referrals.h"
#include "fcgi/handlers.h"
#include "fcgi/input.h"
#include "fcgi/services.h"

namespace hostler {
namespace {

constexpr Bounds uses_bounds{0, 1'000'000};
constexpr int64_t tree_nodes_max = 10'000;  // about 2 MiB of text

}  // namespace

Task<Response> list_invite_codes(Services& services, Request& request) {
  Query query(request);
  std::optional<std::string> q = query.text("q", {.most = 254});
  int64_t limit = query.limit();
  std::optional<std::string> cursor = query.id("cursor");
  query.check();
  Params params;
  params.text_or_null(q).integer(limit).text_or_null(cursor);
  Result page = co_await services.query(request, query::admin_invite_code_page, std::move(params));
  co_return page_response(request, std::move(page), "cursor");
}

Task<Response> show_invite_code(Services& services, Request& request) {
  Params params;
  params.text(request.path_value("invite_code_id"));
  Result found = co_await services.query(request, query::admin_invite_code_show, std::move(params));
  co_return Response::json_row(200, std::move(found));
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
  std::optional<std::string> inviter = query.id("inviter_user_id");
  int64_t limit = query.limit();
  std::optional<std::string> cursor = query.id("cursor");
  query.check();
  Params params;
  params.text_or_null(inviter).integer(limit).text_or_null(cursor);
  Result page = co_await services.query(request, query::referral_page, std::move(params));
  co_return page_response(request, std::move(page), "cursor");
}

Task<Response> show_referral_tree(Services& services, Request& request) {
  Query query(request);
  std::optional<std::string> root = query.id("user_id");
  if (request.query_value("user_id") == nullptr) query.fault("user_id", "required", "is required");
  query.check();
  Params params;
  params.text(*root).integer(tree_nodes_max);
  Result tree = co_await services.query(request, query::referral_tree, std::move(params));
  co_return Response::json_row(200, std::move(tree));
}

}  // namespace hostler
