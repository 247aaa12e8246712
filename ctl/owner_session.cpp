// Becomes hostler_owner, or says what is missing; see ctl/owner_session.h.
#include "ctl/owner_session.h"

#include <fmt/format.h>

#include "ctl/output.h"
#include "queries/health.h"
#include "queries/operator.h"
#include "schema_version.h"

namespace hostler {

OwnerSession open_as_owner(const std::string& database_url, const std::string& application_name) {
  OwnerSession owner;
  postgres::DbSession session(database_url, application_name);
  postgres::Result facts = session.run(query::OwnerFacts{});
  if (!facts.front().boolean("role_exists")) {
    owner.status = exit_no_permission;
    owner.refusal = "the role hostler_owner does not exist; run hostlerctl setup-database first";
  } else if (!facts.front().boolean("may_become")) {
    owner.status = exit_no_permission;
    owner.refusal = fmt::format(
        "the role {} may not act as hostler_owner; connect as a superuser, or ask one to make it a "
        "member: GRANT hostler_owner TO …",
        facts.front().text("session_role"));
  } else {
    session.run(query::BecomeOwner{});
    owner.session.emplace(std::move(session));
  }
  return owner;
}

OwnerSession open_migrated(const std::string& database_url, const std::string& application_name) {
  OwnerSession owner = open_as_owner(database_url, application_name);
  if (!owner.session) return owner;
  postgres::Result tables = owner.session->run(query::SchemaTables{});
  std::string version;
  if (tables.front().boolean("has_migrations")) {
    postgres::Result found =
        owner.session->run(query::SchemaVersion{.version = schema_version_expected});
    if (found.front().boolean("fits")) return owner;
    version = found.text();
  }
  owner.status = exit_bad_input;
  // That of a build between releases has higher numbers; migrate tells what it needs.
  bool is_newer = tables.front().boolean("has_functions") && version > schema_version_expected;
  owner.refusal = fmt::format("the schema is {}, this program needs {}; {}",
                              version.empty() ? "missing" : version, schema_version_expected,
                              is_newer ? newer_schema_mend : "run hostlerctl migrate");
  owner.session.reset();
  return owner;
}

}  // namespace hostler
