// The audit log. Statement: sql/queries/audit.sql. Rows are written by the functions whose changes
// they tell, never here.
#include "queries/audit.h"
#include "fcgi/handlers.h"
#include "fcgi/input.h"
#include "fcgi/one_statement.h"
#include "fcgi/services.h"

namespace hostler {
namespace {

constexpr TextBounds word_bounds{.least = 1, .most = 100};

}  // namespace

Task<Response> list_audit_logs(Services& services, Request& request) {
  Query query(request);
  Params params;
  params.text_or_null(query.id("org_id"));
  params.text_or_null(query.text("action", word_bounds));
  params.text_or_null(query.id("actor_user_id"));
  params.text_or_null(query.text("target_type", word_bounds));
  params.text_or_null(query.time("since"));
  params.text_or_null(query.time("until"));
  return list_page(services, request, std::move(query), query::audit_page, std::move(params));
}

}  // namespace hostler
