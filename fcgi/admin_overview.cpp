// The platform at a glance, for platform administrators: its numbers and its daemons. Statements:
// sql/queries/admin_overview.sql.
#include "queries/admin_overview.h"
#include "fcgi/handlers.h"
#include "fcgi/services.h"

namespace hostler {

Task<Response> show_dashboard(Services& services, Request& request) {
  Result numbers = co_await services.query(request, query::dashboard_show);
  co_return Response::json_row(200, std::move(numbers));
}

Task<Response> list_nodes(Services& services, Request& request) {
  Result daemons = co_await services.query(request, query::node_list);
  co_return Response::json_row(200, std::move(daemons));
}

}  // namespace hostler
