// The platform at a glance, for platform administrators: its numbers and its daemons. Statements:
// sql/queries/admin_overview.sql.
#include "queries/admin_overview.h"
#include "fcgi/api/handlers.h"

namespace hostler {

OneStatement show_dashboard(const Input&) { return OneStatement::row(query::DashboardShow{}); }

OneStatement list_nodes(const Input&) { return OneStatement::row(query::NodeList{}); }

}  // namespace hostler
