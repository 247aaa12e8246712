// The access log over HTTP: what a request leaves in it, how soon, and how it is read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include <fmt/format.h>

#include "tests/support/eventually.h"
#include "tests/support/rigs/run_program.h"
#include "tests/support/rows/accounts.h"
#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

using testing::HasSubstr;

ApiStack& stack() {
  static ApiStack own({.settings = {}, .has_runner = true});
  return own;
}
const TestUser& admin() {
  static const TestUser user = register_admin(stack());
  return user;
}

Answer list(const std::string& query) {
  return admin().client.get("/v1/admin/access-log?" + query);
}

// The rows of a path, once there are as many.
std::vector<Json> rows_of(const std::string& path, size_t count = 1) {
  std::vector<Json> rows;
  EXPECT_TRUE(eventually(3000, [&] {
    Answer answer = list("limit=200&path=" + path);
    EXPECT_EQ(answer.status, 200) << answer.body;
    Json body = answer.json();
    const Json::Array& data = *body.find("data")->as_array();
    rows.assign(data.begin(), data.end());
    return rows.size() >= count;
  })) << path;
  return rows;
}

// A path that nobody else asks for.
std::string new_path() { return "/v1/threads/" + new_name("x"); }

TEST(AccessLog, HasARowOfARequestWithinThreeSeconds) {
  SCOPED_TRACE("GET /v1/admin/access-log");
  TestUser user = register_user(stack());
  std::string path = new_path();
  Answer answer = user.client.send({"GET", path + "?secret=1", "", "", {{"User-Agent", "curl/8"}}});
  EXPECT_EQ(answer.status, 404);
  EXPECT_FALSE(answer.has_header("x-hostler-note")) << "that is for nginx alone";
  std::vector<Json> rows = rows_of(path);
  ASSERT_EQ(rows.size(), 1u);
  const Json& row = rows[0];
  EXPECT_EQ(row.text_or("trace_id"), answer.header("x-trace-id"));
  EXPECT_EQ(row.text_or("method"), "GET");
  EXPECT_EQ(row.text_or("path"), path) << "without the query";
  EXPECT_EQ(row.integer_or("status_code", 0), 404);
  EXPECT_EQ(row.text_or("client_ip"), "127.0.0.1");
  EXPECT_EQ(row.text_or("user_agent"), "curl/8");
  EXPECT_EQ(row.text_or("ua_type"), "tool");
  EXPECT_EQ(row.text_or("identity_type"), "user") << "known, though the thread is not";
  EXPECT_EQ(row.text_or("org_id"), user.org_id);
  EXPECT_EQ(row.text_or("user_id"), user.id);
  EXPECT_EQ(row.text_or("username"), user.login);
  EXPECT_EQ(row.text_or("country", "-"), "");
}

TEST(AccessLog, TellsKeysUsersAndNobodyApart) {
  TestUser user = register_user(stack());
  std::string path = new_path();
  Client key = stack().client().with_token(make_api_key(stack(), user, user.org_id));
  Client powerless =
      stack().client().with_token(make_api_key(stack(), user, user.org_id, "data.runs.read"));
  EXPECT_EQ(key.get(path).status, 404);
  EXPECT_EQ(powerless.get(path).status, 403);
  EXPECT_EQ(stack().client().get(path).status, 401);
  EXPECT_EQ(stack().client().with_token("hat_" + std::string(43, 'A')).get(path).status, 401);
  std::vector<Json> rows = rows_of(path, 4);
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[3].text_or("identity_type"), "api_key");
  EXPECT_EQ(rows[2].text_or("identity_type"), "api_key") << "refused, but known";
  EXPECT_EQ(rows[2].text_or("user_id"), user.id);
  for (size_t i : {0u, 1u}) {
    EXPECT_EQ(rows[i].text_or("identity_type"), "anonymous");
    for (const char* name : {"org_id", "user_id", "username"}) {
      EXPECT_EQ(rows[i].text_or(name, "-"), "") << name;
    }
  }
}

TEST(AccessLog, HasWhatNginxRefusedAndStreams) {
  TestUser user = register_user(stack());
  std::string path = new_path();
  Answer large =
      user.client.send({"PATCH", path, std::string((1 << 20) + 1, ' '), "application/json", {}});
  EXPECT_EQ(large.status, 413);
  std::string stream = "/v1/runs/" + new_name("x") + "/events";
  EXPECT_EQ(user.client.get(stream).status, 404);
  std::vector<Json> rows = rows_of(path);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].integer_or("status_code", 0), 413);
  EXPECT_EQ(rows[0].text_or("method"), "PATCH");
  EXPECT_EQ(rows[0].text_or("trace_id"), large.header("x-trace-id"));
  rows = rows_of(stream);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].integer_or("status_code", 0), 404);
  EXPECT_EQ(rows[0].text_or("identity_type"), "user");
}

TEST(AccessLog, IsReadOnFromAnIdWithoutAGap) {
  std::string path = new_path();
  Client client = register_user(stack()).client;
  client.get(path);
  std::vector<Json> first = rows_of(path);
  ASSERT_EQ(first.size(), 1u);
  for (int i = 0; i < 5; ++i) client.get(path);
  ASSERT_EQ(rows_of(path, 6).size(), 6u);
  std::string since(first[0].text_or("id"));
  std::set<std::string> seen;
  for (int page = 0; page < 3; ++page) {
    Answer answer = list("limit=2&path=" + path + "&since=" + since);
    Json body = answer.json();
    EXPECT_EQ(answer.header("link").find("since=" + std::string(body.text_or("next_since", "-"))) !=
                  std::string::npos,
              page < 2)
        << answer.header("link");
    for (const Json& row : *body.find("data")->as_array()) {
      EXPECT_TRUE(seen.insert(std::string(row.text_or("id"))).second);
      EXPECT_GT(row.text_or("id"), since);
      since = row.text_or("id");
    }
    EXPECT_EQ(*body.find("has_more")->as_boolean(), page < 2);
    EXPECT_TRUE(body.find("next_before")->is_null());
    EXPECT_GE(body.text_or("next_since"), since) << "on the last page too";
  }
  EXPECT_EQ(seen.size(), 5u);
}

TEST(AccessLog, IsReadBackPageByPage) {
  std::string path = new_path();
  Client client = register_user(stack()).client;
  for (int i = 0; i < 5; ++i) client.get(path);
  ASSERT_EQ(rows_of(path, 5).size(), 5u);
  std::string before;
  size_t count = 0;
  for (int page = 0; page < 3; ++page) {
    Answer answer = list("limit=2&path=" + path + (before.empty() ? "" : "&before=" + before));
    Json body = answer.json();
    count += body.find("data")->as_array()->size();
    EXPECT_EQ(*body.find("has_more")->as_boolean(), page < 2);
    before = body.text_or("next_before");
    EXPECT_EQ(before.empty(), page == 2);
    EXPECT_TRUE(body.find("next_since")->is_null());
    EXPECT_EQ(
        answer.header("link").find("&before=" + before + ">; rel=\"next\"") != std::string::npos,
        page < 2)
        << answer.header("link");
  }
  EXPECT_EQ(count, 5u);
}

TEST(AccessLog, RefusesBadFilters) {
  for (const char* bad :
       {"limit=0", "limit=201", "before=x", "since=x", "method=G3T", "ip=x", "ip=1.2.3.0/24",
        "country=DEU", "country=1", "risk_min=2", "risk_min=x", "ua_type=robot", "limit="}) {
    EXPECT_EQ(list(bad).status, 422) << bad;
  }
  EXPECT_EQ(list("method=get&country=de&risk_min=0&ua_type=bot&ip=::1&path=").status, 200);
}

TEST(AccessLog, IsForPlatformAdministrators) {
  TestUser user = register_user(stack());
  EXPECT_TRUE(is_problem(user.client.get("/v1/admin/access-log"), 403, "auth.forbidden"));
}

}  // namespace
}  // namespace hostler::testing_support
