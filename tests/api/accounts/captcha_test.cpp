// The captcha of POST /v1/auth/register, POST /v1/auth/login and POST /v1/auth/email/otp/send,
// against a real server of Turnstile's shape on this machine; GET /v1/auth/captcha-config.
#include <gtest/gtest.h>

#include <mutex>

#include <fmt/format.h>

#include "tests/support/peers/scripted_server.h"
#include "tests/support/rows/accounts.h"

namespace hostler::testing_support {
namespace {

// Answers as the token says; keeps what it was asked.
class CaptchaServer {
 public:
  int port() const { return server_.port(); }
  std::string url() const { return server_.url("/siteverify"); }
  std::string last_request() {
    std::lock_guard<std::mutex> lock(mutex_);
    return last_request_;
  }

 private:
  void serve(Peer& peer) {
    while (true) {
      std::string asked = peer.read_request();
      if (asked.empty()) return;
      {
        std::lock_guard<std::mutex> lock(mutex_);
        last_request_ = asked;
      }
      answer(peer, asked);
    }
  }
  static void answer(Peer& peer, const std::string& asked) {
    auto says = [&](const char* token) {
      return asked.find(std::string("response=") + token + "&") != asked.npos;
    };
    if (says("good%20one")) peer.answer(R"({"success":true,"hostname":"x"})");
    if (says("ours.example"))
      peer.answer(R"({"success":true,"hostname":"ours.example","action":"account"})");
    if (says("other.action"))
      peer.answer(R"({"success":true,"hostname":"ours.example","action":"vote"})");
    if (says("no.facts")) peer.answer(R"({"success":true,"hostname":7})");
    if (says("bad")) peer.answer(R"({"success":false,"error-codes":["timeout-or-duplicate"]})");
    if (says("ours")) peer.answer(R"({"success":false,"error-codes":["invalid-input-secret"]})");
    if (says("odd")) peer.answer("<html>");
    if (says("empty")) peer.answer("{}");
    if (says("broken"))
      peer.send("HTTP/1.1 500 Broken\r\nContent-Length: 16\r\n\r\n{\"success\":true}");
    if (says("silent")) peer.wait_for_close();
  }

  std::mutex mutex_;
  std::string last_request_;
  ScriptedServer server_{[this](Peer& peer) { serve(peer); }};
};

CaptchaServer& server() {
  static CaptchaServer made;
  return made;
}

ApiStack& stack() {
  static ApiStack made(
      {{"HOSTLER_CAPTCHA_SITE_KEY=site", "HOSTLER_CAPTCHA_SECRET_KEY=top secret&",
        "HOSTLER_CAPTCHA_TIMEOUT_MS=300", "HOSTLER_CAPTCHA_VERIFY_URL=" + server().url()},
       false});
  return made;
}

std::string with_token(std::string_view body, std::string_view token) {
  return fmt::format(R"({},"cf_turnstile_token":{}}})", body.substr(0, body.size() - 1),
                     json_quote(token));
}

struct Guarded {
  std::string path, body;
  int status;  // behind a good captcha
};

// Returns what each of the three takes.
std::vector<Guarded> guarded(std::string_view beginning = "user") {
  std::string login = new_name(beginning);
  return {{"/v1/auth/register", account_json(login, "long enough", login + "@example.org"), 201},
          {"/v1/auth/login", R"({"login":"nobody","password":"long enough"})", 401},
          {"/v1/auth/email/otp/send", R"({"email":"nobody@example.org"})", 204}};
}

TEST(Captcha, IsAnnounced) {
  EXPECT_EQ(stack().client().get("/v1/auth/captcha-config").body,
            R"({"enabled":true,"site_key":"site"})");
}

TEST(Captcha, IsAskedForByThreeRoutes) {
  for (const Guarded& guarded_route : guarded()) {
    EXPECT_TRUE(is_problem(stack().client().post(guarded_route.path, guarded_route.body), 422,
                           "auth.captcha_required"))
        << guarded_route.path;
    EXPECT_TRUE(
        is_problem(stack().client().post(guarded_route.path, with_token(guarded_route.body, "")),
                   422, "auth.captcha_required"))
        << guarded_route.path;
    EXPECT_TRUE(
        is_problem(stack().client().post(guarded_route.path, with_token(guarded_route.body, "bad")),
                   422, "auth.captcha_invalid"))
        << guarded_route.path;
    EXPECT_EQ(stack()
                  .client()
                  .post(guarded_route.path, with_token(guarded_route.body, "good one"))
                  .status,
              guarded_route.status)
        << guarded_route.path;
  }
}

TEST(Captcha, IsVerifiedByAFormWithSecretTokenAndAddress) {
  stack().client().post("/v1/auth/login",
                        with_token(R"({"login":"x","password":"long enough"})", "good one"));
  std::string asked = server().last_request();
  EXPECT_TRUE(asked.starts_with("POST /siteverify HTTP/1.1\r\n")) << asked;
  EXPECT_NE(asked.find("\r\nContent-Type: application/x-www-form-urlencoded\r\n"), asked.npos);
  EXPECT_TRUE(
      asked.ends_with("\r\n\r\nsecret=top%20secret%26&response=good%20one&remoteip=127.0.0.1"))
      << asked;
}

TEST(Captcha, ThatCannotBeVerifiedLetsNobodyIn) {
  for (const char* token : {"ours", "odd", "empty", "broken", "silent"}) {
    for (const Guarded& guarded_route : guarded("unverified")) {
      Answer answer =
          stack().client().post(guarded_route.path, with_token(guarded_route.body, token));
      EXPECT_TRUE(is_problem(answer, 503, "auth.captcha_unavailable"))
          << token << guarded_route.path;
      EXPECT_GT(answer.header_number("retry-after"), 0);
    }
  }
  EXPECT_EQ(sql_number(stack(), "SELECT count(*) FROM users WHERE login LIKE 'unverified%'"), 0);
}

TEST(Captcha, IsOfThePageThatTheSettingsName) {
  ApiStack named(
      {{"HOSTLER_CAPTCHA_SITE_KEY=site", "HOSTLER_CAPTCHA_SECRET_KEY=secret",
        "HOSTLER_CAPTCHA_HOSTNAMES=app.example ours.example", "HOSTLER_CAPTCHA_ACTION=account",
        "HOSTLER_CAPTCHA_VERIFY_URL=" + server().url()},
       false});
  for (const char* token : {"good one", "other.action", "no.facts"}) {
    for (const Guarded& guarded_route : guarded("elsewhere")) {
      EXPECT_TRUE(
          is_problem(named.client().post(guarded_route.path, with_token(guarded_route.body, token)),
                     422, "auth.captcha_invalid"))
          << token << guarded_route.path;
    }
  }
  for (const Guarded& guarded_route : guarded()) {
    EXPECT_EQ(named.client()
                  .post(guarded_route.path, with_token(guarded_route.body, "ours.example"))
                  .status,
              guarded_route.status)
        << guarded_route.path;
  }
}

TEST(Captcha, IsNotMissedWhereInputIsWrongAlready) {
  EXPECT_TRUE(has_fault(stack().client().post("/v1/auth/login", "{}"), "login", "required"));
  Answer long_token = stack().client().post(
      "/v1/auth/login",
      with_token(R"({"login":"x","password":"long enough"})", std::string(2049, 'x')));
  EXPECT_TRUE(has_fault(long_token, "cf_turnstile_token", "too_long"));
}

TEST(Captcha, IsOffWithoutBothKeys) {
  ApiStack half({{"HOSTLER_CAPTCHA_SITE_KEY=site"}, false});
  EXPECT_EQ(half.client().get("/v1/auth/captcha-config").body,
            R"({"enabled":false,"site_key":""})");
  register_user(half);
}

}  // namespace
}  // namespace hostler::testing_support
