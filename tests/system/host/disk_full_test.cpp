// Disks that are full. Postgres cannot write: the API says 503 to what writes and goes on reading,
// runs wait and go on when there is room, nothing that was acknowledged is lost. Nobody can write
// logs: everything works without them.
//
// Postgres' refusal (53100) is played by triggers, which needs no rights. Where a disk may be
// mounted, a whole stack with its logs is put on a small one that is filled: DISKS_FULL times (1;
// `make soak`: 20), for DISK_FULL_SECONDS each (3). The check is shown an acknowledged row that is
// gone.
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "lib/postgres/session.h"
#include "tests/support/clients/raw_client.h"
#include "tests/support/eventually.h"
#include "tests/support/parameters.h"
#include "tests/support/rigs/private_stack.h"
#include "tests/support/rigs/run_harness.h"
#include "tests/support/rows/run_faults.h"
#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

constexpr int64_t full_ms = 1500;
constexpr int64_t recovery_ms_max = 5000;
constexpr int64_t refusal_ms_max = 3000;

class DiskFull : public testing::Test {
 protected:
  DiskFull() : user_(register_user(stack_)) {
    add_fake_model(stack_, R"("output_usd_per_mtok":20)");
    stack_.sql().run_text(
        "CREATE TABLE disk_is_full ();"
        "CREATE FUNCTION refuse_when_full() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS "
        "$$ BEGIN IF EXISTS (SELECT FROM public.disk_is_full) THEN RAISE EXCEPTION "
        "'could not extend file' USING ERRCODE = '53100'; END IF; RETURN NULL; END $$");
    for (const char* table : {"threads", "messages", "runs", "run_events", "run_turns"}) {
      stack_.sql().run_text(
          fmt::format("CREATE TRIGGER full_disk BEFORE INSERT OR UPDATE ON {} FOR EACH STATEMENT "
                      "EXECUTE FUNCTION refuse_when_full()",
                      table));
    }
  }
  void fill() { stack_.sql().run_text("INSERT INTO disk_is_full DEFAULT VALUES"); }
  void empty() { stack_.sql().run_text("DELETE FROM disk_is_full"); }

  // Created and told so; 503 is no failure.
  bool makes_thread() {
    Answer answer = user_.client.post("/v1/threads", "{}");
    EXPECT_TRUE(answer.status == 201 || is_problem(answer, 503, "database.unavailable"));
    EXPECT_EQ(answer.status == 503, answer.has_header("retry-after"));
    acknowledged_ += answer.status == 201 ? 1 : 0;
    return answer.status == 201;
  }
  int64_t threads() {
    return sql_number(stack_, "SELECT count(*) FROM threads WHERE title IS NULL");
  }

  ApiStack stack_{{{"HOSTLER_LIMIT_CONCURRENT_RUNS=100000"}, true}};
  TestUser user_;
  int64_t acknowledged_ = 0;
};

TEST_F(DiskFull, OfPostgresIsA503AndRunsWait) {
  std::vector<std::string> run_ids;
  for (int i = 0; i < 6; ++i, ++acknowledged_) {
    run_ids.push_back(start_output(
        user_.client, "[delay 20] [words 60] [tool no_such_tool {}] [delay 20] [words 20]"));
  }
  const char* begun = "SELECT count(DISTINCT run_id) FROM run_events WHERE type = 'message.delta'";
  EXPECT_TRUE(eventually(20'000, [&] { return sql_number(stack_, begun) == 6; }));
  fill();
  keep_doing(full_ms, [&] {
    EXPECT_FALSE(makes_thread());
    EXPECT_EQ(user_.client.get("/v1/runs?limit=3").status, 200) << "reading needs no room";
    EXPECT_EQ(user_.client.get("/v1/runs/" + run_ids[0]).member("status"), "running");
  });
  empty();
  int64_t begin_ms = monotonic_ms();
  EXPECT_TRUE(makes_thread());
  for (const std::string& run_id : run_ids) {
    EXPECT_EQ(wait_for_status(user_.client, run_id, "completed"), "completed");
  }
  EXPECT_LE(monotonic_ms() - begin_ms, 2 * recovery_ms_max) << "the rest of their words included";
  EXPECT_EQ(run_faults(stack_), "");
  EXPECT_EQ(money_faults(stack_), "");
  EXPECT_EQ(sql_number(stack_, "SELECT sum(take_overs)::bigint FROM runs"), 0) << "runs were lost";
  EXPECT_EQ(threads(), acknowledged_);

  // The check is shown a row that was acknowledged and is gone.
  stack_.sql().run_text(
      "DELETE FROM threads WHERE id = (SELECT t.id FROM threads t WHERE NOT EXISTS (SELECT 1 FROM "
      "messages m WHERE m.thread_id = t.id) LIMIT 1)");
  EXPECT_NE(threads(), acknowledged_);
}

// The daemon's log: every write of it fails.
TEST_F(DiskFull, OfTheLogStopsNobody) {
  std::string log = stack_.folder() + "/runner.log";
  std::filesystem::remove(log);
  std::filesystem::create_symlink("/dev/full", log);
  stack_.kill_runner();
  stack_.start_runner();
  EXPECT_EQ(run_story(user_.client, "[say well]").status, "completed");
  EXPECT_EQ(run_story(user_.client, "[status 400]").status, "failed") << "which is logged";
  EXPECT_TRUE(stack_.runner().is_running());
  std::filesystem::remove(log);
}

// A disk of its own for all that is put below it.
class SmallDisk {
 public:
  SmallDisk() : path_((std::filesystem::temp_directory_path() / "disk-XXXXXX").string()) {
    if (mkdtemp(path_.data()) == nullptr) return;
    is_mounted_ = mount("none", path_.c_str(), "tmpfs", 0, "size=256m,mode=1777") == 0;
  }
  ~SmallDisk() {
    if (is_mounted_) umount2(path_.c_str(), MNT_DETACH);
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  bool is_mounted() const { return is_mounted_; }
  const std::string& path() const { return path_; }
  // To the last byte.
  void fill() {
    std::ofstream file(path_ + "/filling", std::ios::binary);
    std::string block(1 << 20, 'x');
    while (file.write(block.data(), std::ssize(block))) {
    }
    file.clear();
    while (file.put('x').flush()) {
    }
  }
  void empty() { std::filesystem::remove(path_ + "/filling"); }

 private:
  std::string path_;
  bool is_mounted_ = false;
};

// While it lives, what asks for a folder for temporary files is given this one.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(const std::string& path) {
    const char* before = std::getenv("TMPDIR");
    if (before != nullptr) before_ = before;
    setenv("TMPDIR", path.c_str(), 1);
  }
  ~TemporaryFolder() {
    before_.empty() ? unsetenv("TMPDIR") : setenv("TMPDIR", before_.c_str(), 1);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

 private:
  std::string before_;
};

TEST(WholeDiskFull, CostsNothingThatWasAcknowledged) {
  SmallDisk disk;
  if (!disk.is_mounted()) GTEST_SKIP() << "a disk of one's own cannot be mounted here";
  std::unique_ptr<PrivateStack> stack;
  {
    TemporaryFolder below(disk.path());
    stack = std::make_unique<PrivateStack>();
  }
  PrivateStack::User user = stack->new_user("[delay 20] [words 100]");
  RawClient caller(stack->env("BASE_URL"), stack->env("CA_CERT"));
  int64_t acknowledged = 1;
  int64_t refused = 0;
  int64_t slowest_refusal_ms = 0;
  auto make_thread = [&] {
    int64_t begin = monotonic_ms();
    std::string body = fmt::format(R"({{"title":"{}"}})", std::string(100, 'x'));
    Call call{"POST", "/v1/threads", body, "application/json", {}};
    Received received = caller.ask(call, user.client.token);
    bool is_reported =
        received.is_whole() && (received.answer.status == 201 || received.answer.status == 503);
    EXPECT_TRUE(is_reported) << received.answer.status << " " << received.failure
                             << received.answer.body;
    (received.answer.status == 201 ? acknowledged : refused) += 1;
    if (received.answer.status != 201) {
      slowest_refusal_ms = std::max(slowest_refusal_ms, monotonic_ms() - begin);
    }
    return received.answer.status == 201;
  };
  for (int64_t i = 0; i < parameter("DISKS_FULL", 1); ++i) {
    std::string run_id = stack->start_run(user);
    disk.fill();
    keep_doing(1000 * parameter("DISK_FULL_SECONDS", 3), make_thread);
    disk.empty();
    stack->up();  // Postgres ends when it has no room for its log; somebody starts it again
    EXPECT_TRUE(eventually(recovery_ms_max, make_thread)) << "no service again";
    EventStream reading = read_whole_stream(*stack, run_id, user.client.token);
    EXPECT_TRUE(reading.types().ends_with("run.completed")) << reading.types();
    postgres::DbSession sql(stack->env("DATABASE_URL"), "test");
    EXPECT_EQ(sql.run_text("SELECT count(*) FROM threads").text(), std::to_string(acknowledged));
  }
  EXPECT_LE(slowest_refusal_ms, refusal_ms_max);
  fmt::print("{} threads acknowledged, {} refused, slowest {} ms\n", acknowledged, refused,
             slowest_refusal_ms);
}

}  // namespace
}  // namespace hostler::testing_support
