// See fcgi/one_statement.h.
#include "fcgi/one_statement.h"

#include <utility>

namespace hostler {

Task<Response> one_row(Services& services, Request& request, const Statement& statement,
                       Params params) {
  Result row = co_await services.query(request, statement, std::move(params));
  co_return Response::json_row(200, std::move(row));
}

Task<Response> list_page(Services& services, Request& request, const Statement& statement,
                         Params params, std::string_view cursor_name) {
  return list_page(services, request, Query(request), statement, std::move(params), cursor_name);
}

Task<Response> list_page(Services& services, Request& request, Query query,
                         const Statement& statement, Params params, std::string_view cursor_name) {
  int64_t limit = query.limit();
  std::optional<std::string> cursor = query.id(cursor_name);
  query.check();
  params.integer(limit).text_or_null(cursor);
  Result page = co_await services.query(request, statement, std::move(params));
  co_return page_response(request, std::move(page), cursor_name);
}

}  // namespace hostler
