// GET /v1/runs/{run_id}/events through nginx: heads, statuses and cursors. What is live about a
// stream is tested in tests/unit/relay and tests/system/relay.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/clients/event_stream.h"
#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

// A runner that executes nothing: the runs stay as these tests write them.
ApiStack& stack() {
  static ApiStack shared({{"HOSTLER_RUN_SLOTS=0"}, true});
  return shared;
}

struct EndedRun {
  TestConversation conversation = make_conversation(stack());
  std::string id = start_run(conversation.user.client, conversation.thread_id);
  std::string events = "/v1/runs/" + id + "/events";

  EndedRun() {
    stack().sql().run_text(fmt::format(
        "INSERT INTO run_events (run_id, seq, type, data) VALUES ('{0}', 1, 'run.started', '{{}}'),"
        "('{0}', 2, 'message.delta', '{{\"content\": \"Hi\"}}');"
        "UPDATE runs SET last_seq = 2 WHERE id = '{0}'",
        id));
    end_run(stack(), id, "completed", "Hi");
  }
  Answer ask(const std::string& query, const std::string& last_event_id = "") const {
    Call call{"GET", events + query, {}, {}, {}};
    if (!last_event_id.empty()) call.headers.push_back({"Last-Event-ID", last_event_id});
    return conversation.user.client.send(call);
  }
};

int64_t events_in(const Answer& answer) { return std::ssize(EventStream{answer.body}.seqs()); }

TEST(RunEvents, AreAStreamThatNobodyHoldsBack) {
  EndedRun run;
  Answer answer = run.ask("");
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.header("content-type"), "text/event-stream");
  EXPECT_EQ(answer.header("cache-control"), "no-store");
  EXPECT_EQ(answer.header("x-accel-buffering"), "no");
  EXPECT_EQ(answer.header("x-content-type-options"), "nosniff");
  EXPECT_EQ(answer.header("x-trace-id").size(), 32U);
  EXPECT_FALSE(answer.header("strict-transport-security").empty());
  EXPECT_FALSE(answer.has_header("ratelimit"));
  EXPECT_TRUE(answer.body.starts_with(": ok\nretry: ")) << answer.body;
  EXPECT_NE(answer.body.find("\n\nid: 2\ndata: {\"seq\":2,\"type\":\"message.delta\","
                             "\"data\":{\"content\": \"Hi\"},\"created_at\":\"20"),
            std::string::npos)
      << answer.body;
  EXPECT_EQ(events_in(answer), 3);
}

TEST(RunEvents, BeginBehindTheCursor) {
  EndedRun run;
  EXPECT_EQ(events_in(run.ask("?after_seq=1")), 2);
  EXPECT_EQ(events_in(run.ask("", "2")), 1);
  EXPECT_EQ(events_in(run.ask("?after_seq=0", "2")), 1);
  EXPECT_EQ(events_in(run.ask("?follow=false")), 3);
}

TEST(RunEvents, PastTheEndAre204ForABrowserAndAnEmptyStreamOtherwise) {
  EndedRun run;
  Answer browser = run.ask("", "3");
  EXPECT_EQ(browser.status, 204);
  EXPECT_EQ(browser.body, "");
  Answer other = run.ask("?after_seq=3");
  EXPECT_EQ(other.status, 200);
  EXPECT_EQ(events_in(other), 0);
}

TEST(RunEvents, RefuseCursorsThatAreNone) {
  EndedRun run;
  EXPECT_TRUE(has_fault(run.ask("?after_seq=-1"), "after_seq", "out_of_range"));
  EXPECT_TRUE(has_fault(run.ask("?after_seq=9223372036854775808"), "after_seq", "out_of_range"));
  EXPECT_TRUE(has_fault(run.ask("?after_seq=x"), "after_seq", "wrong_type"));
  EXPECT_TRUE(has_fault(run.ask("?follow=1"), "follow", "wrong_type"));
  EXPECT_TRUE(has_fault(run.ask("", "1.5"), "Last-Event-ID", "wrong_type"));
  EXPECT_EQ(fault_count(run.ask("?after_seq=x&follow=y", "z")), 3U);
}

TEST(RunEvents, RefuseAQueryOfMoreThanSixtyFourParameters) {
  EndedRun run;
  std::string more = "?after_seq=x";
  for (int i = 0; i < 64; ++i) more += "&x";
  EXPECT_TRUE(is_problem(run.ask(more), 400, "http.bad_query"));
  EXPECT_TRUE(is_problem(stack().client().get(run.events + more), 401, "auth.missing_token"));
  const Client& client = run.conversation.user.client;
  EXPECT_TRUE(is_problem(client.get("/v1/runs/019ac3a2-7e10-7b42-9d0a-5f1c2a3b4c5d/events" + more),
                         404, "runs.not_found"));
  EXPECT_EQ(client.send({"HEAD", run.events + more, {}, {}, {}}).status, 400);
}

TEST(RunEvents, AreForWhoMayReadTheRun) {
  EndedRun run;
  Answer nobody = stack().client().get(run.events);
  EXPECT_TRUE(is_problem(nobody, 401, "auth.missing_token"));
  EXPECT_EQ(nobody.header("www-authenticate"), "Bearer");
  TestUser stranger = register_user(stack());
  EXPECT_TRUE(is_problem(stranger.client.get(run.events), 404, "runs.not_found"));
  add_member(stack(), run.conversation.user.org_id, stranger, "member");
  Client member = stranger.client.with_org(run.conversation.user.org_id);
  EXPECT_TRUE(is_problem(member.get(run.events), 403, "policy.denied"));
  std::string key = make_api_key(stack(), run.conversation.user, run.conversation.user.org_id);
  EXPECT_EQ(stack().client().with_token(key).get(run.events).status, 200);
}

TEST(RunEvents, OfRunsThatAreNotThereAreNotFound) {
  EndedRun run;
  const Client& client = run.conversation.user.client;
  EXPECT_TRUE(is_problem(client.get("/v1/runs/x/events"), 404, "runs.not_found"));
  EXPECT_TRUE(is_problem(client.get("/v1/runs/019ac3a2-7e10-7b42-9d0a-5f1c2a3b4c5d/events"), 404,
                         "runs.not_found"));
  EXPECT_EQ(client.del("/v1/threads/" + run.conversation.thread_id).status, 204);
  EXPECT_TRUE(is_problem(client.get(run.events), 404, "runs.not_found"));
}

TEST(RunEvents, OfARunThatWasPrunedAreGone) {
  EndedRun run;
  stack().sql().run_text("DELETE FROM run_events WHERE run_id = '" + run.id + "'");
  EXPECT_TRUE(is_problem(run.ask(""), 410, "runs.events_expired"));
}

TEST(RunEvents, AnswerHeadAsTheyWouldAnswerGet) {
  EndedRun run;
  Answer head = run.conversation.user.client.send({"HEAD", run.events, {}, {}, {}});
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.header("content-type"), "text/event-stream");
  EXPECT_EQ(head.body, "");
  EXPECT_EQ(stack().client().send({"HEAD", run.events, {}, {}, {}}).status, 401);
  const Client& client = run.conversation.user.client;
  EXPECT_EQ(client.send({"HEAD", "/v1/runs/x/events", {}, {}, {}}).status, 404);
  for (const auto& [cursor, status] :
       {std::pair{"0", 200}, std::pair{"9223372036854775807", 204}, std::pair{"x", 422}}) {
    std::vector<http::HttpField> fields{{"Last-Event-ID", cursor}};
    EXPECT_EQ(client.send({"HEAD", run.events, {}, {}, fields}).status, status) << cursor;
    EXPECT_EQ(client.send({"GET", run.events, {}, {}, fields}).status, status) << cursor;
  }
  EXPECT_EQ(client.send({"HEAD", run.events + "?after_seq=x", {}, {}, {}}).status, 422);
  EXPECT_EQ(client.del("/v1/threads/" + run.conversation.thread_id).status, 204);
  EXPECT_EQ(client.send({"HEAD", run.events, {}, {}, {}}).status, 404);
}

TEST(RunEvents, AnswerHeadOfARunThatWasPruned) {
  EndedRun run;
  stack().sql().run_text("DELETE FROM run_events WHERE run_id = '" + run.id + "'");
  EXPECT_EQ(run.conversation.user.client.send({"HEAD", run.events, {}, {}, {}}).status, 410);
}

TEST(RunEvents, AreThereUnderAPathInPercentEscapes) {
  EndedRun run;
  auto events_in = [](const std::string& body) { return body.substr(body.find("id: 1")); };
  std::string plain = events_in(run.ask("").body);
  for (const char* path :
       {"/v1/runs/{}/%65vents", "/v1/run%73/{}/events", "/v%31/runs/{}/events"}) {
    Answer answer = run.conversation.user.client.get(fmt::format(fmt::runtime(path), run.id));
    ASSERT_EQ(answer.status, 200) << path;
    EXPECT_EQ(answer.headers_named("cache-control"), std::vector<std::string>{"no-store"});
    EXPECT_EQ(events_in(answer.body), plain) << path;
    Answer missing = run.conversation.user.client.get(fmt::format(fmt::runtime(path), "x"));
    EXPECT_TRUE(is_problem(missing, 404, "runs.not_found")) << path;
    EXPECT_EQ(stack().client().get(fmt::format(fmt::runtime(path), run.id)).status, 401) << path;
  }
}

}  // namespace
}  // namespace hostler::testing_support
