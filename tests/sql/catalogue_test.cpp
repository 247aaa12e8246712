// Tests what the migrations leave behind, asked of Postgres's catalogue: tenancy is enforced on
// every table that could need it, and nobody may more than they must. A new table is checked like
// the old.
#include <gtest/gtest.h>

#include "fcgi/identity/permissions.h"
#include "lib/error.h"
#include "tests/support/rigs/database.h"

namespace hostler {
namespace {

using testing_support::TestDatabase;

class Catalogue : public testing::Test {
 protected:
  // The names that the question finds, one a line; each is a fault.
  static std::string faults(const std::string& question) {
    static TestDatabase database;
    static postgres::DbSession session = database.as_superuser();
    postgres::Result found =
        session.run_text("SELECT coalesce(string_agg(name, E'\\n' ORDER BY name), '') FROM (" +
                         question + ") AS found (name)");
    return std::string(found.text());
  }
};

// Ordinary and partitioned tables of ours; partitions are reached through their parent only.
constexpr const char* our_tables =
    "pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname = 'public' "
    "WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition";

std::string of_our_tables(const std::string& condition) {
  return std::string("SELECT c.relname FROM ") + our_tables + " AND " + condition;
}

TEST_F(Catalogue, ForcesRowLevelSecurityOnEveryTableWithAnOrganization) {
  EXPECT_EQ(faults(of_our_tables("EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND "
                                 "a.attname = 'org_id' AND NOT a.attisdropped) AND NOT "
                                 "(c.relrowsecurity AND c.relforcerowsecurity)")),
            "");
}

TEST_F(Catalogue, ForcesRowLevelSecurityOnWhateverTheApiReadsOrIsOnAShortList) {
  EXPECT_EQ(
      faults(of_our_tables(
          "(has_any_column_privilege('hostler_api', c.oid, 'SELECT, INSERT, UPDATE') OR "
          "has_table_privilege('hostler_api', c.oid, 'DELETE, TRUNCATE')) "
          "AND NOT (c.relrowsecurity AND c.relforcerowsecurity) "
          // No tenant's business: what all may know.
          "AND c.relname NOT IN ('schema_migrations', 'settings', 'daemons', 'feature_flags', "
          "'plans', 'plan_entitlements')")),
      "");
}

TEST_F(Catalogue, HasAPolicyWithBothSidesOnEachSuchTable) {
  EXPECT_EQ(
      faults(of_our_tables("c.relrowsecurity AND NOT EXISTS (SELECT FROM pg_policy p WHERE "
                           "p.polrelid = c.oid AND p.polcmd = '*' AND p.polqual IS NOT NULL AND "
                           "p.polwithcheck IS NOT NULL)")),
      "");
  EXPECT_EQ(faults("SELECT polrelid::regclass || '.' || polname FROM pg_policy WHERE "
                   "polqual IS NULL OR polwithcheck IS NULL OR NOT "
                   "pg_get_expr(polqual, polrelid) LIKE '%current_org()%' OR NOT "
                   "pg_get_expr(polwithcheck, polrelid) LIKE '%current_org()%'"),
            "");
}

// Foreign keys between tables that both have an organization, without it among their columns.
constexpr const char* keys_across =
    "SELECT k.conrelid::regclass || ' ' || k.conname FROM pg_constraint k "
    "JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attname = 'org_id' "
    "JOIN pg_attribute b ON b.attrelid = k.confrelid AND b.attname = 'org_id' "
    "WHERE k.contype = 'f' AND k.conparentid = 0 AND NOT EXISTS (SELECT FROM pg_constraint c WHERE "
    "c.contype = 'f' AND c.conrelid = k.conrelid AND c.confrelid = k.confrelid AND c.conkey @> "
    "k.conkey AND c.confkey[array_position(c.conkey, a.attnum)] = b.attnum)";

TEST_F(Catalogue, LetsNoRowPointIntoAnotherOrganization) {
  EXPECT_EQ(faults(std::string(keys_across) +
                   // A run's model and persona are the organization's own or the platform's, as
                   // route_resolve() and persona_resolve() choose them. Organizations connect with
                   // the platform's MCP servers too.
                   " AND k.conname NOT IN ('runs_model_id_fkey', 'runs_persona_row_id_fkey', "
                   "'mcp_connections_server_id_fkey', 'mcp_authorizations_server_id_fkey', "
                   "'mcp_tasks_server_id_fkey')"),
            "")
      << "say FOREIGN KEY (org_id, x_id) REFERENCES xs (org_id, id); xs needs UNIQUE (org_id, id)";
}

// The daemon names no caller: what asks for one is not its.
TEST_F(Catalogue, LetsTheDaemonActForNoAdministratorAndReadNoPasswordHash) {
  EXPECT_EQ(faults("SELECT p.proname FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace "
                   "WHERE n.nspname = 'public' AND p.prosecdef AND p.prosrc ~ "
                   "'need_platform_admin\\(|scope_org\\(|org_hold\\(' AND "
                   "has_function_privilege('hostler_runner', p.oid, 'EXECUTE')"),
            "");
  EXPECT_EQ(faults("SELECT a.attname FROM pg_attribute a WHERE a.attrelid = 'users'::regclass AND "
                   "a.attname IN ('password_hash', 'search_text') AND "
                   "has_column_privilege('hostler_runner', 'users', a.attname, 'SELECT')"),
            "");
}

TEST_F(Catalogue, LetsTheApiReachNoPartitionPastItsParent) {
  EXPECT_EQ(faults("SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
                   "WHERE n.nspname = 'public' AND c.relispartition AND c.relkind = 'r' AND "
                   "has_any_column_privilege('hostler_api', c.oid, 'SELECT, INSERT, UPDATE')"),
            "");
}

TEST_F(Catalogue, HasNoViewThatLooksPastRowLevelSecurity) {
  // A view reads as its owner unless it says otherwise, and the owner bypasses.
  EXPECT_EQ(faults("SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
                   "WHERE n.nspname = 'public' AND c.relkind IN ('v', 'm') AND NOT "
                   "coalesce('security_invoker=true' = ANY (c.reloptions), false)"),
            "");
}

// An INSERT merges the entries that others left, while it holds its locks: that is bounded.
TEST_F(Catalogue, LeavesFewEntriesOfAnIndexOfWordsToALaterInsert) {
  EXPECT_EQ(faults("SELECT c.relname FROM pg_class c JOIN pg_am a ON a.oid = c.relam WHERE "
                   "a.amname = 'gin' AND NOT coalesce(c.reloptions && "
                   "ARRAY['gin_pending_list_limit=8192', 'fastupdate=off'], false)"),
            "");
}

// Only our functions, not those of an extension.
constexpr const char* our_functions =
    "SELECT p.oid::regprocedure::text FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace "
    "AND n.nspname = 'public' WHERE NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = "
    "'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e')";

TEST_F(Catalogue, FixesTheSearchPathOfEveryDefinerFunction) {
  EXPECT_EQ(
      faults(std::string(our_functions) +
             " AND p.prosecdef AND NOT EXISTS (SELECT FROM unnest(p.proconfig) AS c "
             "WHERE c LIKE 'search_path=%' AND c NOT LIKE '%$user%' AND c NOT LIKE '%pg_temp, %')"),
      "");
}

TEST_F(Catalogue, GivesNoFunctionToEverybody) {
  EXPECT_EQ(faults(std::string(our_functions) +
                   " AND (p.proacl IS NULL OR EXISTS (SELECT FROM aclexplode(p.proacl) AS a WHERE "
                   "a.grantee = 0))"),
            "");
}

TEST_F(Catalogue, LetsTheServicesOwnNothing) {
  EXPECT_EQ(faults("SELECT pg_describe_object(d.classid, d.objid, 0) FROM pg_shdepend d "
                   "JOIN pg_roles r ON r.oid = d.refobjid AND d.deptype = 'o' "
                   "WHERE r.rolname IN ('hostler_api', 'hostler_runner') AND d.dbid = "
                   "(SELECT oid FROM pg_database WHERE datname = current_database())"),
            "");
  EXPECT_EQ(faults(of_our_tables("pg_get_userbyid(c.relowner) <> 'hostler_owner'")), "");
}

TEST_F(Catalogue, LetsTheServicesMakeNothing) {
  EXPECT_EQ(faults("SELECT r.rolname FROM pg_roles r WHERE r.rolname IN ('hostler_api', "
                   "'hostler_runner') AND (has_schema_privilege(r.oid, 'public', 'CREATE') OR "
                   "has_database_privilege(r.oid, current_database(), 'CREATE') OR "
                   "has_database_privilege(r.oid, current_database(), 'TEMPORARY') OR "
                   "pg_has_role(r.oid, 'hostler_owner', 'MEMBER'))"),
            "");
}

TEST_F(Catalogue, KeepsTheLedgerAndTheAuditLogAppendOnly) {
  EXPECT_EQ(faults("SELECT r.rolname || ' ' || t FROM pg_roles r, unnest(ARRAY["
                   "'credit_transactions', 'audit_logs']) AS t WHERE r.rolname IN ('hostler_api', "
                   "'hostler_runner') AND (has_any_column_privilege(r.oid, t, 'UPDATE') OR "
                   "has_table_privilege(r.oid, t, 'DELETE, TRUNCATE'))"),
            "");
}

TEST_F(Catalogue, HasAnIndexBehindEveryForeignKeyOfATenantTable) {
  // Without one, deleting or locking the row it points at reads the whole table.
  EXPECT_EQ(
      faults("SELECT k.conrelid::regclass || ' ' || k.conname FROM pg_constraint k WHERE "
             "k.contype = 'f' AND k.conrelid::regclass::text IN ('messages', 'runs', "
             "'access_tokens', 'refresh_tokens', 'sessions', 'run_turns', 'run_tool_results', "
             "'run_asked_calls', 'run_inputs', 'run_histories', 'run_left_calls', 'user_names', "
             "'credit_transactions') AND "
             "k.confdeltype <> 'a' AND NOT "
             "EXISTS (SELECT FROM pg_index i WHERE i.indrelid = k.conrelid AND "
             "(i.indkey::int2[])[0:cardinality(k.conkey) - 1] @> k.conkey)"),
      "");
}

TEST_F(Catalogue, GivesAnOwnerEveryPermissionThatClientsMayName) {
  std::string names;
  for (std::string_view name : permission_names) names.append(name) += '\n';
  EXPECT_EQ(
      faults("SELECT unnest(role_permissions('owner')) EXCEPT SELECT unnest(string_to_array('" +
             names + "', E'\n'))"),
      "");
  EXPECT_EQ(faults("SELECT unnest(string_to_array(rtrim('" + names +
                   "', E'\n'), E'\n')) EXCEPT SELECT unnest(role_permissions('owner'))"),
            "");
}

// Each of these tests asks for faults and hopes for none: this one shows that they can be found.
TEST(CatalogueQuestions, FindWhatTheyAreFor) {
  TestDatabase database;
  postgres::DbSession session = database.as_superuser();
  session.run_text("CREATE TABLE leak (org_id uuid, secret text)");
  session.run_text("GRANT SELECT ON leak TO hostler_api");
  session.run_text(
      "CREATE FUNCTION leaky() RETURNS int SECURITY DEFINER LANGUAGE sql AS 'SELECT 1'");
  EXPECT_EQ(session
                .run_text(of_our_tables("NOT (c.relrowsecurity AND c.relforcerowsecurity) AND "
                                        "has_any_column_privilege('hostler_api', c.oid, 'SELECT') "
                                        "AND c.relname = 'leak'"))
                .size(),
            1);
  session.run_text("CREATE TABLE across (org_id uuid, run_id uuid REFERENCES runs)");
  EXPECT_EQ(
      session.run_text(std::string(keys_across) + " AND k.conrelid = 'across'::regclass").size(),
      1);
  EXPECT_EQ(session
                .run_text(std::string(our_functions) +
                          " AND p.prosecdef AND p.proconfig IS NULL AND p.proacl IS NULL")
                .size(),
            1);
}

}  // namespace
}  // namespace hostler
