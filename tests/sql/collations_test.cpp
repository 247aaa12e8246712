// Tests what indexes stand on: no order that an upgrade of the system could change. And what doctor
// and setup-database say of a database whose collation did change, or may.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include <fmt/format.h>

#include "tests/support/rigs/database.h"
#include "tests/support/rigs/run_program.h"

namespace hostler {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;
using namespace testing_support;

TEST(Collations, OfIndexesAreThatOfBytes) {
  TestDatabase database;
  postgres::DbSession session = database.as_superuser();
  postgres::Result found = session.run_text(
      "SELECT i.indexrelid::regclass::text || ': ' || pg_get_indexdef(i.indexrelid, k.n::int, true)"
      " AS line FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid "
      "JOIN pg_am am ON am.oid = c.relam AND am.amname = 'btree' "
      "CROSS JOIN unnest(i.indcollation) WITH ORDINALITY AS k (collation_oid, n) "
      "WHERE c.relnamespace = 'public'::regnamespace AND k.collation_oid <> 0 "
      "AND k.collation_oid <> 'pg_catalog.\"C\"'::regcollation ORDER BY line");
  for (int i = 0; i < found.size(); ++i) {
    ADD_FAILURE() << found[i].text("line") << ": give the column COLLATE \"C\"";
  }
}

class DoctorOfCollations : public testing::Test {
 protected:
  std::string reported() {
    return run_ctl({"doctor"}, {"HOSTLER_DATABASE_URL=" + database_.superuser_url()}).out;
  }
  TestDatabase database_;
};

TEST_F(DoctorOfCollations, FindsCollationsAsTheyWere) {
  EXPECT_THAT(reported(), ContainsRegex("ok +collations +"));
}

// State after an upgrade of ICU.
TEST_F(DoctorOfCollations, NamesTheIndexesOfACollationThatChanged) {
  database_.as_superuser().run_text(
      "UPDATE pg_collation SET collversion = '1.1' WHERE collname = 'und-x-icu'");
  std::string report = reported();
  EXPECT_THAT(report, ContainsRegex("warning +collation und-x-icu +.*1\\.1.*REINDEX.*"
                                    "ALTER COLLATION.*und-x-icu.*REFRESH VERSION.*"
                                    "user_names_pkey"));
  EXPECT_THAT(report, Not(HasSubstr("indexes have the order")));
}

// State after an upgrade of glibc; C.UTF-8 has no version, so that one is made up.
TEST_F(DoctorOfCollations, NamesTheIndexesOfADatabaseWhoseOrderChanged) {
  database_.as_superuser().run_text(fmt::format(
      "UPDATE pg_database SET datcollversion = '2.28' WHERE datname = '{}'", database_.name()));
  EXPECT_THAT(reported(),
              ContainsRegex(fmt::format("warning +database {} +.*2\\.28.*REINDEX.*ALTER DATABASE "
                                        "{} REFRESH COLLATION VERSION.*users_search",
                                        database_.name(), database_.name())));
}

TEST(SetupDatabase, RefusesADatabaseThatOrdersTextByALanguage) {
  std::string name = new_database_name();
  postgres::DbSession cluster(test_cluster_url(), "collations_test");
  cluster.run_text(
      fmt::format("CREATE DATABASE {} TEMPLATE template0 ENCODING 'UTF8' "
                  "LOCALE_PROVIDER icu ICU_LOCALE 'de' LOCALE 'C.UTF-8'",
                  name));
  for (bool is_dry : {false, true}) {
    std::vector<std::string> command{"setup-database", "--superuser-url", test_cluster_url(),
                                     "--database", name};
    if (is_dry) command.emplace_back("--dry-run");
    ProgramRun run = run_ctl(command);
    EXPECT_EQ(run.status, is_dry ? 0 : 65) << run.out << run.err;
    EXPECT_THAT(run.out + run.err, HasSubstr("exists with the locale ICU; Hostler needs C.UTF-8"));
  }
  cluster.run_text("DROP DATABASE " + name);
  ProgramRun made =
      run_ctl({"setup-database", "--superuser-url", test_cluster_url(), "--database", name});
  EXPECT_EQ(made.status, 0) << made.err;
  EXPECT_EQ(cluster
                .run_text(fmt::format("SELECT datcollate || ' ' || datctype FROM pg_database "
                                      "WHERE datname = '{}'",
                                      name))
                .text(),
            "C.UTF-8 C.UTF-8");
  drop_database(name);
}

}  // namespace
}  // namespace hostler
