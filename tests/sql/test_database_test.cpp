// A test's own database: has the schema, is nobody else's, and is gone afterwards.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "lib/error.h"
#include "queries/health.h"
#include "schema_version.h"
#include "tests/support/rigs/database.h"

namespace hostler {
namespace {

using testing_support::TestDatabase;

bool exists(const std::string& name) {
  postgres::DbSession cluster(testing_support::test_cluster_url(), "test database test");
  return !cluster.run_text(fmt::format("SELECT FROM pg_database WHERE datname = '{}'", name))
              .empty();
}

TEST(TestDatabases, HaveTheSchemaAndShareNothing) {
  TestDatabase one;
  TestDatabase other;
  EXPECT_NE(one.name(), other.name());
  EXPECT_EQ(one.as_api().run(query::SchemaVersion{.version = schema_version_expected}).text(),
            schema_version_expected);
  one.as_superuser().run_text("CREATE TABLE only_here (id int)");
  EXPECT_EQ(other.as_superuser().run_text("SELECT to_regclass('only_here') IS NULL").text(), "t");
}

TEST(TestDatabases, AreGoneAfterwardsEvenWhenSomebodyIsConnected) {
  std::optional<TestDatabase> database(std::in_place);
  std::string name = database->name();
  postgres::DbSession connected = database->as_runner();
  EXPECT_TRUE(exists(name));
  database.reset();
  EXPECT_FALSE(exists(name));
}

TEST(TestDatabases, AreReachedAsEachRole) {
  TestDatabase database;
  EXPECT_EQ(database.as_api().run_text("SELECT current_user").text(), "hostler_api");
  EXPECT_EQ(database.as_runner().run_text("SELECT current_user").text(), "hostler_runner");
}

TEST(ConninfoWith, ReplacesValuesOfAUrlAndOfAString) {
  EXPECT_EQ(postgres::conninfo_with("postgresql:///a?host=/x&user=u", {{"dbname", "b"}}),
            "user='u' dbname='b' host='/x'");
  EXPECT_EQ(postgres::conninfo_with(R"(dbname=a host='it\'s')", {{"user", R"(o'b\c)"}}),
            R"(user='o\'b\\c' dbname='a' host='it\'s')");
  EXPECT_THROW(postgres::conninfo_with("frob", {}), Error);
}

}  // namespace
}  // namespace hostler
