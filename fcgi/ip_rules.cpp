// From which addresses an organization may be used. Statements: sql/queries/ip_rules.sql. The rules
// are enforced where callers are authenticated (sql: authenticate), not here.
#include "queries/ip_rules.h"
#include "fcgi/handlers.h"
#include "fcgi/input.h"
#include "fcgi/one_statement.h"
#include "fcgi/services.h"
#include "lib/client_address.h"

namespace hostler {
namespace {

constexpr TextBounds cidr_text{.least = 1, .most = 50, .trims = true};

// In the form in which rules are stored, or empty after a fault.
std::string read_cidr(Fields& fields) {
  std::string text = fields.required_text("cidr", cidr_text);
  if (text.empty()) return {};
  std::optional<std::string> canonical = canonical_network(text);
  if (!canonical) fields.fault("cidr", "bad_format", "must be an address or a CIDR");
  return canonical.value_or("");
}

}  // namespace

Task<Response> create_ip_rule(Services& services, Request& request) {
  Fields fields = Fields::of_body(request);
  std::string type = fields.required_choice("type", {"allowlist", "blocklist"});
  std::string cidr = read_cidr(fields);
  std::optional<std::string> note = fields.optional_text("note", {.most = 1000});
  bool is_forced = fields.optional_boolean("force").value_or(false);
  fields.check();
  Params params;
  params.text(type).text(cidr).text_or_null(note).boolean(is_forced);
  Result made = co_await services.query(request, query::ip_rule_create, std::move(params));
  co_return Response::json_row(201, std::move(made));
}

Task<Response> list_ip_rules(Services& services, Request& request) {
  return list_page(services, request, query::ip_rule_page);
}

Task<Response> delete_ip_rule(Services& services, Request& request) {
  Query query(request);
  bool is_forced = query.boolean("force").value_or(false);
  query.check();
  Params params;
  params.text(request.path_value("rule_id")).boolean(is_forced);
  co_await services.query(request, query::ip_rule_delete, std::move(params));
  co_return Response::no_content();
}

}  // namespace hostler
