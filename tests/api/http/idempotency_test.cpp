// Idempotency-Key: a call happens once, and its first answer is the answer of all that repeat it.
#include <gtest/gtest.h>

#include <thread>

#include <fmt/format.h>

#include "tests/support/clients/notifications.h"
#include "tests/support/eventually.h"
#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

ApiStack& stack() { return ApiStack::shared(); }

Call keyed(const std::string& path, const std::string& key, const std::string& body = "{}") {
  return {"POST", path, body, "application/json", {{"Idempotency-Key", key}}};
}

bool is_replay(const Answer& answer) { return answer.header("idempotency-replayed") == "true"; }

int64_t threads_of(const TestUser& user) {
  return sql_number(stack(), fmt::format("SELECT count(*) FROM threads WHERE created_by_user_id = "
                                         "'{}'",
                                         user.id));
}

TEST(IdempotencyKey, AnswersARepeatedCallAsTheFirst) {
  TestUser user = register_user(stack());
  Call call = keyed("/v1/threads", "trip", R"({"title":"Reise nach Köln"})");
  Answer first = user.client.send(call);
  ASSERT_EQ(first.status, 201) << first.body;
  EXPECT_FALSE(is_replay(first));
  Answer second = user.client.send(call);
  EXPECT_EQ(second.status, 201);
  EXPECT_EQ(second.body, first.body);
  EXPECT_TRUE(is_replay(second));
  EXPECT_EQ(threads_of(user), 1);
}

TEST(IdempotencyKey, BelongsToOneBodyAndQuery) {
  TestUser user = register_user(stack());
  ASSERT_EQ(user.client.send(keyed("/v1/threads", "k", R"({"title":"a"})")).status, 201);
  EXPECT_TRUE(is_problem(user.client.send(keyed("/v1/threads", "k", R"({"title":"b"})")), 422,
                         "idempotency.key_reused"));
  EXPECT_EQ(threads_of(user), 1);
  TestUser admin = register_admin(stack());
  const char* provider = R"({"name":"one","provider_kind":"anthropic"})";
  Answer first = admin.client.send(keyed("/v1/llm-providers?scope=org", "k", provider));
  ASSERT_EQ(first.status, 201) << first.body;
  Answer other_query = admin.client.send(keyed("/v1/llm-providers?scope=platform", "k", provider));
  EXPECT_TRUE(is_problem(other_query, 422, "idempotency.key_reused"));
  EXPECT_NE(other_query.member("detail").find("another body or query"), std::string::npos);
}

TEST(IdempotencyKey, BelongsToOnePathAndCaller) {
  TestUser user = register_user(stack());
  TestUser other = register_user(stack());
  std::string work = make_workspace(stack(), user);
  std::string thread = make_thread(user.client);
  std::string second_thread = make_thread(user.client);
  Client api_key = stack().client().with_token(make_api_key(stack(), user, user.org_id));
  Client other_key = stack().client().with_token(make_api_key(stack(), user, user.org_id));
  std::string message = R"({"content":"hello"})";
  Call there = keyed("/v1/threads/" + thread + "/messages", "k", message);
  Call here = keyed("/v1/threads/" + second_thread + "/messages", "k", message);
  EXPECT_NE(user.client.send(there).member("id"), user.client.send(here).member("id"));
  Call call = keyed("/v1/threads", "k");
  std::set<std::string> made;
  for (const Client& client :
       {user.client, other.client, user.client.with_org(work), api_key, other_key}) {
    Answer first = client.send(call);
    EXPECT_EQ(first.status, 201) << first.body;
    EXPECT_FALSE(is_replay(first));
    EXPECT_TRUE(is_replay(client.send(call)));
    made.insert(first.member("id"));
  }
  EXPECT_EQ(made.size(), 5u);
}

TEST(IdempotencyKey, OutlivesTheSessionThatUsedIt) {
  TestUser user = register_user(stack());
  Answer first = user.client.send(keyed("/v1/threads", "k"));
  Client again = log_in(stack(), user);
  EXPECT_EQ(again.send(keyed("/v1/threads", "k")).body, first.body);
}

TEST(IdempotencyKey, HasOneTo255Characters) {
  TestUser user = register_user(stack());
  EXPECT_TRUE(
      has_fault(user.client.send(keyed("/v1/threads", "")), "Idempotency-Key", "too_short"));
  std::string longest(255, 'k');
  EXPECT_EQ(user.client.send(keyed("/v1/threads", longest)).status, 201);
  EXPECT_TRUE(has_fault(user.client.send(keyed("/v1/threads", longest + "k")), "Idempotency-Key",
                        "too_long"));
  // Characters, and whatever bytes they are made of.
  std::string umlauts;
  for (int i = 0; i < 255; ++i) umlauts += "ü";
  EXPECT_EQ(user.client.send(keyed("/v1/threads", umlauts)).status, 201);
  EXPECT_EQ(user.client.send(keyed("/v1/threads", "\xff\xfe")).status, 201);
  EXPECT_EQ(threads_of(user), 3);
}

TEST(IdempotencyKey, IsToldAfterTheCallersOwnFaults) {
  TestUser user = register_user(stack());
  EXPECT_TRUE(
      is_problem(stack().client().send(keyed("/v1/threads", "")), 401, "auth.missing_token"));
  EXPECT_TRUE(is_problem(
      user.client.with_token("hat_" + std::string(43, 'x')).send(keyed("/v1/threads", "k")), 401,
      "auth.invalid_token"));
  Client reader =
      stack().client().with_token(make_api_key(stack(), user, user.org_id, "data.runs.read"));
  EXPECT_TRUE(is_problem(reader.send(keyed("/v1/threads", "")), 403, "auth.forbidden"));
  // 404 of the path's id comes before 422 of key and body, with a good key too.
  for (const char* key : {"", "k"}) {
    EXPECT_TRUE(is_problem(
        user.client.send(keyed("/v1/threads/01a1fa43-8dcd-7506-ab81-ef7a33b2be1a/messages", key,
                               R"({"content":""})")),
        404, "threads.not_found"))
        << key;
  }
}

// Type and form of the body come before it, and values stand beside it.
TEST(IdempotencyKey, IsToldBehindTheFormOfTheBodyAndWithItsValues) {
  TestUser user = register_user(stack());
  for (const char* path : {"/v1/threads", "/v1/webhook-endpoints"}) {
    Call call = keyed(path, "", "{");
    EXPECT_TRUE(is_problem(user.client.send(call), 400, "http.bad_json")) << path;
    call.content_type = "text/plain";
    EXPECT_TRUE(is_problem(user.client.send(call), 415, "http.unsupported_media_type")) << path;
  }
  Answer both = user.client.send(keyed("/v1/threads", "", R"({"title":7})"));
  EXPECT_TRUE(has_fault(both, "Idempotency-Key", "too_short"));
  EXPECT_TRUE(has_fault(both, "title", "wrong_type"));
}

// Concurrent repeats do not block each other, and with another body the call is refused.
TEST(IdempotencyKey, OfACallThatIsOverIsNeverInProgress) {
  TestUser user = register_user(stack());
  Call call = keyed("/v1/threads", "k", R"({"title":"a"})");
  Answer first = user.client.send(call);
  ASSERT_EQ(first.status, 201);
  Call other = keyed("/v1/threads", "k", R"({"title":"b"})");
  std::vector<Call> calls;
  for (int i = 0; i < 12; ++i) calls.push_back(i % 4 == 3 ? other : call);
  for (int round = 0; round < 10; ++round) {
    std::vector<Answer> answers = user.client.send_all(calls);
    for (size_t i = 0; i < answers.size(); ++i) {
      if (i % 4 == 3) {
        EXPECT_TRUE(is_problem(answers[i], 422, "idempotency.key_reused"));
      } else {
        EXPECT_EQ(answers[i].body, first.body);
        EXPECT_TRUE(is_replay(answers[i]));
      }
    }
  }
  EXPECT_EQ(threads_of(user), 1);
}

TEST(IdempotencyKey, KeepsNoAnswerOfACallThatFailed) {
  TestConversation conversation = make_conversation(stack());
  const Client& client = conversation.user.client;
  Call call = keyed(runs_of(conversation.thread_id), "k");
  std::string active = start_run(client, conversation.thread_id);
  EXPECT_TRUE(is_problem(client.send(call), 409, "runs.thread_busy"));
  EXPECT_TRUE(is_problem(client.send(keyed("/v1/threads", "k", R"({"title":1})")), 422,
                         "validation.error"));
  client.post("/v1/runs/" + active + ":cancel");
  Answer made = client.send(call);
  EXPECT_EQ(made.status, 201) << made.body;
  EXPECT_FALSE(is_replay(made));
  EXPECT_EQ(client.send(keyed("/v1/threads", "k", R"({"title":"x"})")).status, 201);
}

TEST(IdempotencyKey, StoresNothingThatCanBeRead) {
  TestUser user = register_user(stack());
  user.client.send(keyed("/v1/threads", "a very plain key", R"({"title":"a very plain title"})"));
  std::string stored = sql_value(
      stack(), fmt::format("SELECT r::text || encode(s.sealed, 'escape') FROM "
                           "idempotency_records r JOIN secrets s ON s.id = r.secret_id AND "
                           "s.org_id = r.org_id AND s.kind = 'idempotency' WHERE r.org_id = '{}'",
                           user.org_id));
  EXPECT_EQ(stored.find("plain"), stored.npos);
}

TEST(IdempotencyKey, IsForgottenAfterADay) {
  TestUser user = register_user(stack());
  Call call = keyed("/v1/threads", "k");
  std::string first = user.client.send(call).member("id");
  std::string old = fmt::format(
      "UPDATE idempotency_records SET created_at = created_at - interval '24 hours' WHERE org_id = "
      "'{}'",
      user.org_id);
  std::string count = fmt::format(
      "SELECT (SELECT count(*) FROM idempotency_records WHERE org_id = '{0}') + (SELECT count(*) "
      "FROM secrets WHERE org_id = '{0}')",
      user.org_id);
  stack().sql().run_text(old);
  EXPECT_NE(user.client.send(call).member("id"), first);
  EXPECT_EQ(sql_number(stack(), count), 2) << "the new answer takes the old one's place";
  stack().sql().run_text("SELECT idempotency_prune(1000)");
  EXPECT_EQ(sql_number(stack(), count), 2);
  stack().sql().run_text(old);
  stack().sql().run_text("SELECT idempotency_prune(1000)");
  EXPECT_EQ(sql_number(stack(), count), 0);
}

TEST(IdempotencyKey, MakesOneOfManyCallsAtOnce) {
  TestUser user = register_user(stack());
  std::vector<Call> calls(12, keyed("/v1/threads", "k"));
  std::string id;
  for (const Answer& answer : user.client.send_all(calls)) {
    if (answer.status == 409) {
      EXPECT_TRUE(is_problem(answer, 409, "idempotency.in_progress"));
      EXPECT_EQ(answer.header("retry-after"), "1");
      continue;
    }
    EXPECT_EQ(answer.status, 201) << answer.body;
    if (id.empty()) id = answer.member("id");
    EXPECT_EQ(answer.member("id"), id);
  }
  EXPECT_FALSE(id.empty());
  EXPECT_EQ(threads_of(user), 1);
}

// Holds writers of threads back until it ends.
class ThreadsHeld {
 public:
  ThreadsHeld() : session_(stack().database().as_superuser()) {
    session_.begin();
    session_.run_text("LOCK TABLE threads IN EXCLUSIVE MODE");
  }
  void let_go() { session_.rollback(); }
  // The server process of a waiting session; waits for one.
  static std::string waiting_pid() {
    constexpr const char* question =
        "SELECT coalesce(max(l.pid), 0) FROM pg_locks l JOIN pg_database d ON d.oid = l.database "
        "WHERE d.datname = current_database() AND l.relation = 'threads'::regclass AND NOT "
        "l.granted";
    std::string pid = "0";
    EXPECT_TRUE(eventually(10'000, [&] {
      pid = sql_value(stack(), question);
      return pid != "0";
    })) << "nobody waits";
    return pid;
  }

 private:
  postgres::DbSession session_;
};

TEST(IdempotencyKey, LeavesNothingOfACallThatBrokeOff) {
  TestUser user = register_user(stack());
  Call call = keyed("/v1/threads", "k");
  ThreadsHeld held;
  Answer first;
  std::thread caller([&first, &user, &call] {
    Line line(stack().line().base_url(), stack().certificate());
    Client client(line);
    client.token = user.client.token;
    first = client.send(call);
  });
  std::string pid = ThreadsHeld::waiting_pid();
  EXPECT_TRUE(is_problem(user.client.send(call), 409, "idempotency.in_progress"));
  sql_value(stack(), "SELECT pg_terminate_backend(" + pid + ")");
  caller.join();
  EXPECT_TRUE(is_problem(first, 503, "database.unavailable"));
  held.let_go();
  EXPECT_EQ(threads_of(user), 0);
  Answer again = user.client.send(call);
  EXPECT_EQ(again.status, 201) << again.body;
  EXPECT_FALSE(is_replay(again));
  EXPECT_TRUE(is_replay(user.client.send(call)));
  EXPECT_EQ(threads_of(user), 1);
}

TEST(IdempotencyKey, StartsOneRunAndNotifiesOfItOnce) {
  TestConversation conversation = make_conversation(stack());
  Call call = keyed(runs_of(conversation.thread_id), "k");
  // No daemon exists to be notified alone, if another test has named one.
  sql_value(stack(),
            "WITH gone AS (UPDATE daemons SET stopped_at = now() RETURNING id) "
            "SELECT count(*) FROM gone");
  Notifications notifications(stack(), "hostler_runs");
  Answer first = conversation.user.client.send(call);
  ASSERT_EQ(first.status, 201) << first.body;
  Answer second = conversation.user.client.send(call);
  EXPECT_TRUE(is_replay(second));
  EXPECT_EQ(second.member("run_id"), first.member("run_id"));
  EXPECT_EQ(second.member("trace_id"), first.header("x-trace-id"));
  EXPECT_EQ(notifications.wait_for(1), 1);
  EXPECT_EQ(sql_number(stack(), fmt::format("SELECT count(*) FROM runs WHERE thread_id = '{}'",
                                            conversation.thread_id)),
            1);
}

TEST(IdempotencyKey, MeansNothingWhereACallMakesNothing) {
  TestConversation conversation = make_conversation(stack());
  std::string run_id = start_run(conversation.user.client, conversation.thread_id);
  for (int i = 0; i < 2; ++i) {
    Answer cancelled = conversation.user.client.send(keyed("/v1/runs/" + run_id + ":cancel", "k"));
    EXPECT_EQ(cancelled.status, 200) << cancelled.body;
    EXPECT_FALSE(is_replay(cancelled));
  }
  TestUser user = register_user(stack());
  std::string login = account_json(user.login, user.password, user.email);
  EXPECT_EQ(user.client.send(keyed("/v1/auth/login", "k", login)).status, 200);
  EXPECT_EQ(user.client.send(keyed("/v1/auth/login", "k", "{}")).status, 422);
}

}  // namespace
}  // namespace hostler::testing_support
