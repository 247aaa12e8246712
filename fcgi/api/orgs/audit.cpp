// The audit log. Statement: sql/queries/audit.sql. Rows are written by the functions whose changes
// they tell, never here.
#include "queries/audit.h"
#include "fcgi/api/handlers.h"
#include "fcgi/http/input.h"

namespace hostler {
namespace {

constexpr TextBounds word_bounds{.min = 1, .max = 100};
constexpr TextBounds id_bounds{.min = 1, .max = 200};

}  // namespace

OneStatement list_audit_logs(const Input& input) {
  QueryFields fields = input.query();
  query::AuditPage wanted{.org_id = fields.id("org_id"),
                          .action = fields.text("action", word_bounds),
                          .actor_user_id = fields.id("actor_user_id"),
                          .target_type = fields.text("target_type", word_bounds),
                          .target_id = fields.text("target_id", id_bounds),
                          .since = fields.time("since"),
                          .until = fields.time("until"),
                          .limit = fields.limit(),
                          .before = fields.id("before")};
  fields.check();
  return OneStatement::page(input, std::move(wanted));
}

}  // namespace hostler
