// Tests who a client is by the gateway's settings, seen from outside: sessions and audit rows tell
// the address, X-Trace-Id the trace, 403 the risk. A stack of its own: the settings are
// everybody's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/eventually.h"
#include "tests/support/rigs/one_worker.h"
#include "tests/support/rows/accounts.h"

namespace hostler::testing_support {
namespace {

ApiStack& stack() {
  static ApiStack own({{one_worker}});
  return own;
}

const TestUser& admin() {
  static const TestUser user = register_admin(stack());
  return user;
}

Answer put(const std::string& body) { return admin().client.put("/v1/admin/gateway-config", body); }

// The worker follows; a second at most is promised.
testing::AssertionResult is_so_within_a_second(const std::function<bool()>& condition) {
  return eventually(1000, condition);
}

class GatewayConfig : public testing::Test {
 protected:
  // The next test begins after the worker follows.
  ~GatewayConfig() override {
    EXPECT_EQ(put(R"({"ip_mode":"direct","trusted_cidrs":[],"risk_reject_threshold":0})").status,
              200);
    EXPECT_TRUE(is_so_within_a_second([this] {
      std::vector<http::HttpField> headers = {{"X-Forwarded-For", "198.51.100.7"},
                                              {"CF-Connecting-IP", "198.51.100.7"}};
      std::vector<http::HttpField> bot = {{"User-Agent", "Googlebot/2.1"}};
      Call call{"GET", "/v1/auth/registration-mode", "", "", bot};
      return seen_as(headers) == "127.0.0.1" && stack().client().send(call).status == 200;
    }));
  }
  // The address under which a login from there is remembered.
  std::string seen_as(std::vector<http::HttpField> headers) {
    std::string login = new_name();
    Answer answer = stack().client().send(
        {"POST", "/v1/auth/login", fmt::format(R"({{"login":"{}","password":"not it"}})", login),
         "application/json", std::move(headers)});
    EXPECT_EQ(answer.status, 401);
    return sql_value(stack(), fmt::format("SELECT host(client_ip) FROM login_failures WHERE "
                                          "login_key = '{}'",
                                          login));
  }
};

TEST_F(GatewayConfig, IsShownAndChangedMemberByMember) {
  SCOPED_TRACE("GET /v1/admin/gateway-config");
  SCOPED_TRACE("PUT /v1/admin/gateway-config");
  EXPECT_EQ(admin().client.get("/v1/admin/gateway-config").body,
            R"({"ip_mode":"direct","trusted_cidrs":[],"risk_reject_threshold":0})");
  Answer changed = put(R"({"trusted_cidrs":["10.1.2.3/8","::1","10.0.0.0/8"],"ip_mode":"cdn"})");
  EXPECT_EQ(changed.status, 200);
  EXPECT_EQ(
      changed.body,
      R"({"ip_mode":"cdn","trusted_cidrs":["10.0.0.0/8","::1/128"],"risk_reject_threshold":0})");
  EXPECT_EQ(admin().client.get("/v1/admin/gateway-config").body, changed.body);
  changed = put(R"({"risk_reject_threshold":0.95})");
  EXPECT_EQ(
      changed.body,
      R"({"ip_mode":"cdn","trusted_cidrs":["10.0.0.0/8","::1/128"],"risk_reject_threshold":0.95})");
  EXPECT_EQ(put("{}").body, changed.body);
  EXPECT_EQ(put(R"({"risk_reject_threshold":1})").status, 200) << "a number without a fraction";
  EXPECT_EQ(sql_value(stack(),
                      "SELECT after_state -> 'gateway.ip_mode' FROM audit_logs WHERE "
                      "action = 'gateway.config_set' ORDER BY id LIMIT 1"),
            "\"cdn\"");
}

TEST_F(GatewayConfig, RefusesWhatItCannotMean) {
  EXPECT_TRUE(has_fault(put(R"({"ip_mode":"magic"})"), "ip_mode", "unknown"));
  for (const char* everybody :
       {"0.0.0.0/0", "::/0", "1.2.3.4/0", "::ffff:0:0/96", "0.0.0.0/1", "128.0.0.0/7", "::/1"}) {
    Answer answer = put(fmt::format(R"({{"trusted_cidrs":["{}"]}})", everybody));
    EXPECT_TRUE(has_fault(answer, "trusted_cidrs.0", "out_of_range")) << everybody;
  }
  Answer each = put(R"({"trusted_cidrs":["10.0.0.0/33","10.0.0.0/8","x","::/0"]})");
  EXPECT_TRUE(has_fault(each, "trusted_cidrs.0", "bad_format")) << each.body;
  EXPECT_TRUE(has_fault(each, "trusted_cidrs.2", "bad_format"));
  EXPECT_TRUE(has_fault(each, "trusted_cidrs.3", "out_of_range"));
  EXPECT_EQ(fault_count(each), 3u);
  EXPECT_EQ(put(R"({"trusted_cidrs":"10.0.0.0/8"})").status, 422);
  EXPECT_TRUE(
      has_fault(put(R"({"risk_reject_threshold":1.01})"), "risk_reject_threshold", "out_of_range"));
  EXPECT_TRUE(
      has_fault(put(R"({"risk_reject_threshold":-0.1})"), "risk_reject_threshold", "out_of_range"));
  EXPECT_EQ(put(R"({"risk_reject_threshold":"0.5"})").status, 422);
  Answer setting =
      admin().client.put("/v1/admin/settings/gateway.trusted_cidrs", R"({"value":["::/0"]})");
  EXPECT_TRUE(has_fault(setting, "value", "bad_format")) << "not by another door either";
}

TEST_F(GatewayConfig, IsForPlatformAdministrators) {
  TestUser user = register_user(stack());
  EXPECT_TRUE(is_problem(user.client.get("/v1/admin/gateway-config"), 403, "auth.forbidden"));
  EXPECT_TRUE(is_problem(user.client.put("/v1/admin/gateway-config", "{}"), 403, "auth.forbidden"));
}

TEST_F(GatewayConfig, DecidesWithinASecondWhoseWordCountsForTheAddress) {
  std::vector<http::HttpField> headers = {{"X-Forwarded-For", "1.1.1.1, 198.51.100.7"},
                                          {"CF-Connecting-IP", "203.0.113.9"}};
  EXPECT_EQ(seen_as(headers), "127.0.0.1");
  EXPECT_EQ(put(R"({"ip_mode":"proxy","trusted_cidrs":["127.0.0.1"]})").status, 200);
  EXPECT_TRUE(is_so_within_a_second([&] { return seen_as(headers) == "198.51.100.7"; }));
  EXPECT_EQ(put(R"({"ip_mode":"cdn"})").status, 200);
  EXPECT_TRUE(is_so_within_a_second([&] { return seen_as(headers) == "203.0.113.9"; }));
  EXPECT_EQ(put(R"({"trusted_cidrs":["192.0.2.0/24"]})").status, 200);
  EXPECT_TRUE(is_so_within_a_second([&] { return seen_as(headers) == "127.0.0.1"; }));
}

TEST_F(GatewayConfig, ReadsTwoLinesOfForwardedForAsOneList) {
  EXPECT_EQ(put(R"({"ip_mode":"proxy","trusted_cidrs":["127.0.0.1","10.0.0.0/8"]})").status, 200);
  std::vector<http::HttpField> headers = {{"X-Forwarded-For", "1.1.1.1, 198.51.100.7"},
                                          {"X-Forwarded-For", "10.1.1.1"}};
  EXPECT_TRUE(is_so_within_a_second([&] { return seen_as(headers) == "198.51.100.7"; }));
}

TEST_F(GatewayConfig, HonoursATraceOfATrustedProxyOnly) {
  const std::string id = "0af7651916cd43dd8448eb211c80319c";
  auto trace = [&] {
    return stack()
        .client()
        .send(
            {"GET", "/v1/nothing", "", "", {{"traceparent", "00-" + id + "-b7ad6b7169203331-01"}}})
        .header("x-trace-id");
  };
  EXPECT_TRUE(is_so_within_a_second([&] { return trace() != id; }));
  EXPECT_EQ(put(R"({"ip_mode":"proxy","trusted_cidrs":["127.0.0.1"]})").status, 200);
  EXPECT_TRUE(is_so_within_a_second([&] { return trace() == id; }));
}

TEST_F(GatewayConfig, RejectsRiskBeyondTheThresholdButNoAdminAndNoProbe) {
  TestUser user = register_user(stack());
  std::vector<http::HttpField> bot = {{"User-Agent", "Googlebot/2.1"}};
  auto as_bot = [&](const Client& client, const std::string& method, const std::string& path,
                    const std::string& body = "") {
    return client.send({method, path, body, body.empty() ? "" : "application/json", bot});
  };
  EXPECT_EQ(as_bot(user.client, "GET", "/v1/me").status, 200);
  EXPECT_EQ(put(R"({"risk_reject_threshold":0.4})").status, 200);
  EXPECT_TRUE(is_so_within_a_second([&] {
    return bool(is_problem(as_bot(user.client, "GET", "/v1/me"), 403, "risk.rejected"));
  }));
  // In the contract's order: before a missing right, after a dead token.
  EXPECT_TRUE(is_problem(as_bot(user.client, "GET", "/v1/admin/settings"), 403, "risk.rejected"));
  EXPECT_TRUE(
      is_problem(as_bot(user.client.with_token("hat_" + std::string(43, 'A')), "GET", "/v1/me"),
                 401, "auth.invalid_token"));
  EXPECT_EQ(as_bot(admin().client, "GET", "/v1/me").status, 200);
  EXPECT_EQ(as_bot(stack().client(), "GET", "/healthz").status, 200);
  EXPECT_EQ(as_bot(stack().client(), "GET", "/readyz").status, 200);
  EXPECT_TRUE(is_problem(as_bot(stack().client(), "GET", "/v1/auth/registration-mode"), 403,
                         "risk.rejected"));
  std::vector<http::HttpField> browser = {{"User-Agent", "Mozilla/5.0"}};
  EXPECT_EQ(user.client.send({"GET", "/v1/me", "", "", browser}).status, 200);
}

TEST_F(GatewayConfig, ChecksALoginAfterThePassword) {
  TestUser user = register_user(stack());
  Client session = log_in(stack(), user);
  EXPECT_EQ(put(R"({"risk_reject_threshold":0.4})").status, 200);
  auto log_in_as_bot = [&](const TestUser& actor, const std::string& password) {
    return stack().client().send(
        {"POST",
         "/v1/auth/login",
         fmt::format(R"({{"login":"{}","password":"{}"}})", actor.login, password),
         "application/json",
         {{"User-Agent", "Googlebot/2.1"}}});
  };
  EXPECT_TRUE(is_so_within_a_second(
      [&] { return bool(is_problem(log_in_as_bot(user, user.password), 403, "risk.rejected")); }));
  EXPECT_TRUE(is_problem(log_in_as_bot(user, "not it"), 401, "auth.invalid_credentials"));
  EXPECT_EQ(log_in_as_bot(admin(), admin().password).status, 200);
  // The caller is unknown when a code is requested, so the answer is the same for everybody.
  Answer code = stack().client().send({"POST",
                                       "/v1/auth/email/otp/send",
                                       fmt::format(R"({{"email":"{}"}})", admin().email),
                                       "application/json",
                                       {{"User-Agent", "Googlebot/2.1"}}});
  EXPECT_EQ(code.status, 204) << code.body;
  session.token.clear();
  Answer refresh =
      session.send({"POST", "/v1/auth/refresh", "", "", {{"User-Agent", "Googlebot/2.1"}}});
  EXPECT_TRUE(is_problem(refresh, 403, "risk.rejected"));
}

}  // namespace
}  // namespace hostler::testing_support
