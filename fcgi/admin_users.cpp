// Users, for platform administrators. Statements: sql/queries/admin_users.sql.
#include <optional>
#include <utility>

#include "fcgi/handlers.h"
#include "fcgi/input.h"
#include "fcgi/services.h"
#include "queries.h"

namespace hostler {

Task<Response> list_users(Services& services, Request& request) {
  Query query(request);
  std::optional<std::string> q = query.text("q", {.most = 254});
  std::optional<std::string> status = query.choice("status", {"active", "suspended", "deleted"});
  int64_t limit = query.limit();
  std::optional<std::string> cursor = query.id("cursor");
  query.check();
  Params params;
  params.text_or_null(q).text_or_null(status).integer(limit).text_or_null(cursor);
  Result page = co_await services.query(request, query::admin_user_page, std::move(params));
  co_return page_response(request, std::move(page), "cursor");
}

Task<Response> show_user(Services& services, Request& request) {
  Params params;
  params.text(request.path_value("user_id"));
  Result found = co_await services.query(request, query::admin_user_show, std::move(params));
  co_return Response::json_row(200, std::move(found));
}

}  // namespace hostler
