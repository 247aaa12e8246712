// From which addresses an organization may be used. Statements: sql/queries/ip_rules.sql. The rules
// are enforced where callers are authenticated (sql: authenticate), not here.
#include "queries/ip_rules.h"
#include "fcgi/api/handlers.h"
#include "fcgi/http/input.h"
#include "lib/net/client_address.h"

namespace hostler {
namespace {

constexpr TextBounds cidr_text{.min = 1, .max = 50, .trims = true};

// In the form in which rules are stored, or empty after a fault.
std::string read_cidr(Fields& fields) {
  std::string text = fields.required_text("cidr", cidr_text);
  if (text.empty()) return {};
  std::optional<std::string> canonical = net::canonical_network(text);
  if (!canonical) fields.fault("cidr", "bad_format", "must be an address or a CIDR");
  return canonical.value_or("");
}

std::string read_address(QueryFields& fields) {
  std::string text = fields.required_text("address", {.min = 1, .max = 50, .trims = true});
  if (text.empty()) return {};
  std::optional<net::IpAddress> address = net::parse_hop(text);
  if (!address) fields.fault("address", "bad_format", "must be an IP address");
  return address ? address->text() : "";
}

}  // namespace

OneStatement create_ip_rule(const Input& input) {
  Fields fields = input.body();
  query::IpRuleCreate wanted{.type = fields.required_choice("type", {"allowlist", "blocklist"}),
                             .cidr = read_cidr(fields),
                             .note = fields.nullable_text("note", {.max = 1000}).value,
                             .is_forced = fields.optional_boolean("force").value_or(false)};
  fields.check();
  return OneStatement::row(std::move(wanted), 201);
}

OneStatement list_ip_rules(const Input& input) {
  Page page = input.page();
  return OneStatement::items(input, query::IpRulePage{.limit = page.limit, .before = page.before},
                             {.limit = page.limit});
}

OneStatement check_ip_rules(const Input& input) {
  QueryFields fields = input.query();
  query::IpRuleCheck asked{.address = read_address(fields)};
  fields.check();
  return OneStatement::row(std::move(asked));
}

OneStatement delete_ip_rule(const Input& input) {
  QueryFields fields = input.query();
  bool is_forced = fields.boolean("force").value_or(false);
  fields.check();
  return OneStatement::no_content(
      query::IpRuleDelete{.rule_id = input.path_value("rule_id"), .is_forced = is_forced});
}

}  // namespace hostler
