// hostlerctl setup on further hosts: they take the first one's key file, or nothing opens.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pwd.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/support/rigs/database.h"
#include "tests/support/rigs/run_program.h"

namespace hostler {
namespace {

using testing::HasSubstr;
using namespace testing_support;

class SetupOfAHost : public testing::Test {
 protected:
  void SetUp() override {
    if (access("/etc/hostler/secret.key", F_OK) == 0) GTEST_SKIP() << "this host is set up";
  }
  ProgramRun tried() {
    return run_ctl({"setup", "--dry-run", "--without-nginx", "--superuser-url",
                    database_.superuser_url(), "--database", database_.name()},
                   {"HOSTLER_DATABASE_URL=" + database_.superuser_url()});
  }

  TestDatabase database_;
};

TEST_F(SetupOfAHost, MakesAKeyFileWhenNobodyHasOne) {
  ProgramRun run = tried();
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("key file     to do: /etc/hostler/secret.key"));
}

TEST_F(SetupOfAHost, MakesNoneBesideThatOfProgramsThatUseTheDatabase) {
  database_.as_superuser().run_text(
      "INSERT INTO daemons (host, instance, version) VALUES ('one.example', 's', '1')");
  ProgramRun run = tried();
  EXPECT_EQ(run.status, 65);
  EXPECT_THAT(run.err, HasSubstr("copy their /etc/hostler/secret.key to here"));
}

TEST_F(SetupOfAHost, LinksTheCertificateByItsWholePath) {
  if (access("/etc/ssl/hostler/fullchain.pem", F_OK) == 0) GTEST_SKIP() << "this host has one";
  std::string folder = testing::TempDir() + database_.name();
  std::filesystem::create_directory(folder);
  for (const char* name : {"chain.pem", "key.pem"}) std::ofstream(folder + "/" + name) << "pem";
  std::string program = std::filesystem::absolute(build_folder() + "/hostlerctl");
  ProgramRun run =
      run_program({"/usr/bin/env", "--chdir=" + folder, program, "setup", "--dry-run",
                   "--certificate", "chain.pem", "--certificate-key", "key.pem", "--superuser-url",
                   database_.superuser_url(), "--database", database_.name()},
                  {});
  std::filesystem::remove_all(folder);
  EXPECT_THAT(run.out, HasSubstr("/fullchain.pem to " + folder + "/chain.pem\n")) << run.err;
}

TEST_F(SetupOfAHost, TellsWhatIsWrongWithTheAddressOfPostgres) {
  for (const char* command : {"setup", "setup-database"}) {
    ProgramRun run =
        run_ctl({command, "--dry-run", "--superuser-url", "postgresql://u:50%off@h/postgres"});
    EXPECT_EQ(run.status, 65) << command;
    EXPECT_THAT(run.err, HasSubstr("hostlerctl: not a connection URL or string of libpq: "))
        << command;
  }
}

// The pool's unit reads the files; this shell's database may be another one.
TEST_F(SetupOfAHost, AsksFilesAloneWhetherThePoolNeedsANetwork) {
  if (access("/etc/hostler", F_OK) == 0) GTEST_SKIP() << "this host is set up";
  ProgramRun run = run_ctl({"setup", "--dry-run", "--without-nginx", "--superuser-url",
                            database_.superuser_url(), "--database", database_.name()},
                           {"HOSTLER_DATABASE_URL=postgresql://10.0.0.1/hostler", "HOSTLER_X=y"});
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("the pool needs none, and has none"));
  EXPECT_THAT(run.out, HasSubstr("settings     database.url is postgresql:///hostler and names "));
}

// An exit status of runuser itself is not a status of hostlerctl.
TEST_F(SetupOfAHost, TellsOfARunuserThatCannotCallIt) {
  if (getpwnam("postgres") == nullptr) GTEST_SKIP() << "no user postgres";
  std::string folder = testing::TempDir() + database_.name() + "-bin";
  std::filesystem::create_directory(folder);
  std::string program = std::filesystem::absolute(build_folder() + "/hostlerctl");
  for (const auto& [ends_with, expected] :
       {std::pair{0, 0}, {1, 70}, {69, 69}, {77, 77}, {126, 70}, {127, 70}}) {
    std::ofstream(folder + "/runuser") << "#!/bin/sh\nexit " << ends_with << '\n';
    std::filesystem::permissions(folder + "/runuser", std::filesystem::perms::owner_all);
    ProgramRun run = run_program(
        {"/usr/bin/env", "PATH=" + folder, program, "setup", "--dry-run", "--without-nginx"});
    bool is_root = geteuid() == 0;
    EXPECT_EQ(run.status, is_root ? expected : 0) << ends_with << " " << run.err;
    if (!is_root) {
      EXPECT_THAT(run.out, HasSubstr("repeat it as root"));
    } else if (expected == 70) {
      EXPECT_THAT(run.err, HasSubstr("runuser is missing, or cannot"));
    }
  }
  std::filesystem::remove_all(folder);
}

// By the sockets of this host, as without --superuser-url.
TEST_F(SetupOfAHost, MakesNoneWhereItsOwnIsLostAndSecretsAreStored) {
  database_.as_superuser().run_text(
      "INSERT INTO secrets (id, kind, key_version, wrapped_key, sealed) VALUES "
      "('01900000-0000-7000-8000-000000000001', 'webhook', 1, decode(repeat('00', 60), 'hex'), "
      "decode(repeat('00', 40), 'hex'))");
  std::string folder = std::filesystem::path(TestDatabase::socket()).parent_path();
  ProgramRun run =
      run_ctl({"setup", "--dry-run", "--without-nginx", "--database", database_.name()},
              {"PGHOST=" + folder, "PGUSER=postgres"});
  EXPECT_EQ(run.status, 65) << run.out;
  EXPECT_THAT(run.err, HasSubstr("put your copy of it there"));
}

}  // namespace
}  // namespace hostler
