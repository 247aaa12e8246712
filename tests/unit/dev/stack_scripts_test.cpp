// The scripts of dev/stack that decide by what this machine is: its release, its Postgres.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "lib/crypto.h"
#include "tests/support/rigs/run_program.h"

namespace hostler::testing_support {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class StackScripts : public testing::Test {
 protected:
  StackScripts() { std::filesystem::create_directory(folder_); }
  ~StackScripts() override { std::filesystem::remove_all(folder_); }

  std::string file(const std::string& name, const std::string& text) {
    std::ofstream(folder_ + "/" + name) << text;
    return folder_ + "/" + name;
  }
  // For a group that nobody needs packages of.
  ProgramRun install_on(const std::string& os_release, const std::string& force = "0") {
    return run_program({"dev/stack/install-packages", "nothing"},
                       {"OS_RELEASE=" + file("os-release", os_release), "FORCE=" + force});
  }
  ProgramRun postgres_of_version(const std::string& version) {
    file("PG_VERSION", version + "\n");
    return run_program({"dev/stack/postgres-bin", folder_});
  }

  std::string folder_ = testing::TempDir() + "scripts-" + to_hex(random_bytes(8));
};

TEST_F(StackScripts, InstallOnDebian12And13) {
  for (const char* version : {"12", "13"}) {
    ProgramRun run = install_on("ID=debian\nVERSION_ID=\"" + std::string(version) + "\"\n");
    EXPECT_EQ(run.status, 0) << version;
    EXPECT_EQ(run.err, "") << version;
  }
}

TEST_F(StackScripts, NameTheSupportedReleasesOnAnotherOne) {
  for (const char* release :
       {"PRETTY_NAME=\"Debian GNU/Linux 11 (bullseye)\"\nID=debian\nVERSION_ID=\"11\"\n",
        "PRETTY_NAME=\"Debian GNU/Linux forky/sid\"\nID=debian\n",
        "PRETTY_NAME=\"Ubuntu 24.04 LTS\"\nID=ubuntu\nID_LIKE=debian\nVERSION_ID=\"24.04\"\n"}) {
    ProgramRun run = install_on(release);
    EXPECT_EQ(run.status, 69) << release;
    EXPECT_THAT(run.err,
                StartsWith("Hostler supports Debian 12 (bookworm) and Debian 13 (trixie). "));
    EXPECT_THAT(run.err, HasSubstr("FORCE=1 make demo"));
    EXPECT_EQ(install_on(release, "1").status, 0) << release;
  }
  EXPECT_THAT(install_on("PRETTY_NAME=\"Arch Linux\"\nID=arch\n").err,
              HasSubstr("This system is Arch Linux."));
}

TEST_F(StackScripts, TakeThePostgresThatAClusterBelongsTo) {
  std::string newest = run_program({"dev/stack/postgres-bin"}).out;
  ASSERT_THAT(newest, StartsWith("/usr/lib/postgresql/"));
  std::string version = std::filesystem::path(newest).parent_path().filename();
  EXPECT_EQ(postgres_of_version(version).out, newest);
  ProgramRun missing = postgres_of_version("99");
  EXPECT_EQ(missing.status, 69);
  EXPECT_THAT(missing.err, HasSubstr("apt-get install postgresql-99"));
}

TEST_F(StackScripts, RefuseAClusterOfAnOldPostgres) {
  for (const char* version : {"9.6", "14"}) {
    ProgramRun run = postgres_of_version(version);
    EXPECT_EQ(run.status, 65) << version;
    EXPECT_THAT(run.err, HasSubstr("Postgres " + std::string(version) + " is too old"));
  }
}

}  // namespace
}  // namespace hostler::testing_support
