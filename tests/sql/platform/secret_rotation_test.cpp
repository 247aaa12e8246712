// hostlerctl secret rotate: all secrets under a new key, what is inside untouched; killed anywhere
// it is begun again, and at every moment every secret opens.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "lib/config/secret_box.h"
#include "lib/crypto.h"
#include "lib/json.h"
#include "tests/support/eventually.h"
#include "tests/support/rigs/child.h"
#include "tests/support/rigs/database.h"
#include "tests/support/rigs/run_program.h"

namespace hostler {
namespace {

using namespace testing_support;

class SecretRotation : public testing::Test {
 protected:
  SecretRotation() : sql_(database_.as_superuser()) {
    folder_ = (std::filesystem::temp_directory_path() / "rotation-XXXXXX").string();
    EXPECT_NE(mkdtemp(folder_.data()), nullptr);
    key_file_ = folder_ + "/key";
    std::ofstream(key_file_, std::ios::binary) << random_bytes(32);
    chmod(key_file_.c_str(), 0640);
    box_.emplace(load());
  }
  ~SecretRotation() override { std::filesystem::remove_all(folder_); }

  config::SecretBox load() const {
    return std::get<config::SecretBox>(config::SecretBox::load(key_file_));
  }

  // Secrets of the platform and of organizations, as the programs store them.
  void add_secrets(int count) {
    JsonWriter json;
    json.begin_array();
    for (int i = 0; i < count; ++i) {
      std::string id(sql_id(i));
      std::string org = i % 2 == 0 ? "" : "01a1fa43-8dcd-7506-ab81-ef7a33b2be1a";
      config::SealedSecret sealed = box_->seal({id, org, "webhook"}, "secret " + id);
      json.begin_object().member("id", id).member("version", sealed.key_version);
      json.member("wrapped", to_hex(sealed.wrapped_key)).member("sealed", to_hex(sealed.sealed));
      json.key("org");
      org.empty() ? json.null() : json.text(org);
      json.end_object();
    }
    json.end_array();
    sql_.run_text(fmt::format(
        "INSERT INTO secrets (id, org_id, kind, key_version, wrapped_key, sealed) SELECT id, org, "
        "'webhook', version, decode(wrapped, 'hex'), decode(sealed, 'hex') FROM "
        "json_to_recordset('{}') AS r(id uuid, org uuid, version integer, wrapped text, sealed "
        "text)",
        json.take()));
  }

  // How many open, of which box says what was put in.
  int64_t opened_by(const config::SecretBox& box) {
    postgres::Result rows = sql_.run_text("SELECT * FROM secrets");
    int64_t count = 0;
    for (int i = 0; i < rows.size(); ++i) {
      const postgres::Row row = rows[i];
      std::string id(row.text("id"));
      config::SealedSecret sealed{row.integer("key_version"), row.bytes("wrapped_key"),
                                  row.bytes("sealed")};
      std::optional<std::string> plain =
          box.open({id, std::string(row.text("org_id")), "webhook"}, sealed);
      count += plain == "secret " + id ? 1 : 0;
    }
    return count;
  }

  std::string value(const std::string& text) {
    return std::string(sql_.run_text(text).front().text("value"));
  }
  int64_t under(int version) {
    return sql_
        .run_text(fmt::format("SELECT count(*) AS n FROM secrets WHERE key_version = {}", version))
        .front()
        .integer("n");
  }
  std::vector<std::string> environment() const {
    return {"HOSTLER_DATABASE_URL=" + database_.superuser_url(),
            "HOSTLER_SECRETS_KEY_FILE=" + key_file_};
  }
  ProgramRun rotate(std::vector<std::string> further = {}) const {
    std::vector<std::string> words = {"secret", "rotate", "-o", "json"};
    words.insert(words.end(), further.begin(), further.end());
    return run_ctl(words, environment());
  }

  TestDatabase database_;
  postgres::DbSession sql_;
  std::string folder_;
  std::string key_file_;
  std::optional<config::SecretBox>
      box_;  // loaded before anything is rotated, as a running program's

 private:
  static std::string sql_id(int number) {
    return fmt::format("01a1fa43-8dcd-7506-ab81-{:012x}", number);
  }
};

constexpr const char* contents =
    "SELECT md5(string_agg(id || encode(sealed, 'hex'), '' ORDER BY id)) AS value FROM secrets";

TEST_F(SecretRotation, PutsEverySecretUnderANewKeyAndLeavesWhatIsInside) {
  add_secrets(250);
  config::SecretBox other = load();
  std::string before = value(contents);
  ProgramRun run = rotate({"--batch", "7"});
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(run.out, R"({"key_version":2,"is_new_key":true,"rewrapped":250,"unreadable":0})"
                     "\n");
  EXPECT_EQ(under(2), 250);
  EXPECT_EQ(value(contents), before);
  EXPECT_EQ(opened_by(*box_), 250) << "a program that was there before reads the file again";
  EXPECT_EQ(other.seal({"x", "", "webhook"}, "new").key_version, 2);
  EXPECT_EQ(load().versions(), (std::vector<int64_t>{1, 2})) << "the old one still opens";
  struct stat facts {};
  ASSERT_EQ(stat(key_file_.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 07777, 0640U);
  EXPECT_FALSE(std::filesystem::exists(key_file_ + ".new"));
  run = rotate();
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(under(3), 250);
  EXPECT_EQ(opened_by(*box_), 250);
  run = run_ctl({"secret", "rotate"}, environment());
  EXPECT_EQ(run.out, "250 secrets put under key 4, which is new.\n");
}

TEST_F(SecretRotation, IsNotNeededToSeeWhetherTheKeyFileOpensAll) {
  add_secrets(1'200);
  auto verify = [this](const std::string& key_file) {
    return run_program({build_folder() + "/hostlerctl", "-o", "json", "secret", "verify"},
                       {"HOSTLER_DATABASE_URL=" + database_.superuser_url(),
                        "HOSTLER_SECRETS_KEY_FILE=" + key_file});
  };
  ProgramRun run = verify(key_file_);
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(run.out, "{\"secrets\":1200,\"unreadable\":0}\n");
  std::string other = folder_ + "/other";
  std::ofstream(other, std::ios::binary) << random_bytes(32);
  std::filesystem::permissions(other, std::filesystem::perms(0640));
  run = verify(other);
  EXPECT_EQ(run.status, 65) << run.err;
  EXPECT_EQ(run.out, "{\"secrets\":1200,\"unreadable\":1200}\n");
  EXPECT_NE(run.err.find("no key of the file opens 1200 secrets"), std::string::npos) << run.err;
  EXPECT_NE(verify(folder_ + "/nothing").status, 0);
}

TEST_F(SecretRotation, UsesTheKeyThatWasPreparedForCopies) {
  add_secrets(3);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(rotate({"--prepare"}).out, fmt::format(R"({{"prepared_version":2,"key_file":"{}"}})"
                                                     "\n",
                                                     key_file_));
  }
  config::SecretBox copy = load();
  EXPECT_EQ(copy.newest_version(), 1);
  EXPECT_EQ(copy.versions().size(), 2u);
  EXPECT_EQ(under(1), 3);
  EXPECT_EQ(rotate().out, R"({"key_version":2,"is_new_key":false,"rewrapped":3,"unreadable":0})"
                          "\n");
  EXPECT_EQ(load().newest_version(), 2);
  EXPECT_EQ(opened_by(copy), 3);
}

TEST_F(SecretRotation, GoesOnWhereItWasKilled) {
  constexpr int secrets = 2'000;
  add_secrets(secrets);
  for (int64_t min : {1, 300, 900}) {
    ChildPlan plan;
    plan.command = {build_folder() + "/hostlerctl", "secret", "rotate", "--batch", "1"};
    plan.environment = environment();
    plan.log_path = folder_ + "/log";
    Child child(plan);
    EXPECT_TRUE(eventually(20'000, [&] { return under(2) >= min || !child.is_running(); }));
    child.send_signal(SIGKILL);
    child.wait();
    EXPECT_GE(under(2), min);
    EXPECT_LT(under(2), secrets) << "it was killed too late to prove anything";
    EXPECT_EQ(opened_by(*box_), secrets);
    EXPECT_EQ(opened_by(load()), secrets);
  }
  int64_t done = under(2);
  ProgramRun run = rotate();
  EXPECT_EQ(run.status, 0) << run.err;
  std::optional<Json> reported = parse_json_or_nothing(run.out);
  ASSERT_TRUE(reported) << run.out;
  EXPECT_EQ(reported->integer_or("rewrapped", -1), secrets - done);
  EXPECT_EQ(reported->integer_or("key_version", -1), 2) << "no further key was made";
  EXPECT_EQ(under(2), secrets);
  EXPECT_EQ(load().versions(), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(opened_by(load()), secrets);
}

TEST_F(SecretRotation, LeavesWhatDoesNotOpenAndSaysSo) {
  add_secrets(5);
  sql_.run_text("UPDATE secrets SET kind = 'setting' WHERE id::text LIKE '%3'");
  ProgramRun run = rotate();
  EXPECT_EQ(run.status, 65);
  EXPECT_NE(run.out.find(R"("rewrapped":4,"unreadable":1)"), std::string::npos) << run.out;
  EXPECT_NE(run.err.find("000000000003"), std::string::npos) << run.err;
  EXPECT_EQ(under(1), 1);
  EXPECT_EQ(under(2), 4);
  EXPECT_EQ(rotate().out, R"({"key_version":3,"is_new_key":true,"rewrapped":4,"unreadable":1})"
                          "\n")
      << "it keeps nobody from a new key";
}

TEST_F(SecretRotation, LeavesTheFileWhereItIsAndWhoseItIs) {
  std::string real = folder_ + "/real";
  std::filesystem::rename(key_file_, real);
  std::filesystem::create_symlink("real", key_file_);
  if (chown(real.c_str(), static_cast<uid_t>(-1), 1) != 0) GTEST_SKIP() << "only root may do that";
  ASSERT_EQ(chmod(real.c_str(), 0640), 0);
  EXPECT_EQ(rotate().status, 0);
  EXPECT_TRUE(std::filesystem::is_symlink(key_file_));
  EXPECT_EQ(load().newest_version(), 2);
  struct stat facts {};
  ASSERT_EQ(stat(real.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_gid, 1U) << "programs may read it by their group alone";
  EXPECT_EQ(facts.st_mode & 07777, 0640U);
}

TEST_F(SecretRotation, IsDoneByOneAtATimeAndNeedsTheFile) {
  add_secrets(1);
  sql_.run_text("SELECT pg_advisory_lock(hashtextextended('hostler secret rotate', 0))");
  EXPECT_EQ(rotate().status, 75);
  EXPECT_EQ(rotate({"--prepare"}).status, 75);
  sql_.run_text("SELECT pg_advisory_unlock_all()");
  EXPECT_EQ(load().versions().size(), 1u) << "nothing was changed";
  std::filesystem::remove(key_file_);
  ProgramRun run = rotate();
  EXPECT_EQ(run.status, 65);
  EXPECT_NE(run.err.find(key_file_), std::string::npos) << run.err;
  EXPECT_EQ(run_ctl({"secret", "rotate", "--prepare", "--now"}, environment()).status, 64);
}

}  // namespace
}  // namespace hostler
