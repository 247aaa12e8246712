// hostlerctl run tail: what is stored, what comes, and a connection that is lost in between.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "lib/json.h"
#include "tests/support/rigs/child.h"
#include "tests/support/rigs/run_program.h"
#include "tests/support/rows/run_fixture.h"

namespace hostler {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using namespace testing_support;

class RunTail : public testing::Test {
 protected:
  RunTail() : fixture_(database_), run_id_(fixture_.new_run(fixture_.new_thread())) {}

  void add_event(int seq, const std::string& type, const std::string& data) {
    database_.as_superuser().run_text(fmt::format(
        "INSERT INTO run_events (run_id, seq, type, data) VALUES ('{}', {}, '{}', '{}')", run_id_,
        seq, type, data));
  }
  void complete() {
    database_.as_superuser().run_text(fmt::format(
        "UPDATE runs SET status = 'completed', ended_at = clock_timestamp() WHERE id = '{}'",
        run_id_));
  }
  std::string url() const { return "HOSTLER_DATABASE_URL=" + database_.superuser_url(); }
  ProgramRun tail(std::vector<std::string> more) {
    more.insert(more.begin(), {"run", "tail", run_id_});
    return run_ctl(more, {url()});
  }
  std::unique_ptr<Child> follow() {
    ChildPlan plan{{build_folder() + "/hostlerctl", "run", "tail", run_id_, "-o", "json"},
                   {url()},
                   testing::TempDir() + "tail-" + run_id_ + ".log",
                   true};
    return std::make_unique<Child>(plan);
  }

  TestDatabase database_;
  RunFixture fixture_;
  std::string run_id_;
};

TEST_F(RunTail, PrintsWhatIsStoredAndHowTheRunEnded) {
  add_event(1, "run.started", R"({"model":"m"})");
  add_event(2, "run.completed", "{}");
  complete();
  ProgramRun text = tail({});
  EXPECT_EQ(text.status, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("     1  run.started           {\"model\":\"m\"}\n"));
  EXPECT_THAT(text.out, EndsWith("     2  run.completed         {}\n"));
  EXPECT_THAT(text.err, HasSubstr("run " + run_id_ + " of organization " + fixture_.org_id));
  EXPECT_THAT(text.err, HasSubstr("status: completed\n"));
  ProgramRun behind = tail({"--after-seq", "1", "-o", "json"});
  std::optional<Json> event = parse_json_or_nothing(behind.out);
  ASSERT_TRUE(event) << behind.out;
  EXPECT_EQ(event->integer_or("seq", 0), 2);
  EXPECT_EQ(event->text_or("type"), "run.completed");
}

TEST_F(RunTail, GivesTheTerminalNoOrderThatAModelWrote) {
  add_event(1, "message.delta", "{\"content\":\"a\u009b2Jb\u00a0c\"}");
  for (const char* form : {"text", "json"}) {
    ProgramRun shown = tail({"--no-follow", "-o", form});
    EXPECT_THAT(shown.out, HasSubstr("a\\u009b2Jb\u00a0c")) << form;
  }
}

TEST_F(RunTail, EndsAtOnceWhenItIsNotToFollow) {
  add_event(1, "run.started", "{}");
  EXPECT_THAT(tail({"--no-follow"}).out, HasSubstr("run.started"));
}

TEST_F(RunTail, NamesWhatIsNoRun) {
  EXPECT_EQ(run_ctl({"run", "tail", "nonsense"}, {url()}).status, 64);
  std::string none = "00000000-0000-7000-8000-000000000000";
  EXPECT_EQ(run_ctl({"run", "tail", none}, {url()}).status, 65);
}

TEST_F(RunTail, FollowsOverALostConnectionWithoutMissingOrRepeatingAnything) {
  add_event(1, "run.started", "{}");
  std::unique_ptr<Child> tail = follow();
  EXPECT_THAT(tail->read_line(), HasSubstr(R"("seq":1,)"));
  add_event(2, "message.delta", R"({"content":"a"})");
  EXPECT_THAT(tail->read_line(), HasSubstr(R"("seq":2,)"));
  std::string ended = fixture_.column(
      "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE "
      "datname = current_database() AND application_name = 'hostlerctl run tail'");
  EXPECT_EQ(ended, "1");
  add_event(3, "message.delta", R"({"content":"b"})");
  EXPECT_THAT(tail->read_line(), HasSubstr(R"("seq":3,)"));
  add_event(4, "run.completed", "{}");
  complete();
  EXPECT_THAT(tail->read_line(), HasSubstr(R"("seq":4,)"));
  EXPECT_EQ(tail->wait(), 0);
}

}  // namespace
}  // namespace hostler
