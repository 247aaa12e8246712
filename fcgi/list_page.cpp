// See fcgi/list_page.h.
#include "fcgi/list_page.h"

#include <utility>

#include "fcgi/input.h"

namespace hostler {

Task<Response> list_page(Services& services, Request& request, const Statement& statement,
                         Params params, std::string_view cursor_name) {
  Query query(request);
  int64_t limit = query.limit();
  std::optional<std::string> cursor = query.id(cursor_name);
  query.check();
  params.integer(limit).text_or_null(cursor);
  Result page = co_await services.query(request, statement, std::move(params));
  co_return page_response(request, std::move(page), cursor_name);
}

}  // namespace hostler
