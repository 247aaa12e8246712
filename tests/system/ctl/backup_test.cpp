// A backup that was taken while all ran, and the database that comes out of it.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "lib/json.h"
#include "lib/postgres/session.h"
#include "tests/support/rigs/private_stack.h"
#include "tests/support/rigs/run_program.h"

namespace hostler::testing_support {
namespace {

class BackupTest : public testing::Test {
 protected:
  BackupTest() : stack_(PrivateStack::shared()) {
    folder_ = std::filesystem::temp_directory_path() / fmt::format("hostler-backup-{}", getpid());
    std::filesystem::create_directory(folder_);
  }
  ~BackupTest() override { std::filesystem::remove_all(folder_); }

  // The database of that name in the stack's cluster, as its superuser.
  std::string url_of(const std::string& database) const {
    std::string url = stack_.env("DATABASE_URL");
    return url.replace(url.find("/hostler?"), 8, "/" + database);
  }
  ProgramRun ctl(const std::string& database, std::vector<std::string> words) const {
    words.insert(words.begin(), build_folder() + "/hostlerctl");
    return run_program(words, {"HOSTLER_DATABASE_URL=" + url_of(database)});
  }
  // A backup into "dump" by a pg_dump that is this script.
  ProgramRun backup_by(const std::string& script, const std::string& url) const {
    std::ofstream(folder_ / "pg_dump") << "#!/bin/sh\n" << script << '\n';
    std::filesystem::permissions(folder_ / "pg_dump", std::filesystem::perms::owner_all);
    return run_program({"/usr/bin/env", "PATH=" + folder_.string() + ":/usr/bin:/bin",
                        build_folder() + "/hostlerctl", "backup", folder_ / "dump"},
                       {"HOSTLER_DATABASE_URL=" + url});
  }

  PrivateStack& stack_;
  std::filesystem::path folder_;
};

TEST_F(BackupTest, OfARunningInstallationFillsAnEmptyDatabase) {
  PrivateStack::User user = stack_.new_user("[words 200]");
  std::string run_id = stack_.start_run(user);
  std::string file = folder_ / "dump";
  ProgramRun backup = ctl("hostler", {"backup", file});
  ASSERT_EQ(backup.status, 0) << backup.err;
  read_whole_stream(stack_, run_id, user.client.token);
  EXPECT_EQ(ctl("hostler", {"backup", file}).status, 65) << "a backup is never replaced";

  std::string name = fmt::format("restored_{}", getpid());
  ProgramRun setup =
      ctl("hostler", {"setup-database", "--superuser-url", url_of("postgres"), "--database", name});
  ASSERT_EQ(setup.status, 0) << setup.err;
  ProgramRun restored = ctl(name, {"restore", file});
  EXPECT_EQ(restored.status, 0) << restored.out << restored.err;
  EXPECT_EQ(ctl(name, {"migrate", "--status"}).status, 0);
  postgres::DbSession session(url_of(name), "backup_test");
  EXPECT_EQ(session
                .run_text("SELECT count(*) FROM pg_class WHERE reltuples >= 0 AND oid IN "
                          "('run_events'::regclass, 'messages'::regclass)")
                .text(),
            "2")
      << "Postgres knows how many rows there are";
  EXPECT_EQ(ctl(name, {"restore", file}).status, 65) << "only an empty database is filled";
  EXPECT_EQ(ctl(name, {"restore", folder_ / "nothing"}).status, 65);
  std::ofstream(folder_ / "other.json") << "[]";
  ProgramRun other = ctl(name, {"restore", folder_ / "other"});
  EXPECT_EQ(other.status, 65);
  EXPECT_NE(other.err.find("is not a file that backup wrote"), std::string::npos) << other.err;
  std::ofstream(folder_ / "newer.json") << R"({"schema_version":"99999"})";
  ProgramRun newer = ctl(name, {"restore", folder_ / "newer"});
  EXPECT_EQ(newer.status, 65);
  EXPECT_NE(newer.err.find("upgrade Hostler on this host"), std::string::npos) << newer.err;
  EXPECT_EQ(ctl("hostler", {"backup", folder_ / "no" / "dump"}).status, 73);
}

TEST_F(BackupTest, WhoseCountsDifferSaysWhatToDoWithTheDatabase) {
  std::string file = folder_ / "dump";
  ASSERT_EQ(ctl("hostler", {"backup", file}).status, 0);
  std::ofstream(file + ".json") << R"({"schema_version":"00001","users":-1})";
  std::string name = fmt::format("differs_{}", getpid());
  ASSERT_EQ(
      ctl("hostler", {"setup-database", "--superuser-url", url_of("postgres"), "--database", name})
          .status,
      0);
  ProgramRun restored = ctl(name, {"restore", file});
  EXPECT_EQ(restored.status, 65);
  EXPECT_NE(restored.err.find("users: the backup had -1"), std::string::npos) << restored.err;
  EXPECT_NE(restored.err.find("drop it"), std::string::npos) << restored.err;
}

TEST_F(BackupTest, WaitsForNobodyAndCutsOffNothingThatAnotherWrites) {
  std::string file = folder_ / "dump";
  std::string words = "what another backup has written";
  std::ofstream(file + ".part") << words;
  int fd = open((file + ".part").c_str(), O_WRONLY | O_CLOEXEC);
  ASSERT_EQ(flock(fd, LOCK_EX | LOCK_NB), 0);
  ProgramRun second = ctl("hostler", {"backup", file});
  EXPECT_EQ(second.status, 75);
  EXPECT_NE(second.err.find("is under way"), std::string::npos) << second.err;
  EXPECT_EQ(std::filesystem::file_size(file + ".part"), words.size());

  close(fd);  // as when that backup was killed
  ProgramRun third = ctl("hostler", {"backup", file});
  EXPECT_EQ(third.status, 0) << third.err;
  EXPECT_FALSE(std::filesystem::exists(file + ".part"));
}

TEST_F(BackupTest, WithoutItsManifestIsNone) {
  std::string file = folder_ / "dump";
  std::filesystem::create_directory(file + ".json");
  ProgramRun backup = ctl("hostler", {"backup", file});
  EXPECT_EQ(backup.status, 73);
  EXPECT_NE(backup.err.find("cannot write " + file + ".json: "), std::string::npos) << backup.err;
  EXPECT_FALSE(std::filesystem::exists(file));
  EXPECT_FALSE(std::filesystem::exists(file + ".part")) << "it would keep the disk full";
}

TEST_F(BackupTest, ShowsNobodyThePasswordAmongTheArgumentsOfItsTool) {
  ProgramRun backup = backup_by(R"(echo "$@ PGPASSWORD=$PGPASSWORD"; exit 1)",
                                url_of("hostler") + "&password=hush");
  EXPECT_EQ(backup.status, 65);
  EXPECT_NE(backup.out.find("dbname='hostler'"), std::string::npos) << backup.out << backup.err;
  EXPECT_NE(backup.out.find("PGPASSWORD=hush"), std::string::npos) << backup.out;
  EXPECT_EQ(backup.out.find("password='"), std::string::npos) << backup.out;
}

// Ended like by a limit of the server, or a firewall that forgets silent connections.
TEST_F(BackupTest, IsKeptThoughItsOwnConnectionWasLostMeanwhile) {
  ProgramRun backup = backup_by(
      "/usr/bin/pg_dump \"$@\" && psql -XAtq -d \"$HOSTLER_DATABASE_URL\" -c \""
      "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity "
      "WHERE application_name = 'hostlerctl backup'\" >/dev/null",
      url_of("hostler"));
  EXPECT_EQ(backup.status, 0) << backup.err;
  EXPECT_TRUE(std::filesystem::exists(folder_ / "dump"));
}

// Another host may answer too, and only follow.
TEST_F(BackupTest, LeadsItsToolToTheHostThatItIsAt) {
  std::string url = url_of("hostler");
  url.replace(url.find("host="), 5, "host=/nowhere,");
  ProgramRun backup = backup_by(R"(echo "$@"; exit 1)", url);
  EXPECT_NE(backup.out.find("host='/"), std::string::npos) << backup.out << backup.err;
  EXPECT_EQ(backup.out.find("/nowhere"), std::string::npos) << backup.out;
}

TEST_F(BackupTest, TheDoctorFindsTheDatabaseWellAndAnotherMissing) {
  ProgramRun well = ctl("hostler", {"-o", "json", "doctor"});
  EXPECT_NE(well.out.find(R"({"verdict":"ok","what":"database")"), std::string::npos) << well.out;
  ProgramRun missing = ctl("nothing_of_this_name", {"doctor"});
  EXPECT_EQ(missing.status, 69);
  EXPECT_NE(missing.out.find("does not exist"), std::string::npos) << missing.out;
}

}  // namespace
}  // namespace hostler::testing_support
