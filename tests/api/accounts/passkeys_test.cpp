// Passkeys: how they are added, what they open by POST /v1/auth/passkey:begin and
// POST /v1/auth/passkey, and what is refused of them.
#include <gtest/gtest.h>

#include <memory>

#include <fmt/format.h>

#include "lib/crypto.h"
#include "lib/ids.h"
#include "tests/support/peers/authenticator.h"
#include "tests/support/rows/factors.h"

namespace hostler::testing_support {
namespace {

// With a stack of its own, whose site has a name.
class Passkeys : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    ApiStackOptions options{{"HOSTLER_MAIL_SITE_URL=https://hostler.example/console",
                             "HOSTLER_AUTH_WEBAUTHN_ORIGINS=https://app.example.com"},
                            false};
    stack_ = std::make_unique<ApiStack>(options);
  }
  static void TearDownTestSuite() { stack_.reset(); }
  static ApiStack& stack() { return *stack_; }
  void SetUp() override { stack().sql().run_text("TRUNCATE login_failures, attempts"); }

  static AnswerParts honest() {
    AnswerParts parts;
    parts.origin = "https://hostler.example";
    parts.rp_id = "hostler.example";
    return parts;
  }
  static std::string challenge_of(const Answer& options) { return options.member("challenge"); }
  static Answer begin(const TestUser& user) {
    return user.client.post("/v1/me/factors/passkeys:begin");
  }
  static std::string named(const std::string& credential) {
    return fmt::format(R"({{"name":"laptop","credential":{}}})", credential);
  }
  static Answer add(const TestUser& user, const Authenticator& key) {
    prove_address(stack(), user);
    std::string challenge = challenge_of(begin(user));
    return user.client.post("/v1/me/factors/passkeys",
                            named(key.registration(challenge, honest())));
  }
  static Answer log_in_by(const Authenticator& key, const AnswerParts& parts) {
    std::string challenge = challenge_of(stack().client().post("/v1/auth/passkey:begin"));
    return send(key.assertion(challenge, parts));
  }
  static Answer send(const std::string& credential) {
    return stack().client().post("/v1/auth/passkey",
                                 fmt::format(R"({{"credential":{}}})", credential));
  }
  static Answer log_in_by_password(const TestUser& user) {
    return stack().client().post(
        "/v1/auth/login",
        fmt::format(R"({{"login":"{}","password":{}}})", user.login, json_quote(user.password)));
  }
  static Answer answer_factor(const Answer& asked, const Authenticator& key,
                              const AnswerParts& parts) {
    Json options = asked.json();
    std::string credential(key.assertion(options.find("challenge")->text_or("challenge"), parts));
    return stack().client().post("/v1/auth/factor",
                                 fmt::format(R"({{"factor_token":"{}","credential":{}}})",
                                             asked.member("factor_token"), credential));
  }

 private:
  static inline std::unique_ptr<ApiStack> stack_;
};

TEST_F(Passkeys, AreAddedWithTheOptionsOfTheirSite) {
  TestUser user = register_user(stack());
  prove_address(stack(), user);
  Answer begun = begin(user);
  ASSERT_EQ(begun.status, 200) << begun.body;
  Json options = begun.json();
  UuidBytes handle = uuid_bytes(user.id);
  EXPECT_EQ(options.find("rp")->text_or("id"), "hostler.example");
  EXPECT_EQ(options.find("user")->text_or("id"), to_base64url({handle.data(), handle.size()}));
  EXPECT_EQ(options.text_or("attestation"), "none");
  Authenticator key;
  std::string body = named(key.registration(options.text_or("challenge"), honest()));
  Answer added = user.client.post("/v1/me/factors/passkeys", body);
  ASSERT_EQ(added.status, 201) << added.body;
  EXPECT_EQ(added.member("type"), "passkey");
  EXPECT_EQ(added.json().find("recovery_codes")->as_array()->size(), 10u);
  EXPECT_TRUE(
      is_problem(user.client.post("/v1/me/factors/passkeys", body), 422, "auth.factor_invalid"))
      << "the challenge serves once";
  Json again = begin(user).json();
  EXPECT_EQ(
      again.find("excludeCredentials")->dump(),
      fmt::format(R"([{{"type":"public-key","id":"{}"}}])", to_base64url(key.credential_id())));
  EXPECT_TRUE(is_problem(add(user, key), 409, "factors.exists"));
  Authenticator second;
  Answer more = add(user, second);
  ASSERT_EQ(more.status, 201) << more.body;
  EXPECT_EQ(more.json().find("recovery_codes"), nullptr);
}

TEST_F(Passkeys, AreRefusedWithAChallengeThatWasNotTheirs) {
  TestUser user = register_user(stack());
  TestUser other = register_user(stack());
  prove_address(stack(), user);
  prove_address(stack(), other);
  Authenticator key;
  auto try_with = [&](const std::string& challenge) {
    return user.client.post("/v1/me/factors/passkeys",
                            named(key.registration(challenge, honest())));
  };
  std::string of_login = challenge_of(stack().client().post("/v1/auth/passkey:begin"));
  std::string of_confirm = challenge_of(user.client.post("/v1/auth/passkey:begin"));
  for (const std::string& challenge :
       {challenge_of(begin(other)), of_login, of_confirm, std::string("AAAA"), std::string()}) {
    EXPECT_TRUE(is_problem(try_with(challenge), 422, "auth.factor_invalid")) << challenge;
  }
  std::string late = challenge_of(begin(user));
  stack().sql().run_text("UPDATE webauthn_challenges SET expires_at = now()");
  EXPECT_TRUE(is_problem(try_with(late), 422, "auth.factor_invalid"));
  AnswerParts elsewhere = honest();
  elsewhere.origin = "https://evil.example";
  EXPECT_TRUE(
      is_problem(user.client.post("/v1/me/factors/passkeys",
                                  named(key.registration(challenge_of(begin(user)), elsewhere))),
                 422, "auth.factor_invalid"));
  EXPECT_EQ(user.client.get("/v1/me/factors").body, "[]");
}

TEST_F(Passkeys, OpenAnAccountAlone) {
  TestUser user = register_user(stack());
  Authenticator key;
  ASSERT_EQ(add(user, key).status, 201);
  UuidBytes handle = uuid_bytes(user.id);
  AnswerParts parts = honest();
  parts.user_handle = to_base64url({handle.data(), handle.size()});
  Answer begun = log_in_by(key, parts);
  ASSERT_EQ(begun.status, 200) << begun.body;
  EXPECT_FALSE(begun.refresh_cookie().empty());
  Client client = stack().client().with_token(begun.member("access_token"));
  EXPECT_EQ(client.get("/v1/me").member("id"), user.id);
  EXPECT_EQ(client.post("/v1/me/password", R"({"new_password":"another password"})").status, 204)
      << "it counts as a proof";
  EXPECT_EQ(sql_value(stack(), fmt::format("SELECT string_agg(result || ' ' || after_state, ', ') "
                                           "FROM audit_logs WHERE action = 'auth.login' AND "
                                           "actor_user_id = '{}'",
                                           user.id)),
            R"(ok {"by": "passkey"})");
}

TEST_F(Passkeys, OpenNothingWithALie) {
  TestUser user = register_user(stack());
  TestUser other = register_user(stack());
  Authenticator key;
  ASSERT_EQ(add(user, key).status, 201);
  std::vector<AnswerParts> lies(6, honest());
  lies[0].origin = "https://evil.example";
  lies[1].rp_id = "evil.example";
  lies[2].is_user_verified = false;
  lies[3].client_extra = R"(,"crossOrigin":true)";
  lies[4].type = "webauthn.create";
  UuidBytes handle = uuid_bytes(other.id);
  lies[5].user_handle = to_base64url({handle.data(), handle.size()});
  for (const AnswerParts& lie : lies) {
    EXPECT_TRUE(is_problem(log_in_by(key, lie), 401, "auth.invalid_credentials"));
  }
  EXPECT_TRUE(is_problem(log_in_by(Authenticator(), honest()), 401, "auth.invalid_credentials"));
  std::string of_confirm = challenge_of(user.client.post("/v1/auth/passkey:begin"));
  EXPECT_TRUE(
      is_problem(send(key.assertion(of_confirm, honest())), 401, "auth.invalid_credentials"));
  std::string challenge = challenge_of(stack().client().post("/v1/auth/passkey:begin"));
  std::string right = key.assertion(challenge, honest());
  EXPECT_EQ(send(right).status, 200);
  EXPECT_TRUE(is_problem(send(right), 401, "auth.invalid_credentials")) << "once";
  stack().sql().run_text(
      fmt::format("UPDATE users SET status = 'suspended' WHERE id = '{}'", user.id));
  EXPECT_TRUE(is_problem(log_in_by(key, honest()), 403, "auth.user_suspended"));
}

TEST_F(Passkeys, AreRefusedWhenTheirCounterDoesNotRise) {
  TestUser user = register_user(stack());
  Authenticator key;
  ASSERT_EQ(add(user, key).status, 201);
  AnswerParts parts = honest();
  EXPECT_EQ(log_in_by(key, parts).status, 200) << "0 does not count";
  parts.sign_count = 5;
  EXPECT_EQ(log_in_by(key, parts).status, 200);
  for (uint32_t count : {5U, 4U, 0U}) {
    parts.sign_count = count;
    EXPECT_TRUE(is_problem(log_in_by(key, parts), 401, "auth.invalid_credentials")) << count;
  }
  EXPECT_EQ(sql_number(stack(), fmt::format("SELECT count(*) FROM audit_logs WHERE action = "
                                            "'factors.counter_fell' AND result = 'denied' AND "
                                            "actor_user_id = '{}'",
                                            user.id)),
            3);
  parts.sign_count = 6;
  EXPECT_EQ(log_in_by(key, parts).status, 200);
}

TEST_F(Passkeys, EndALoginByPassword) {
  TestUser user = register_user(stack());
  Authenticator key;
  ASSERT_EQ(add(user, key).status, 201);
  Answer asked = log_in_by_password(user);
  ASSERT_TRUE(is_problem(asked, 401, "auth.factor_required"));
  Json problem = asked.json();
  EXPECT_EQ(problem.find("factors")->dump(), R"(["passkey"])");
  const Json* options = problem.find("challenge");
  ASSERT_NE(options, nullptr);
  EXPECT_EQ(options->text_or("rpId"), "hostler.example");
  EXPECT_EQ(
      options->find("allowCredentials")->dump(),
      fmt::format(R"([{{"type":"public-key","id":"{}"}}])", to_base64url(key.credential_id())));
  AnswerParts parts = honest();
  parts.origin = "https://app.example.com";
  parts.is_user_verified = false;
  EXPECT_EQ(answer_factor(asked, key, parts).status, 200);
  EXPECT_TRUE(is_problem(answer_factor(asked, key, parts), 401, "auth.invalid_token"));

  Answer again = log_in_by_password(user);
  EXPECT_TRUE(is_problem(answer_factor(again, Authenticator(), parts), 422, "auth.factor_invalid"));
  EXPECT_TRUE(is_problem(answer_factor(again, key, parts), 422, "auth.factor_invalid"))
      << "the challenge was used";
  Answer third = log_in_by_password(user);
  std::string of_login = challenge_of(stack().client().post("/v1/auth/passkey:begin"));
  EXPECT_TRUE(
      is_problem(stack().client().post(
                     "/v1/auth/factor",
                     fmt::format(R"({{"factor_token":"{}","credential":{}}})",
                                 third.member("factor_token"), key.assertion(of_login, parts))),
                 422, "auth.factor_invalid"));
}

TEST_F(Passkeys, ProveASession) {
  TestUser user = register_user(stack());
  TestUser other = register_user(stack());
  Authenticator key;
  Authenticator of_other;
  ASSERT_EQ(add(user, key).status, 201);
  ASSERT_EQ(add(other, of_other).status, 201);
  auto confirm = [&](const std::string& challenge, const Authenticator& by) {
    return user.client.post("/v1/auth/confirm", fmt::format(R"({{"credential":{}}})",
                                                            by.assertion(challenge, honest())));
  };
  Answer begun = user.client.post("/v1/auth/passkey:begin");
  ASSERT_EQ(begun.status, 200) << begun.body;
  EXPECT_EQ(begun.json().find("allowCredentials")->as_array()->size(), 1u);
  EXPECT_EQ(confirm(challenge_of(begun), key).status, 200);
  EXPECT_TRUE(is_problem(confirm(challenge_of(begun), key), 422, "auth.factor_invalid"));
  std::string of_login = challenge_of(stack().client().post("/v1/auth/passkey:begin"));
  std::string another = challenge_of(user.client.post("/v1/auth/passkey:begin"));
  EXPECT_TRUE(is_problem(confirm(of_login, key), 422, "auth.factor_invalid"));
  EXPECT_TRUE(is_problem(confirm(another, of_other), 422, "auth.factor_invalid"));
  EXPECT_EQ(user.client.send({"DELETE", "/v1/me", "{}", "application/json", {}}).status, 204);
  EXPECT_TRUE(is_problem(log_in_by(key, honest()), 401, "auth.invalid_credentials"));
}

TEST_F(Passkeys, NeedTheAddressOfTheSite) {
  ApiStack& nameless = ApiStack::shared();
  for (const Answer& answer :
       {nameless.client().post("/v1/auth/passkey:begin"),
        nameless.client().post("/v1/auth/passkey", R"({"credential":{}})")}) {
    EXPECT_TRUE(is_problem(answer, 503, "auth.passkeys_not_configured")) << answer.body;
  }
  Answer malformed = stack().client().post("/v1/auth/passkey", R"({"credential":"x"})");
  EXPECT_TRUE(has_fault(malformed, "credential", "wrong_type"));
}

}  // namespace
}  // namespace hostler::testing_support
