// An answer of useChat's to what its run asks, when the run asks something else by the time that
// the answer has the run's lock. Through the whole stack: tests/api/ui/chat_answers_test.cpp. And
// what a stop locks.
#include <gtest/gtest.h>

#include <future>
#include <thread>

#include <fmt/format.h>

#include "lib/error.h"
#include "queries/daemon.h"
#include "queries/ui_chats.h"
#include "tests/support/eventually.h"
#include "tests/support/rows/run_fixture.h"

namespace hostler {
namespace {

using namespace testing_support;

constexpr const char* shown = "01890000-0000-7000-8000-000000000009";
constexpr const char* next = "01890000-0000-7000-8000-00000000000a";

class UiAnswers : public testing::Test {
 protected:
  UiAnswers() : thread_id_(fixture_.new_thread()), run_id_(fixture_.new_run(thread_id_)) {}

  void wait(std::string_view kind, std::string_view further = "") {
    std::string daemon_id = fixture_.new_daemon("a");
    int64_t epoch = fixture_.claim(daemon_id, run_id_);
    postgres::DbSession session = database_.as_runner();
    std::string request =
        fmt::format(R"({{"request_id": "{}", "kind": "{}", "turn": 1, "tool_call_id": "c",)"
                    R"( "tool_name": "f"{}}})",
                    shown, kind, further);
    session.run(query::RunWait{.daemon_id = daemon_id,
                               .run_id = run_id_,
                               .epoch = epoch,
                               .last_seq = 0,
                               .request = request,
                               .run_input_seconds = 3600});
  }
  // Returns what became of the answer to what was shown, given when the run is about to ask the
  // next.
  ErrorCode answered_behind_the_next() {
    postgres::DbSession asking = database_.as_superuser();
    asking.begin();
    asking.run_text(
        fmt::format("UPDATE runs SET input_request = input_request || "
                    "jsonb_build_object('request_id', '{}') WHERE id = '{}'",
                    next, run_id_));
    ErrorCode code = ErrorCode::count_;
    std::thread answering([&] {
      try {
        fixture_.as_owner(query::UiChatAnswer{
            .chat = thread_id_,
            .results = R"([{"tool_call_id":"c","output":"yes","words":"yes"}])",
            .approvals = fmt::format(R"([{{"id":"{}","approved":true}}])", shown),
            .limit_input_bytes = 100});
      } catch (const Error& error) {
        code = error.code;
      }
    });
    EXPECT_TRUE(somebody_waits());
    asking.commit();
    answering.join();
    return code;
  }
  bool somebody_waits() const {
    return eventually(10'000, [this] {
      return fixture_.column(
                 "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND "
                 "wait_event_type = 'Lock'") == "1";
    });
  }

  TestDatabase database_;
  RunFixture fixture_{database_};
  std::string thread_id_;
  std::string run_id_;
};

TEST_F(UiAnswers, ToWhatWasShownApproveNoOtherCall) {
  wait("tool_confirmation");
  EXPECT_EQ(answered_behind_the_next(), ErrorCode::runs_not_waiting);
  EXPECT_EQ(fixture_.column("SELECT count(*) FROM run_inputs"), "0");
}

TEST_F(UiAnswers, ToWhatWasShownAnswerNoOtherQuestion) {
  wait("question");
  EXPECT_EQ(answered_behind_the_next(), ErrorCode::runs_not_waiting);
  EXPECT_EQ(fixture_.column("SELECT count(*) FROM run_inputs"), "0");
}

// In jsonb each such number would have 309 digits, but the bounds of an output count its own.
TEST_F(UiAnswers, AreKeptAsTheyWereWritten) {
  wait("tool_results",
       R"(, "calls": [{"tool_call_id": "c", "tool_name": "f", "answered_by": "client"}])");
  fixture_.as_owner(query::UiChatAnswer{
      .chat = thread_id_,
      .results = R"([{"tool_call_id":"c","output":{"z":1e+308,"a":[1.50]},"words":"w"}])",
      .approvals = "[]",
      .limit_input_bytes = 100});
  EXPECT_EQ(fixture_.column("SELECT result FROM run_tool_results"), R"({"z":1e+308,"a":[1.50]})");
}

TEST_F(UiAnswers, SayThatServersAnswerWhatIsLeft) {
  wait("tool_results",
       R"(, "calls": [{"tool_call_id": "c", "tool_name": "f", "answered_by": "webhook"}])");
  try {
    fixture_.as_owner(query::UiChatAnswer{.chat = thread_id_,
                                          .results = R"([{"tool_call_id":"d","output":1}])",
                                          .approvals = "[]",
                                          .limit_input_bytes = 100});
    ADD_FAILURE() << "taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.code, ErrorCode::runs_other_answer);
    EXPECT_NE(error.detail.find("servers of its tools"), std::string::npos) << error.detail;
  }
}

using UiStops = UiAnswers;

// A daemon that commits a turn has its run, and wants the account.
TEST_F(UiStops, HoldAllRunsBeforeTheAccount) {
  std::string queued_id = fixture_.new_run(thread_id_, "enqueue");
  postgres::DbSession committing = database_.as_superuser();
  committing.begin();
  committing.run_text(
      fmt::format("SELECT id FROM runs WHERE id = '{}' FOR NO KEY UPDATE", run_id_));
  std::future<postgres::Result> stopping = std::async(std::launch::async, [this] {
    return fixture_.as_owner(query::UiChatStop{.chat = thread_id_});
  });
  EXPECT_TRUE(somebody_waits());
  EXPECT_EQ(fixture_.column(fmt::format("SELECT count(*) FROM (SELECT org_id FROM credit_accounts "
                                        "WHERE org_id = '{}' FOR UPDATE SKIP LOCKED) AS free",
                                        fixture_.org_id)),
            "1");
  committing.commit();
  stopping.get();
  EXPECT_EQ(fixture_.column(fmt::format("SELECT string_agg(status, ' ') FROM runs WHERE id IN "
                                        "('{}', '{}')",
                                        run_id_, queued_id)),
            "cancelled cancelled");
}

}  // namespace
}  // namespace hostler
