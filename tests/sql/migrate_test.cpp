// hostlerctl's setup-database and migrate on a real cluster: what they make, repeat and refuse. The
// folders that they read here have the layout of sql/.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include <fmt/format.h>

#include "lib/crypto.h"
#include "lib/error.h"
#include "queries/health.h"
#include "schema_version.h"
#include "tests/support/eventually.h"
#include "tests/support/rigs/database.h"
#include "tests/support/rigs/run_program.h"

namespace hostler {
namespace {

using testing::HasSubstr;
using testing::Not;
using namespace testing_support;

class Migrate : public testing::Test {
 protected:
  Migrate() : name_(new_database_name()), folder_(testing::TempDir() + name_) {
    std::filesystem::create_directories(folder_ + "/schema");
    std::filesystem::create_directories(folder_ + "/migrations");
  }
  ~Migrate() override {
    drop_database(name_);
    std::filesystem::remove_all(folder_);
  }

  ProgramRun set_up() {
    return run_ctl({"setup-database", "--superuser-url", test_cluster_url(), "--database", name_});
  }
  std::string url(const std::string& user = "") const {
    return postgres::conninfo_with(
        test_cluster_url(),
        user.empty()
            ? std::vector<std::pair<std::string, std::string>>{{"dbname", name_}}
            : std::vector<std::pair<std::string, std::string>>{{"dbname", name_}, {"user", user}});
  }
  ProgramRun migrate(std::vector<std::string> more = {}, const std::string& user = "") {
    more.insert(more.begin(), "migrate");
    return run_ctl(more, {"HOSTLER_DATABASE_URL=" + url(user)});
  }
  ProgramRun migrate_folder(std::vector<std::string> more = {}) {
    more.insert(more.end(), {"--directory", folder_});
    return migrate(more);
  }
  void write(const std::string& file, const std::string& text) {
    std::ofstream(folder_ + "/" + file) << text;
  }
  // The least schema: what migrate itself needs, and one topic more.
  void write_first() {
    write("VERSION", "00001\n");
    write("schema/order", "foundation\nwords\n");
    write("schema/foundation.sql",
          "CREATE TABLE schema_migrations (version text PRIMARY KEY, name text NOT NULL, checksum "
          "bytea NOT NULL, "
          "compatible_from text NOT NULL, applied_at timestamptz NOT NULL DEFAULT "
          "clock_timestamp());\n"
          "CREATE TABLE schema_functions (is_only boolean PRIMARY KEY DEFAULT true, checksum bytea "
          "NOT NULL, "
          "applied_at timestamptz NOT NULL DEFAULT clock_timestamp());\n"
          "CREATE OR REPLACE FUNCTION rfc3339(t timestamptz) RETURNS text LANGUAGE sql AS $$\n    "
          "SELECT t::text\n$$;\n");
    write_word("first");
    write("migrations/00001_before.sql", "SELECT 'what leads to the first version';");
  }
  void write_word(const std::string& word) {
    write("schema/words.sql",
          "-- The word.\nCREATE OR REPLACE FUNCTION word() RETURNS text LANGUAGE sql AS $$\n    "
          "SELECT '" +
              word + "'\n$$;\nREVOKE EXECUTE ON FUNCTION word FROM PUBLIC;\n");
  }
  // A further version: name without ".sql".
  void write_migration(const std::string& name, const std::string& text) {
    write("VERSION", name.substr(0, 5) + "\n");
    write("migrations/" + name + ".sql", text);
  }
  std::string ask(const std::string& question) {
    return std::string(postgres::DbSession(url(), "migrate test").run_text(question).text());
  }

  std::string name_;
  std::string folder_;
};

TEST_F(Migrate, AppliesAllToAnEmptyDatabaseAndNothingAgain) {
  EXPECT_EQ(set_up().status, 0);
  ProgramRun first = migrate();
  ASSERT_EQ(first.status, 0) << first.err;
  EXPECT_THAT(first.out, HasSubstr("00001  the whole schema … applied"));
  EXPECT_EQ(ask("SELECT max(version) FROM schema_migrations"), schema_version_expected);
  ProgramRun second = migrate();
  EXPECT_EQ(second.status, 0);
  EXPECT_THAT(second.out, HasSubstr("Nothing to do"));
  EXPECT_THAT(migrate({"--status"}).out, Not(HasSubstr("missing")));
}

TEST_F(Migrate, IsPreparedByNobodyWhoMayNotMakeWhatIsMissing) {
  ASSERT_EQ(set_up().status, 0);
  std::vector<std::string> words = {
      "setup-database", "--superuser-url",
      postgres::conninfo_with(test_cluster_url(), {{"user", "hostler_runner"}}), "--database",
      name_ + "_other"};
  ProgramRun refused = run_ctl(words);
  EXPECT_EQ(refused.status, 77);
  EXPECT_THAT(refused.err, HasSubstr("the role hostler_runner may not create roles and databases"));
}

TEST_F(Migrate, IsPreparedWhateverTheSettingsAre) {
  EXPECT_EQ(run_ctl({"setup-database", "--superuser-url", test_cluster_url(), "--database", name_},
                    {"HOSTLER_NO_SUCH=1"})
                .status,
            0);
}

TEST_F(Migrate, GivesEverythingToTheOwner) {
  set_up();
  ASSERT_EQ(migrate().status, 0);
  EXPECT_EQ(ask("SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace "
                "WHERE nspname = 'public' AND pg_get_userbyid(relowner) <> 'hostler_owner'"),
            "0");
}

TEST_F(Migrate, SaysWhatItWouldDoWithoutDoingIt) {
  set_up();
  ProgramRun run = migrate({"--dry-run"});
  EXPECT_EQ(run.status, 0);
  EXPECT_THAT(run.out, HasSubstr("00001  the whole schema would be applied"));
  EXPECT_EQ(ask("SELECT to_regclass('schema_migrations') IS NULL"), "t");
}

TEST_F(Migrate, PrintsItsStatusAsJson) {
  set_up();
  write_first();
  ASSERT_EQ(migrate_folder().status, 0);
  write_migration("00002_second", "CREATE TABLE second (id int);");
  ProgramRun run = migrate_folder({"--status", "-o", "json"});
  EXPECT_THAT(run.out, HasSubstr(R"({"version":"00001","name":"before","applied":true,)"));
  EXPECT_THAT(
      run.out,
      HasSubstr(R"({"version":"00002","name":"second","applied":false,"applied_at":null})"));
}

TEST_F(Migrate, RefusesAnAppliedMigrationWithAnotherText) {
  set_up();
  write_first();
  write_migration("00002_second", "CREATE TABLE second (id int);");
  ASSERT_EQ(migrate_folder().status, 0);
  write_migration("00002_second", "CREATE TABLE second (id bigint);");
  ProgramRun run = migrate_folder();
  EXPECT_EQ(run.status, 65);
  EXPECT_THAT(run.err, HasSubstr("migration 00002 (second) was applied with another text"));
}

// Functions are no part of a version's steps: another text replaces them, and no step is made
// again.
TEST_F(Migrate, ReplacesTheFunctionsWhenTheirTextIsAnother) {
  set_up();
  write_first();
  ASSERT_EQ(migrate_folder().status, 0);
  EXPECT_EQ(ask("SELECT word()"), "first");
  write_word("other");
  EXPECT_THAT(migrate_folder({"--dry-run"}).out,
              HasSubstr("00001  the functions would be applied"));
  EXPECT_EQ(ask("SELECT word()"), "first");
  ProgramRun run = migrate_folder();
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(ask("SELECT word()"), "other");
  EXPECT_EQ(ask("SELECT count(*) FROM schema_migrations"), "1");
  EXPECT_THAT(migrate_folder().out, HasSubstr("Nothing to do"));
}

TEST_F(Migrate, ReplacesTheFunctionsInTheTransactionOfTheLastStep) {
  set_up();
  write_first();
  ASSERT_EQ(migrate_folder().status, 0);
  write_migration("00002_second", "CREATE TABLE second (id int);");
  write("schema/words.sql",
        "CREATE OR REPLACE FUNCTION word() RETURNS bigint LANGUAGE sql AS $$\n    SELECT 1\n$$;\n");
  EXPECT_EQ(migrate_folder().status, 70)
      << "the type of a function's answer does not change by replacing it";
  EXPECT_EQ(ask("SELECT to_regclass('second') IS NULL AND word() = 'first'"), "t");
  write_migration("00002_second", "CREATE TABLE second (id int);\nDROP FUNCTION word();");
  ASSERT_EQ(migrate_folder().status, 0);
  EXPECT_EQ(ask("SELECT word() FROM schema_migrations WHERE version = '00002'"), "1");
}

TEST_F(Migrate, RefusesADatabaseOfABuildBetweenReleases) {
  set_up();
  write_first();
  postgres::DbSession(url(), "migrate test")
      .run_text(
          "CREATE TABLE schema_migrations AS SELECT '00046' AS version, 'x' AS name, ''::bytea AS "
          "checksum, "
          "'00046' AS compatible_from, now() AS applied_at; "
          "CREATE FUNCTION rfc3339(t timestamptz) RETURNS text LANGUAGE sql AS $$ SELECT t::text "
          "$$; "
          "ALTER TABLE schema_migrations OWNER TO hostler_owner");
  ProgramRun run = migrate_folder();
  EXPECT_EQ(run.status, 65);
  EXPECT_THAT(run.err, HasSubstr("a build between releases (00046)"));
}

TEST_F(Migrate, RefusesADatabaseThatIsNewer) {
  set_up();
  write_first();
  write_migration("00002_second", "CREATE TABLE second (id int);");
  ASSERT_EQ(migrate_folder().status, 0);
  std::filesystem::remove(folder_ + "/migrations/00002_second.sql");
  write("VERSION", "00001\n");
  ProgramRun run = migrate_folder();
  EXPECT_EQ(run.status, 65);
  EXPECT_THAT(run.err, HasSubstr("newer than this program's 00001"));
  EXPECT_THAT(run.err, HasSubstr("upgrade Hostler on this host"));
}

// Facts about the schema for programs that were made for `expected`.
TEST_F(Migrate, TellsOlderProgramsWhetherANewerSchemaFitsThem) {
  set_up();
  write_first();
  write_migration("00002_second", "CREATE TABLE second (id int);");
  ASSERT_EQ(migrate_folder().status, 0);
  postgres::DbSession session(url(), "migrate test");
  auto fits = [&](const std::string& expected) {
    return session.run(query::SchemaVersion{.version = expected}).front().boolean("fits");
  };
  EXPECT_TRUE(fits("00002"));
  EXPECT_FALSE(fits("00001")) << "a migration that says nothing breaks older programs";
  EXPECT_FALSE(fits("00003")) << "newer programs wait for their migration";
  write_migration("00003_third",
                  "-- Why: a test.\n-- Compatible from: 00002\nCREATE TABLE third (id int);");
  ASSERT_EQ(migrate_folder().status, 0);
  EXPECT_TRUE(fits("00002"));
  EXPECT_FALSE(fits("00001"));
  write_migration("00005_fifth", "CREATE TABLE fifth (id int);");
  write_migration("00006_sixth", "-- Compatible from: 00003\nCREATE TABLE sixth (id int);");
  ASSERT_EQ(migrate_folder().status, 0);
  EXPECT_FALSE(fits("00003")) << "the one between broke them";
}

TEST_F(Migrate, RefusesAMigrationThatIsCompatibleWithNonsense) {
  set_up();
  write_first();
  for (const char* from : {"00003", "2", "now"}) {
    write_migration("00002_second", fmt::format("-- Compatible from: {}\nSELECT 1;", from));
    ProgramRun run = migrate_folder();
    EXPECT_EQ(run.status, 65);
    EXPECT_THAT(run.err, HasSubstr("must name an earlier version"));
  }
}

// Others queue behind a migration that waits for a table: it must give up soon, and leave nothing.
TEST_F(Migrate, GivesUpWaitingForATableThatIsInUse) {
  set_up();
  write_first();
  ASSERT_EQ(migrate_folder().status, 0);
  write_migration("00002_second", "CREATE TABLE second (id int);");
  ASSERT_EQ(migrate_folder().status, 0);
  postgres::DbSession other(url(), "migrate test");
  other.run_text("BEGIN; LOCK TABLE second IN ACCESS SHARE MODE");
  write_migration("00003_third", "CREATE TABLE third (id int); ALTER TABLE second ADD more int;");
  auto begin = std::chrono::steady_clock::now();
  ProgramRun run = migrate_folder();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
  EXPECT_EQ(run.status, 75) << run.err;
  EXPECT_EQ(ask("SELECT to_regclass('third') IS NULL AND max(version) = '00002' FROM "
                "schema_migrations"),
            "t");
  other.run_text("COMMIT");
  EXPECT_EQ(migrate_folder().status, 0);
}

TEST_F(Migrate, RefusesAMigrationBelowTheNewest) {
  set_up();
  write_first();
  write_migration("00003_third", "CREATE TABLE third (id int);");
  ASSERT_EQ(migrate_folder().status, 0);
  write("migrations/00002_second.sql", "CREATE TABLE second (id int);");
  ProgramRun run = migrate_folder();
  EXPECT_EQ(run.status, 65);
  EXPECT_THAT(run.err, HasSubstr("00002 belongs before 00003"));
}

TEST_F(Migrate, TakesAMigrationBackWholeWhenItFailsAndNamesTheLine) {
  set_up();
  write_first();
  ASSERT_EQ(migrate_folder().status, 0);
  write_migration("00002_second", "CREATE TABLE second (id int);\nSELECT nonsense;\n");
  ProgramRun run = migrate_folder();
  EXPECT_EQ(run.status, 70);
  EXPECT_THAT(run.err, HasSubstr("line 2: column \"nonsense\" does not exist"));
  EXPECT_EQ(ask("SELECT to_regclass('second') IS NULL"), "t");
  EXPECT_EQ(ask("SELECT max(version) FROM schema_migrations"), "00001");
}

TEST_F(Migrate, GivesUpSoonOnALockThatSomebodyHolds) {
  set_up();
  write_first();
  ASSERT_EQ(migrate_folder().status, 0);
  postgres::DbSession holder(url(), "holder");
  holder.begin();
  holder.run_text("LOCK TABLE schema_migrations IN ACCESS SHARE MODE");
  write_migration("00002_second", "ALTER TABLE schema_migrations ADD COLUMN more int;");
  ProgramRun run = migrate_folder();
  EXPECT_EQ(run.status, 75);
  EXPECT_THAT(run.err, HasSubstr("try again"));
}

TEST_F(Migrate, WaitsForAnotherMigrateOfTheSameDatabase) {
  set_up();
  write_first();
  postgres::DbSession other(url(), "other migrate");
  other.run_text("SELECT pg_advisory_lock(hashtext('hostler migrate'))");
  ProgramRun run;
  std::thread waiting([this, &run] { run = migrate_folder(); });
  const char* refused =
      "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND database = "
      "(SELECT oid FROM pg_database WHERE datname = current_database())";
  EXPECT_TRUE(testing_support::eventually(10'000, [&] { return ask(refused) != "0"; }));
  EXPECT_EQ(ask("SELECT to_regclass('schema_migrations') IS NULL"), "t");
  other.run_text("SELECT pg_advisory_unlock_all()");
  waiting.join();
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("Waiting for another hostlerctl migrate"));
}

TEST_F(Migrate, RefusesARoleThatMayNotBeTheOwner) {
  set_up();
  ProgramRun run = migrate({}, "hostler_api");
  EXPECT_EQ(run.status, 77);
  EXPECT_THAT(run.err, HasSubstr("hostler_api may not act as hostler_owner"));
}

TEST_F(Migrate, RefusesAFolderWithoutOrWithBadNames) {
  set_up();
  EXPECT_THAT(migrate_folder().err, HasSubstr("VERSION is empty or cannot be read"));
  write_first();
  write("migrations/1_first.sql", "SELECT 1");
  EXPECT_THAT(migrate_folder().err, HasSubstr("the name must be like 00001_what.sql"));
  std::filesystem::remove(folder_ + "/migrations/1_first.sql");
  write("VERSION", "00002\n");
  EXPECT_THAT(migrate_folder().err, HasSubstr("VERSION has 00002, but the newest file of"));
  write("VERSION", "2\n");
  EXPECT_THAT(migrate_folder().err, HasSubstr("VERSION must hold five digits"));
}

TEST_F(Migrate, TellsAnUnreachableDatabaseByItsStatus) {
  ProgramRun run = migrate();
  EXPECT_EQ(run.status, 69);
  EXPECT_THAT(run.err, HasSubstr(name_));
}

TEST_F(Migrate, SetsUpRolesAndDatabaseTheSameWayEachTime) {
  EXPECT_THAT(set_up().out, HasSubstr("database " + name_ + " made"));
  ProgramRun again = set_up();
  EXPECT_EQ(again.status, 0);
  EXPECT_THAT(again.out, Not(HasSubstr("made")));
  EXPECT_EQ(ask("SELECT string_agg(rolname || rolcanlogin || rolbypassrls || rolsuper, ' ' ORDER "
                "BY rolname) "
                "FROM pg_roles WHERE rolname LIKE 'hostler%'"),
            "hostler_apitruefalsefalse hostler_ownerfalsetruefalse hostler_runnertruetruefalse");
  EXPECT_EQ(ask("SELECT count(*) FROM pg_roles WHERE rolname IN ('hostler_api', 'hostler_runner') "
                "AND 'log_min_messages=log' = ANY (rolconfig)"),
            "2");
  EXPECT_EQ(
      ask("SELECT pg_get_userbyid(datdba) FROM pg_database WHERE datname = current_database()"),
      "hostler_owner");
  EXPECT_EQ(
      ask("SELECT has_database_privilege('hostler_api', current_database(), 'CONNECT') AND NOT "
          "has_database_privilege('public', current_database(), 'CONNECT')"),
      "t");
}

TEST_F(Migrate, RefusesADatabaseOfAnotherEncoding) {
  postgres::DbSession(test_cluster_url(), "encoding")
      .run_text(fmt::format("CREATE DATABASE {} ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0",
                            name_));
  ProgramRun run = set_up();
  EXPECT_EQ(run.status, 65);
  EXPECT_THAT(run.err, HasSubstr("SQL_ASCII"));
}

}  // namespace
}  // namespace hostler
