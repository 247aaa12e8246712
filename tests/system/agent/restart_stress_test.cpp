// The daemon is restarted again and again (SIGTERM, the next one as soon as it has ended) while
// runs are made, followed and asked about. No request of the API fails, no stream has a gap, no run
// is lost, and none is counted as crashed.
//
// RESTARTS (3; `make soak`: 20). The check is shown a daemon that is killed instead.
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <mutex>
#include <thread>

#include <fmt/format.h>

#include "tests/support/clients/raw_client.h"
#include "tests/support/eventually.h"
#include "tests/support/parameters.h"
#include "tests/support/rigs/private_stack.h"
#include "tests/support/rigs/run_harness.h"
#include "tests/support/rows/run_faults.h"
#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

constexpr int64_t stop_ms_max = 25'000;
constexpr int64_t patience_ms = 60'000;
constexpr size_t subscribers_count = 2;

std::string gap_in(const EventStream& reading) {
  int64_t wanted = 0;
  for (int64_t seq : reading.seqs()) {
    if (seq != ++wanted) return fmt::format("{} where {} should be", seq, wanted);
  }
  return reading.types().ends_with("run.completed") ? "" : "it ends with " + reading.types();
}

class RestartStress : public testing::Test {
 protected:
  RestartStress() : user_(register_user(stack_)) {
    add_fake_model(stack_, R"("output_usd_per_mtok":20)");
    // The count itself is forgiven with the next step.
    stack_.sql().run_text(
        "CREATE TABLE crashes (run_id uuid);"
        "CREATE FUNCTION note_crash() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ "
        "BEGIN INSERT INTO public.crashes VALUES (NEW.id); RETURN NULL; END $$;"
        "CREATE TRIGGER noted AFTER UPDATE OF crash_count ON runs FOR EACH ROW "
        "WHEN (NEW.crash_count > OLD.crash_count) EXECUTE FUNCTION note_crash()");
  }
  ~RestartStress() override { end_load(); }

  static ApiStackOptions options() {
    ApiStackOptions options;
    options.has_runner = true;
    options.settings = {"HOSTLER_LIMIT_CONCURRENT_RUNS=100000"};
    return options;
  }

  // Lists, creates, says and runs, one after the other, until told to end.
  void begin_load() {
    threads_.emplace_back([this] {
      RawClient caller(stack_.line().base_url(), ApiStack::certificate());
      std::string body = R"({"content":"[delay 20] [words 60] [tool no_such_tool {}] [words 40]"})";
      auto ask = [&](const std::string& method, const std::string& path,
                     const std::string& stated) {
        Received received =
            caller.ask({method, path, stated, "application/json", {}}, user_.client.token);
        ++asked_;
        bool is_well = received.is_whole() && received.answer.status < 300;
        if (!is_well)
          fail(fmt::format("{} {}: {} {}", method, path, received.answer.status,
                           received.failure + received.answer.body));
        return is_well ? parse_json_or_nothing(received.answer.body) : std::nullopt;
      };
      while (!ends_) {
        std::optional<Json> thread = ask("POST", "/v1/threads", "{}");
        if (!thread) continue;
        std::string path = "/v1/threads/" + std::string(thread->text_or("id"));
        ask("POST", path + "/messages", body);
        ask("POST", path + "/runs", "{}");
        for (int i = 0; i < 5; ++i) ask("GET", "/v1/runs?limit=5", "");
        let_pass(50);
      }
    });
    for (size_t i = 0; i < subscribers_count; ++i) threads_.emplace_back([this] { follow(); });
  }

  // A run of its own from its first event to its last, again and again.
  void follow() {
    RawClient caller(stack_.line().base_url(), ApiStack::certificate());
    while (!ends_) {
      std::string thread_id = made(caller, "/v1/threads", "{}", "id");
      made(caller, "/v1/threads/" + thread_id + "/messages",
           R"({"content":"[delay 15] [words 80]"})", "id");
      std::string run_id = made(caller, "/v1/threads/" + thread_id + "/runs", "{}", "run_id");
      EventStream whole;
      auto is_whole = [&] {
        Call call{"GET", "/v1/runs/" + run_id + "/events", {}, {}, {}};
        call.headers = {{"Last-Event-ID", std::to_string(whole.last_seq())}};
        Received received = caller.ask(call, user_.client.token);
        if (received.answer.status == 200) whole.add({received.answer.body});
        return gap_in(whole).empty();  // else there is no relay at this moment
      };
      if (!run_id.empty() && !eventually(patience_ms, is_whole)) {
        fail("stream of " + run_id + ": " + gap_in(whole));
      }
      ++followed_;
    }
  }

  std::string made(RawClient& caller, const std::string& path, const std::string& body,
                   std::string_view member) {
    Received received =
        caller.ask({"POST", path, body, "application/json", {}}, user_.client.token);
    ++asked_;
    std::optional<Json> answer = parse_json_or_nothing(received.answer.body);
    if (received.is_whole() && received.answer.status == 201 && answer) {
      return std::string(answer->text_or(member));
    }
    fail(fmt::format("POST {}: {} {}", path, received.answer.status, received.failure));
    return "";
  }

  void fail(std::string what) {
    std::lock_guard lock(mutex_);
    faults_ += what + "\n";
  }

  void end_load() {
    ends_ = true;
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

  // Until the daemon works at some runs.
  testing::AssertionResult has_work(int64_t runs = 4) {
    const char* owned = "SELECT count(*) FROM runs WHERE owner_id IS NOT NULL";
    return eventually(patience_ms, [&] { return sql_number(stack_, owned) >= runs; });
  }

  int64_t crashes() { return sql_number(stack_, "SELECT count(*) FROM crashes"); }

  ApiStack stack_{options()};
  TestUser user_;
  std::vector<std::thread> threads_;
  std::atomic<bool> ends_ = false;
  std::atomic<int64_t> asked_ = 0;
  std::atomic<int64_t> followed_ = 0;
  std::mutex mutex_;
  std::string faults_;
};

TEST_F(RestartStress, OfTheDaemonCostsNoRequestNoEventAndNoRun) {
  int64_t restarts = parameter("RESTARTS", 3);
  begin_load();
  for (int64_t i = 0; i < restarts; ++i) {
    ASSERT_TRUE(has_work()) << "no runs are executed";
    int64_t begin_ms = monotonic_ms();
    stack_.runner().send_signal(SIGTERM);
    EXPECT_EQ(stack_.runner().wait(), 0);
    EXPECT_LE(monotonic_ms() - begin_ms, stop_ms_max);
    stack_.start_runner();
  }
  ASSERT_TRUE(has_work());
  end_load();
  ASSERT_TRUE(all_runs_end(stack_)) << "runs are lost";
  EXPECT_EQ(faults_, "");
  EXPECT_EQ(run_faults(stack_), "");
  EXPECT_EQ(money_faults(stack_), "");
  EXPECT_EQ(sql_number(stack_, "SELECT count(*) FROM runs WHERE status <> 'completed'"), 0);
  EXPECT_EQ(crashes(), 0) << "a run was not handed back";
  int64_t handed = sql_number(stack_, "SELECT coalesce(sum(take_overs), 0)::bigint FROM runs");
  EXPECT_GE(handed, restarts) << "no restart met a run";
  EXPECT_GT(followed_, 0);
  fmt::print("{} restarts, {} requests, {} runs handed over, {} streams\n", restarts, asked_.load(),
             handed, followed_.load());

  // A daemon that hands nothing back is seen.
  start_output(user_.client, "[delay 20] [words 200]");
  ASSERT_TRUE(has_work(1));
  stack_.kill_runner();
  stack_.start_runner();
  ASSERT_TRUE(all_runs_end(stack_));
  EXPECT_GT(crashes(), 0);
}

}  // namespace
}  // namespace hostler::testing_support
