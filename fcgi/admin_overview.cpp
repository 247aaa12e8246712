// The platform at a glance, for platform administrators: its numbers and its daemons. Statements:
// sql/queries/admin_overview.sql.
#include "queries/admin_overview.h"
#include "fcgi/handlers.h"
#include "fcgi/one_statement.h"
#include "fcgi/services.h"

namespace hostler {

Task<Response> show_dashboard(Services& services, Request& request) {
  return one_row(services, request, query::dashboard_show);
}

Task<Response> list_nodes(Services& services, Request& request) {
  return one_row(services, request, query::node_list);
}

}  // namespace hostler
