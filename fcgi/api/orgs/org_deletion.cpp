// An organization is deleted and restored, and an app forgets one of its users. Statements:
// sql/queries/orgs.sql.
#include "fcgi/api/handlers.h"
#include "fcgi/api/runs/marks.h"
#include "fcgi/http/input.h"
#include "queries/orgs.h"

namespace hostler {

OneStatement delete_org(const Input& input) {
  Fields fields = input.body();
  std::string slug = fields.required_text("slug", {.min = 1, .max = 64});
  fields.check();
  int64_t days = input.settings.integer("privacy.org_delete_days");
  return OneStatement::row(query::OrgDelete{.slug = slug, .privacy_org_delete_days = days}, 202);
}

OneStatement restore_org(const Input& input) {
  return OneStatement::row(query::OrgRestore{.org_id = input.path_value("org_id")});
}

OneStatement delete_end_user(const Input& input) {
  Fields fields = input.body();
  std::string end_user = fields.required_text("end_user", end_user_bounds);
  fields.check();
  return OneStatement::row(query::EndUserDelete{.end_user = end_user}, 202);
}

}  // namespace hostler
