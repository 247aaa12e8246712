// Mail domains that the platform grants to organizations. Statements:
// sql/queries/identity_providers.sql.
#include <optional>
#include <utility>

#include "fcgi/api/handlers.h"
#include "fcgi/http/input.h"
#include "lib/idna.h"
#include "queries/identity_providers.h"

namespace hostler {
namespace {

constexpr TextBounds domain_bounds{.min = 1, .max = 253, .trims = true};

}  // namespace

OneStatement list_org_domains(const Input& input) {
  QueryFields fields = input.query();
  std::optional<std::string> org_id = fields.id("org_id");
  Page page = Input::page_of(fields);
  fields.check();
  return OneStatement::items(
      input, query::OrgDomainPage{.of_org = org_id, .limit = page.limit, .before = page.before},
      {.limit = page.limit});
}

OneStatement grant_org_domain(const Input& input) {
  Fields fields = input.body();
  std::string org_id = fields.required_id("org_id");
  std::string written = fields.required_text("domain", domain_bounds);
  std::optional<std::string> domain = ascii_domain(written);
  bool is_domain = domain && domain->find('.') != std::string::npos;
  if (!written.empty() && !is_domain) {
    fields.fault("domain", "bad_format", "must be a domain of mail addresses, such as example.com");
  }
  fields.check();
  return OneStatement::row(query::OrgDomainGrant{.of_org = org_id, .domain = *domain}, 201);
}

OneStatement revoke_org_domain(const Input& input) {
  return OneStatement::no_content(
      query::OrgDomainRevoke{.domain_id = input.path_value("domain_id")});
}

}  // namespace hostler
