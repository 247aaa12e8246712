// Tests what holds for every endpoint (contract section 1): bodies, methods, paths, the order of
// checks, the head of answers. Shown on a few routes that stand for all.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <regex>

#include "tests/support/eventually.h"
#include "tests/support/rows/accounts.h"
#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

ApiStack& stack() { return ApiStack::shared(); }

const std::string nobodys_id = "01a1fa43-8dcd-7506-ab81-ef7a33b2be1a";

struct BadBody {
  std::string body;
  int64_t offset;
};

TEST(Bodies, ThatAreNoJsonObjectAnswerWhereTheyBreak) {
  TestUser user = register_user(stack());
  std::string path =
      "/v1/threads/" + user.client.post("/v1/threads", "{}").member("id") + "/messages";
  std::string deep = R"({"title":)" + std::string(64, '[') + std::string(64, ']') + "}";
  for (const BadBody& bad : std::vector<BadBody>{{"[]", 0},
                                                 {"7", 0},
                                                 {"{", 1},
                                                 {R"({"title":"x"} )"
                                                  "{}",
                                                  14},
                                                 {R"({"title":tru})", 12},
                                                 {R"({"title":"x","title":"y"})", -1},
                                                 {"{\"title\":\"\xff\"}", -1},
                                                 {R"({"title":"\ud800"})", -1},
                                                 {R"({"title":"\u0000"})", -1},
                                                 {"\xef\xbb\xbf{}", 0},
                                                 {deep, -1}}) {
    Answer answer = user.client.post(path, bad.body);
    ASSERT_TRUE(is_problem(answer, 400, "http.bad_json")) << bad.body;
    if (bad.offset >= 0) {
      EXPECT_EQ(answer.member("offset"), std::to_string(bad.offset)) << bad.body;
    }
    EXPECT_NE(answer.member("detail"), "");
  }
  EXPECT_TRUE(is_problem(user.client.patch("/v1/me", ""), 400, "http.bad_json"))
      << "an empty body where one is needed";
}

TEST(Bodies, MayNestSixtyFourLevels) {
  TestUser user = register_user(stack());
  std::string deep = R"({"unknown":)" + std::string(63, '[') + std::string(63, ']') + "}";
  EXPECT_EQ(user.client.post("/v1/threads", deep).status, 201);
}

std::string many(int count, std::string_view one) {
  std::string all;
  for (int i = 0; i < count; ++i) all += one;
  return all;
}

TEST(Bodies, OfMoreThanTwentyThousandValuesAreRefused) {
  TestUser user = register_user(stack());
  std::string nearly = R"({"unknown":[)" + many(19'990, "0,") + "0]}";
  EXPECT_EQ(user.client.post("/v1/threads", nearly).status, 201);
  std::string nested = R"({"unknown":[)" + many(20'000, "[],") + "0]}";
  EXPECT_TRUE(is_problem(user.client.post("/v1/threads", nested), 400, "http.bad_json"));
}

TEST(Queries, OfMoreThanSixtyFourParametersAreToldBehindTheIds) {
  TestConversation talk = make_conversation(stack());
  const TestUser& owner = talk.user;
  const std::string& thread = talk.thread_id;
  std::string run = start_run(owner.client, thread);
  std::string most = "?" + many(63, "x&") + "y";
  std::string more = "?" + many(64, "x&") + "limit=0";
  for (const std::string& path :
       {std::string("/v1/me"), "/v1/threads/" + thread, "/v1/runs/" + run}) {
    EXPECT_TRUE(is_problem(owner.client.get(path + more), 400, "http.bad_query")) << path;
    EXPECT_TRUE(is_problem(stack().client().get(path + more), 401, "auth.missing_token")) << path;
  }
  EXPECT_TRUE(is_problem(owner.client.get("/v1/runs/" + run + most), 422, "validation.error"));
  EXPECT_TRUE(is_problem(stack().client().get("/healthz" + more), 400, "http.bad_query"));
  EXPECT_TRUE(is_problem(owner.client.post("/v1/threads" + more, "{"), 400, "http.bad_query"));
  EXPECT_TRUE(
      is_problem(owner.client.get("/v1/threads/" + nobodys_id + more), 404, "threads.not_found"));
  EXPECT_TRUE(is_problem(owner.client.get("/v1/runs/" + nobodys_id + more), 404, "runs.not_found"));
  EXPECT_TRUE(is_problem(owner.client.get("/v1/llm-providers" + more), 403, "auth.forbidden"));
}

TEST(Bodies, ThatAreCompressedAreRefusedWithTheMend) {
  TestUser user = register_user(stack());
  auto send = [&](const char* coding) {
    return user.client.send(
        {"POST", "/v1/threads", "{}", "application/json", {{"Content-Encoding", coding}}});
  };
  Answer answer = send("gzip");
  EXPECT_TRUE(is_problem(answer, 415, "http.unsupported_media_type"));
  EXPECT_EQ(answer.member("detail"), "send the body without Content-Encoding");
  EXPECT_EQ(send("identity").status, 201);
}

TEST(Bodies, OfAnotherTypeAreRefusedWithTheMend) {
  TestUser user = register_user(stack());
  for (std::string type :
       {"text/plain", "application/x-www-form-urlencoded", "application/jsonx"}) {
    Answer answer = user.client.send({"POST", "/v1/threads", "{}", type, {}});
    EXPECT_TRUE(is_problem(answer, 415, "http.unsupported_media_type")) << type;
    EXPECT_EQ(answer.member("detail"), "send Content-Type: application/json");
  }
  for (std::string type : {"application/json; charset=utf-8", "APPLICATION/JSON"}) {
    EXPECT_EQ(user.client.send({"POST", "/v1/threads", "{}", type, {}}).status, 201) << type;
  }
}

TEST(Bodies, ThatNobodyAskedForNeedNoType) {
  TestUser user = register_user(stack());
  Call call{"POST", "/v1/auth/logout", "whatever", "text/plain", {}};
  EXPECT_EQ(user.client.send(call).status, 200);
}

TEST(Bodies, MayHaveOneMebibyte) {
  TestUser user = register_user(stack());
  std::string fits = R"({"unknown":")" + std::string((1 << 20) - 14, 'x') + R"("})";
  ASSERT_EQ(fits.size(), size_t{1} << 20);
  EXPECT_EQ(user.client.post("/v1/threads", fits).status, 201);
  EXPECT_TRUE(
      is_problem(user.client.post("/v1/threads", fits + " "), 413, "http.request_too_large"));
}

TEST(Bodies, ThatAreTooLargeAreToldBehindThePathAndTheMethod) {
  TestUser user = register_user(stack());
  std::string large((1 << 20) + 1, ' ');
  EXPECT_TRUE(is_problem(user.client.post("/v1/runz", large), 404, "http.not_found"));
  Answer method = user.client.send({"PUT", "/v1/threads", large, "application/json", {}});
  EXPECT_TRUE(is_problem(method, 405, "http.method_not_allowed"));
  EXPECT_EQ(method.header("allow"), "GET, HEAD, POST, OPTIONS");
  EXPECT_TRUE(
      is_problem(stack().client().post("/v1/threads", large), 413, "http.request_too_large"));
}

TEST(Bodies, HaveUnknownMembersIgnored) {
  TestUser user = register_user(stack());
  Answer made = user.client.post("/v1/threads", R"({"title":"x","id":"y","more":{}})");
  EXPECT_EQ(made.status, 201);
  EXPECT_EQ(made.member("title"), "x");
}

TEST(Paths, ThatNobodyKnowsAreNotFoundForAnybody) {
  for (const char* path : {"/", "/v1", "/v1/", "/v1/nothing", "/v1/threads/", "/v2/threads",
                           "/v1/auth/login/x", "/v1/runs/x:stop", "/V1/threads"}) {
    EXPECT_TRUE(is_problem(stack().client().get(path), 404, "http.not_found")) << path;
  }
}

TEST(Methods, ThatAPathDoesNotHaveAreToldWithThoseItHas) {
  struct Case {
    const char *method, *path, *allow;
  };
  for (const Case& one : {Case{"DELETE", "/v1/auth/login", "POST, OPTIONS"},
                          Case{"PUT", "/v1/me", "GET, HEAD, PATCH, DELETE, OPTIONS"},
                          Case{"GET", "/v1/auth/register", "POST, OPTIONS"},
                          Case{"BREW", "/v1/me", "GET, HEAD, PATCH, DELETE, OPTIONS"},
                          // nginx would refuse this one by itself, with methods of its own.
                          Case{"TRACE", "/healthz", "GET, HEAD, OPTIONS"}}) {
    Answer answer = stack().client().send({one.method, one.path, "", "", {}});
    EXPECT_TRUE(is_problem(answer, 405, "http.method_not_allowed")) << one.path;
    EXPECT_EQ(answer.header("allow"), one.allow);
    Answer options = stack().client().send({"OPTIONS", one.path, "", "", {}});
    EXPECT_EQ(options.status, 204);
    EXPECT_EQ(options.header("allow"), one.allow);
    EXPECT_EQ(options.body, "");
  }
}

TEST(Methods, HeadAnswersAsGetWithoutABody) {
  TestUser user = register_user(stack());
  Answer get = user.client.get("/v1/me");
  Answer head = user.client.send({"HEAD", "/v1/me", "", "", {}});
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.body, "");
  EXPECT_EQ(head.header("content-type"), get.header("content-type"));
  EXPECT_EQ(stack().client().send({"HEAD", "/v1/me", "", "", {}}).status, 401);
}

TEST(Answers, CarryTheHeadersOfEveryAnswer) {
  TestUser user = register_user(stack());
  for (const Answer& answer : {user.client.get("/v1/me"), user.client.get("/v1/nothing"),
                               stack().client().get("/v1/me"), stack().client().get("/healthz")}) {
    EXPECT_EQ(answer.header("cache-control"), "no-store");
    EXPECT_EQ(answer.header("x-content-type-options"), "nosniff");
    EXPECT_NE(answer.header("strict-transport-security"), "");
    EXPECT_TRUE(std::regex_match(answer.header("x-trace-id"), std::regex("[0-9a-f]{32}")));
    for (const char* name : {"cache-control", "x-trace-id", "x-content-type-options"}) {
      EXPECT_EQ(answer.headers_named(name).size(), 1u) << name;
    }
  }
}

// 401, then 403, then 404, then 415 and 400, then 422: each is reported although all later ones
// apply.
TEST(Order, OfChecksIsThatOfTheContract) {
  TestUser owner = register_user(stack());
  TestUser stranger = register_user(stack());
  std::string thread = owner.client.post("/v1/threads", "{}").member("id");
  std::string path = "/v1/threads/" + thread;
  Call bad{"PATCH", path, "{", "text/plain", {}};
  EXPECT_TRUE(is_problem(stack().client().send(bad), 401, "auth.missing_token"));
  EXPECT_TRUE(is_problem(stack().client().with_token("hat_" + std::string(43, 'A')).send(bad), 401,
                         "auth.invalid_token"));
  Client reader =
      stack().client().with_token(make_api_key(stack(), owner, owner.org_id, "data.threads.read"));
  EXPECT_TRUE(is_problem(reader.send(bad), 403, "auth.forbidden"));
  EXPECT_NE(reader.send(bad).member("detail").find("data.threads.write"), std::string::npos);
  EXPECT_TRUE(is_problem(stranger.client.send(bad), 404, "threads.not_found"));
  EXPECT_TRUE(is_problem(owner.client.send(bad), 415, "http.unsupported_media_type"));
  bad.content_type = "application/json";
  EXPECT_TRUE(is_problem(owner.client.send(bad), 400, "http.bad_json"));
  bad.body = "{}";
  EXPECT_TRUE(is_problem(owner.client.send(bad), 422, "validation.error"));
  bad.path = "/v1/threads/not-an-id";
  EXPECT_TRUE(is_problem(owner.client.send(bad), 404, "threads.not_found"));
  EXPECT_TRUE(is_problem(reader.send(bad), 403, "auth.forbidden"));
  bad.path = "/v1/threads/" + nobodys_id;
  EXPECT_TRUE(is_problem(owner.client.send(bad), 404, "threads.not_found"));
  bad.method = "PUT";
  EXPECT_TRUE(is_problem(stack().client().send(bad), 405, "http.method_not_allowed"));
}

TEST(Order, OfIdsIsBeforeThatOfQueries) {
  TestUser admin = register_admin(stack());
  for (const char* bad :
       {"GET /v1/llm-providers/{}/models?limit=x",
        "GET /v1/feature-flags/no.such/org-overrides?limit=x",
        "GET /v1/feature-flags/no.such/evaluate?org_id=x", "DELETE /v1/ip-rules/{}?force=x",
        "DELETE /v1/entitlement-overrides/{}?org_id=x"}) {
    std::string call = fmt::format(fmt::runtime(bad), nobodys_id);
    size_t blank = call.find(' ');
    Answer answer = admin.client.send({call.substr(0, blank), call.substr(blank + 1), "", "", {}});
    EXPECT_EQ(answer.status, 404) << call << answer.body;
  }
  for (const char* path : {"/v1/openai/responses/resp_{}?stream=x",
                           "/v1/openai/responses/resp_{}/input_items?limit=x"}) {
    Answer answer = admin.client.get(fmt::format(fmt::runtime(path), nobodys_id));
    EXPECT_EQ(answer.status, 404) << path << answer.body;
  }
  for (const char* path :
       {"/v1/threads/{}:retry", "/v1/webhook-endpoints/{}/rotate-secret",
        "/v1/webhook-endpoints/{}:test", "/v1/tools/{}/rotate-secret?scope=org"}) {
    Call call{"POST", fmt::format(fmt::runtime(path), nobodys_id), "", "", {}};
    call.headers.emplace_back("Idempotency-Key", std::string(256, 'k'));
    Answer answer = admin.client.send(call);
    EXPECT_EQ(answer.status, 404) << path << answer.body;
  }
}

TEST(Order, OfAWrongScopeIsThatOfValues) {
  TestUser admin = register_admin(stack());
  Call call{"POST", "/v1/personas?scope=x", "{", "application/json", {}};
  EXPECT_TRUE(is_problem(admin.client.send(call), 400, "http.bad_json"));
  call.body = R"({"version":7})";
  Answer faults = admin.client.send(call);
  EXPECT_TRUE(has_fault(faults, "scope", "unknown"));
  EXPECT_TRUE(has_fault(faults, "version", "wrong_type"));
  // A caller without rights for the platform gets that answer too, for things with ids as well, and
  // once.
  TestUser user = register_user(stack());
  for (std::string path : {"/v1/tools?scope=x", "/v1/llm-providers/{}/models?scope=ORG"}) {
    if (size_t id = path.find("{}"); id != path.npos) path.replace(id, 2, nobodys_id);
    Answer wrong = user.client.get(path);
    EXPECT_TRUE(has_fault(wrong, "scope", "unknown")) << path << wrong.body;
    EXPECT_EQ(fault_count(wrong), 1u) << path;
  }
}

// Nobody acts in an organization there.
TEST(Paths, OfEverybodyServeWithAnyOrganization) {
  Client client = stack().client().with_org("abc");
  for (const char* path : {"/healthz", "/readyz", "/v1/openapi.json", "/v1/auth/captcha-config",
                           "/v1/auth/registration-mode"}) {
    EXPECT_EQ(client.get(path).status, 200) << path;
  }
  EXPECT_EQ(client.post("/v1/auth/check", R"({"login":"x"})").status, 200);
}

TEST(Queries, RefuseValuesOutOfFormAllAtOnce) {
  TestUser user = register_user(stack());
  struct Case {
    const char *query, *code;
  };
  for (const Case& one :
       {Case{"0", "out_of_range"}, Case{"201", "out_of_range"}, Case{"-1", "out_of_range"},
        Case{"x", "wrong_type"}, Case{"", "wrong_type"}, Case{"1.5", "wrong_type"},
        Case{"99999999999999999999", "wrong_type"}}) {
    EXPECT_TRUE(has_fault(user.client.get(fmt::format("/v1/threads?limit={}", one.query)), "limit",
                          one.code))
        << one.query;
  }
  Answer several = user.client.get("/v1/threads?limit=x&before=y");
  EXPECT_TRUE(has_fault(several, "limit", "wrong_type"));
  EXPECT_TRUE(has_fault(several, "before", "bad_format"));
  EXPECT_TRUE(has_fault(user.client.get("/v1/threads?limit=1&limit=2"), "limit", "doubled"));
}

TEST(Denials, AreAuditedWithWhatWasAskedFor) {
  TestUser user = register_user(stack());
  Answer refused = user.client.get("/v1/llm-providers?scope=platform");
  ASSERT_TRUE(is_problem(refused, 403, "auth.forbidden"));
  std::string wanted = fmt::format(
      "SELECT count(*) FROM audit_logs WHERE action = 'access.denied' AND actor_user_id = '{}' AND "
      "target_id = 'GET /v1/llm-providers' AND result = 'denied'",
      user.id);
  EXPECT_TRUE(eventually(10'000, [&] { return sql_number(stack(), wanted) > 0; }))
      << "it is written after the answer";
  EXPECT_EQ(sql_number(stack(), wanted), 1);
}

TEST(Document, IsServedToAnybody) {
  Answer answer = stack().client().get("/v1/openapi.json");  // GET /v1/openapi.json
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.member("openapi"), "3.1.0");
  EXPECT_NE(answer.json().find("paths")->find("/v1/openapi.json"), nullptr);
  EXPECT_EQ(answer.json().find("x-shapes"), nullptr);
}

TEST(Health, AnswersWithoutAnything) {
  EXPECT_EQ(stack().client().get("/healthz").body, R"({"status":"ok"})");  // GET /healthz
  Answer ready = stack().client().get("/readyz");                          // GET /readyz
  std::string many = "/readyz?";
  for (int i = 0; i < 65; ++i) many += fmt::format("p{}=&", i);
  EXPECT_TRUE(is_problem(stack().client().get(many), 400, "http.bad_query")) << "not 503";
  EXPECT_EQ(ready.member("status"), "ok");
  EXPECT_EQ(ready.member("schema_version"),
            sql_value(stack(), "SELECT max(version) FROM schema_migrations"));
}

}  // namespace
}  // namespace hostler::testing_support
