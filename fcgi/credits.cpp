// Credits: the account and ledger of an organization, and what administrators do to them.
// Statements: sql/queries/credits.sql.
#include "queries/credits.h"
#include "fcgi/handlers.h"
#include "fcgi/input.h"
#include "fcgi/one_statement.h"
#include "fcgi/services.h"

namespace hostler {
namespace {

constexpr TextBounds note_text{.most = 1000, .takes_control = true};

int64_t read_amount(Fields& fields) {
  int64_t amount = fields.required_integer("amount");
  const Json* given = fields.any("amount");
  bool is_zero = given != nullptr && given->is_integer() && amount == 0;
  if (is_zero) fields.fault("amount", "out_of_range", "must not be 0");
  return amount;
}

}  // namespace

Task<Response> show_own_credits(Services& services, Request& request) {
  return list_page(services, request, query::own_credits_show, {}, "cursor");
}

Task<Response> show_credits(Services& services, Request& request) {
  Query query(request);
  Params params;
  params.text(query.required_id("org_id"));
  return list_page(services, request, std::move(query), query::credits_show, std::move(params),
                   "cursor");
}

Task<Response> adjust_credits(Services& services, Request& request) {
  Fields fields = Fields::of_body(request);
  std::string org_id = fields.required_id("org_id");
  int64_t amount = read_amount(fields);
  std::optional<std::string> note = fields.optional_text("note", note_text);
  fields.check();
  Params params;
  params.text(org_id).integer(amount).text_or_null(note);
  Result adjusted = co_await services.query(request, query::credit_adjust, std::move(params));
  co_return Response::json_row(200, std::move(adjusted));
}

Task<Response> bulk_adjust_credits(Services& services, Request& request) {
  Fields fields = Fields::of_body(request);
  int64_t amount = read_amount(fields);
  std::optional<std::string> note = fields.optional_text("note", note_text);
  fields.check();
  Params params;
  params.integer(amount).text_or_null(note);
  Result adjusted = co_await services.query(request, query::credit_bulk_adjust, std::move(params));
  co_return Response::json_row(200, std::move(adjusted));
}

Task<Response> reset_all_credits(Services& services, Request& request) {
  Fields fields = Fields::of_optional_body(request);
  std::optional<std::string> note = fields.optional_text("note", note_text);
  fields.check();
  Params params;
  params.text_or_null(note);
  Result reset = co_await services.query(request, query::credit_reset_all, std::move(params));
  co_return Response::json_row(200, std::move(reset));
}

}  // namespace hostler
