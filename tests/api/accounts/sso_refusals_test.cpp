// Providers and browsers that lie: GET /v1/auth/sso/callback/{provider_key} lets none of them in,
// and POST /v1/auth/sso/backchannel-logout/{provider_key} ends no session for them. What single
// tokens lie about is in tests/unit/account/id_token_test.cpp.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/rigs/sso_harness.h"
#include "tests/support/rows/factors.h"

namespace hostler::testing_support {
namespace {

ApiStack& stack() { return sso_stack(); }

std::string new_email() { return new_name("liar") + "@example.org"; }

TestProvider open_provider() { return add_platform_provider(R"(,"create_users":true)"); }

std::string error_after(const TestProvider& provider, const std::string& members) {
  provider.set(members);
  return sign_in(provider).error();
}

TEST(SsoLies, OfBrowsersOpenNothing) {
  TestProvider provider = open_provider();
  TestProvider other = open_provider();
  provider.say(fmt::format(R"("email":"{}")", new_email()));
  Flow flow = begin_flow(provider);
  Flow second = begin_flow(provider);
  std::string back = flow.path_back();
  constexpr const char* invalid = "auth.sso_state_invalid";
  EXPECT_EQ(land(back, "").error(), invalid) << "another browser";
  EXPECT_EQ(land(back, second.cookie).error(), invalid) << "the cookie of another flow";
  std::string forged = flow.cookie.substr(0, flow.cookie.find('=')) + "=guessed";
  EXPECT_EQ(land(back, forged).error(), invalid) << "a guessed cookie";
  std::string elsewhere = back;
  elsewhere.replace(elsewhere.find(provider.key), provider.key.size(), other.key);
  EXPECT_EQ(land(elsewhere, flow.cookie).error(), invalid) << "another provider's callback";
  EXPECT_EQ(land("/v1/auth/sso/callback/" + provider.key + "?code=x", flow.cookie).error(),
            "validation.error");
  std::string state = second.url.substr(second.url.find("&state=") + 7, 43);
  std::string mixed = back.substr(0, back.find("state=") + 6) + state +
                      back.substr(back.find('&', back.find("state=")));
  EXPECT_EQ(land(mixed, second.cookie).error(), "auth.sso_failed") << "the code of another flow";
  std::string honest = flow.path_back();
  EXPECT_EQ(land(honest, flow.cookie).error(), "") << "the honest one";
  EXPECT_EQ(land(honest, flow.cookie).error(), invalid) << "a state serves once";
}

TEST(SsoLies, OfTwoTabsWithOneStateOneWins) {
  TestProvider provider = open_provider();
  provider.say(fmt::format(R"("email":"{}")", new_email()));
  Flow flow = begin_flow(provider);
  Call call{"GET", flow.path_back(), "", "", {{"Cookie", flow.cookie}}};
  int let_in = 0;
  for (const Answer& answer : stack().client().send_all({call, call, call})) {
    if (!answer.refresh_cookie().empty()) ++let_in;
  }
  EXPECT_EQ(let_in, 1);
}

TEST(SsoLies, OfAnotherIssuerInTheWayBack) {
  TestProvider provider = open_provider();
  provider.say(fmt::format(R"("email":"{}")", new_email()));
  EXPECT_EQ(error_after(provider, R"({"iss":"https://evil.example"})"), "auth.sso_failed");
  EXPECT_EQ(error_after(provider, R"({"iss":null})"), "auth.sso_failed") << "it promised to say";
}

TEST(SsoLies, OfTokensOpenNothing) {
  TestProvider provider = open_provider();
  std::string claims = fmt::format(R"("email":"{}")", new_email());
  auto error_of = [&](const std::string& members) { return error_after(provider, members); };
  for (const char* lie :
       {R"("iss":"https://evil.example")", R"("aud":"other")", R"("aud":["client","other"])",
        R"("azp":"other")", R"("nonce":"guessed")", R"("nonce":null)", R"("at_hash":"AAAA")",
        R"("exp":1)", R"("exp":null)", R"("iat":4000000000)", R"("nbf":4000000000)",
        R"("sub":null)", R"("sub":"")"}) {
    EXPECT_EQ(error_of(fmt::format(R"({{"claims":{{{},{}}}}})", claims, lie)), "auth.sso_failed")
        << lie;
  }
  provider.say(claims);
  for (const char* lie :
       {R"({"sign":"none"})", R"({"sign":"hs256"})", R"({"sign":"other"})",
        R"({"sign":"rs256","header":{"alg":"none"}})", R"({"header":{"alg":"HS256"}})",
        R"({"header":{"kid":"../../x"}})", R"({"header":{"kid":null,"crit":["x"]}})"}) {
    EXPECT_EQ(error_of(lie), "auth.sso_failed") << lie;
  }
  EXPECT_EQ(sql_value(stack(), fmt::format("SELECT count(*) FROM identities i JOIN "
                                           "identity_providers p ON p.id = i.provider_id WHERE "
                                           "p.key = '{}'",
                                           provider.key)),
            "0");
  EXPECT_EQ(error_of(R"({"sign":"es256","header":{}})"), "") << "the honest one";
}

TEST(SsoLies, OfTokenEndpointsOpenNothing) {
  TestProvider provider = open_provider();
  provider.say(fmt::format(R"("email":"{}")", new_email()));
  auto error_of = [&](const std::string& answer) {
    return error_after(provider, R"({"answer":)" + answer + "}");
  };
  EXPECT_EQ(error_of(R"({"status":400,"body":{"error":"invalid_grant"}})"), "auth.sso_failed");
  EXPECT_EQ(error_of(R"({"body":{"access_token":"a"}})"), "auth.sso_failed") << "no ID token";
  EXPECT_EQ(error_of(R"({"body":[]})"), "auth.sso_failed");
  EXPECT_EQ(error_of(fmt::format(R"({{"body":{{"id_token":"{}"}}}})", std::string(100'000, 'a'))),
            "auth.sso_failed")
      << "a huge token";
  EXPECT_EQ(error_of(fmt::format(R"({{"status":302,"headers":{{"Location":"{}/token"}}}})",
                                 provider.issuer())),
            "auth.sso_failed")
      << "no redirect is followed";
  EXPECT_EQ(error_of(R"({"delay_s":8})"), "auth.sso_failed") << "5 seconds are enough";
  EXPECT_EQ(error_of(R"({"endless":true})"), "auth.sso_failed");
}

TEST(SsoLies, OfHugeClaimsOpenNothing) {
  TestProvider provider = open_provider();
  auto error_of = [&](const std::string& claims) {
    return error_after(provider, "{\"claims\":{" + claims + "}}");
  };
  std::string huge(20'000, 'a');
  EXPECT_EQ(error_of(fmt::format(R"("email":"{}@example.org")", huge)), "auth.sso_unknown_user");
  EXPECT_EQ(error_of(fmt::format(R"("email":"a@example.org","sub":"{}")", huge)),
            "auth.sso_failed");
  EXPECT_EQ(error_of(fmt::format(R"("email":"a@example.org","x":["{0}","{0}","{0}"])", huge)),
            "auth.sso_failed")
      << "a token of 80 KB";
  EXPECT_EQ(error_of(fmt::format(R"("email":"{}","name":"{}","sid":"{}")", new_email(), huge,
                                 std::string(2000, 's'))),
            "")
      << "names that are too long are left out";
}

TEST(SsoLies, OfTwoBrowsersOfANewPersonMakeOneAccount) {
  TestProvider provider = open_provider();
  std::string email = new_email();
  provider.say(fmt::format(R"("email":"{}")", email));
  std::vector<Call> calls;
  for (int i = 0; i < 3; ++i) {
    Flow flow = begin_flow(provider);
    calls.push_back({"GET", flow.path_back(), "", "", {{"Cookie", flow.cookie}}});
  }
  int let_in = 0;
  for (const Answer& answer : stack().client().send_all(calls)) {
    EXPECT_EQ(answer.status, 303) << answer.body;
    if (!answer.refresh_cookie().empty()) ++let_in;
  }
  EXPECT_GE(let_in, 1);
  EXPECT_EQ(
      sql_number(stack(), fmt::format("SELECT count(*) FROM users WHERE email = '{}'", email)), 1);
  EXPECT_EQ(sign_in(provider).error(), "");
}

TEST(SsoKeys, AreReadAgainForANewOne) {
  TestProvider provider = open_provider();
  provider.say(fmt::format(R"("email":"{}")", new_email()));
  EXPECT_EQ(sign_in(provider).error(), "");
  EXPECT_EQ(error_after(provider, R"({"kid":"two"})"), "") << "it rotated its keys";
  EXPECT_EQ(error_after(provider, R"({"kid":"three"})"), "auth.sso_failed") << "once a minute";
}

struct Visitor {
  TestProvider provider;
  Client client;
};

Visitor make_visitor() {
  TestProvider provider = open_provider();
  provider.say(fmt::format(R"("email":"{}","sid":"s-1")", new_email()));
  return {provider, client_of(sign_in(provider))};
}

Answer log_out(const TestProvider& provider, const std::string& token) {
  return stack().client().send({"POST",
                                "/v1/auth/sso/backchannel-logout/" + provider.key,
                                "logout_token=" + token,
                                "application/x-www-form-urlencoded",
                                {}});
}

// A session ends that began before the token was made, to the second.
std::string later() {
  return fmt::format(R"("iat":{})",
                     sql_number(stack(), "SELECT floor(extract(epoch FROM now()))::bigint + 2"));
}

TEST(SsoLogout, EndsTheProvidersSessionOnce) {
  Visitor visitor = make_visitor();
  std::string token = visitor.provider.logout_token(R"("sid":"s-1",)" + later());
  Answer answer = log_out(visitor.provider, token);
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.header("cache-control"), "no-store");
  EXPECT_TRUE(is_problem(visitor.client.get("/v1/me"), 401, "auth.invalid_token"));
  Answer again = log_out(visitor.provider, token);
  EXPECT_TRUE(is_problem(again, 400, "auth.sso_logout_invalid")) << "a jti serves once";
  EXPECT_EQ(again.header("cache-control"), "no-store");
}

TEST(SsoLogout, EndsASessionThatBeganInItsSecond) {
  Visitor visitor = make_visitor();
  int64_t began = sql_number(
      stack(), fmt::format("SELECT floor(extract(epoch FROM max(created_at)))::bigint FROM "
                           "sessions WHERE provider_id = '{}'",
                           visitor.provider.id));
  std::string claims = fmt::format(R"("sid":"s-1","iat":{})", began);
  EXPECT_EQ(log_out(visitor.provider, visitor.provider.logout_token(claims)).status, 200);
  EXPECT_EQ(visitor.client.get("/v1/me").status, 401) << "a token knows whole seconds";
}

TEST(SsoLogout, EndsALoginThatWaitsForAFactor) {
  TestProvider provider = open_provider();
  TestUser user = register_user(stack());
  provider.say(fmt::format(R"("email":"{}","sid":"s-1")", user.email));
  user.client = client_of(sign_in(provider));
  TestFactor factor = add_totp(stack(), user);
  for (const char* claims : {R"("sid":"s-1",)", R"("sub":"subject",)"}) {
    std::string token = sign_in(provider).value("factor_token");
    EXPECT_EQ(log_out(provider, provider.logout_token(claims + later())).status, 200);
    Answer finished = stack().client().post("/v1/auth/factor",
                                            factor_body(token, "code", next_code(stack(), factor)));
    EXPECT_TRUE(is_problem(finished, 401, "auth.invalid_token")) << claims;
  }
}

TEST(SsoLogout, EndsAllSessionsOfASubject) {
  Visitor visitor = make_visitor();
  Client second = client_of(sign_in(visitor.provider));
  std::string token = visitor.provider.logout_token(R"("sub":"subject",)" + later());
  EXPECT_EQ(log_out(visitor.provider, token).status, 200);
  EXPECT_EQ(visitor.client.get("/v1/me").status, 401);
  EXPECT_EQ(second.get("/v1/me").status, 401);
}

TEST(SsoLogout, SparesWhatBeganAfterItAndWhatIsAnothers) {
  Visitor visitor = make_visitor();
  Visitor other = make_visitor();
  auto sent = [&](const std::string& claims) {
    return log_out(visitor.provider, visitor.provider.logout_token(claims)).status;
  };
  std::string before = fmt::format(
      R"("iat":{})", sql_number(stack(), "SELECT extract(epoch FROM now())::bigint - 60"));
  EXPECT_EQ(sent(R"("sid":"s-1",)" + before), 200);
  EXPECT_EQ(sent(R"("sid":"s-2",)" + later()), 200);
  EXPECT_EQ(visitor.client.get("/v1/me").status, 200);
  EXPECT_EQ(
      log_out(other.provider, visitor.provider.logout_token(R"("sid":"s-1",)" + later())).status,
      400)
      << "a token of another provider";
  EXPECT_EQ(other.client.get("/v1/me").status, 200);
}

TEST(SsoLogout, RefusesWhatIsNoToken) {
  Visitor visitor = make_visitor();
  for (const char* token : {"", "x", "a.b.c", "x&logout_token=y"}) {
    EXPECT_EQ(log_out(visitor.provider, token).status, 400) << token;
  }
  EXPECT_EQ(log_out(visitor.provider,
                    visitor.provider.logout_token(R"("sid":"s-1","nonce":"n",)" + later()))
                .status,
            400);
  TestProvider nobody = visitor.provider;
  nobody.key = "nobody";
  EXPECT_EQ(log_out(nobody, "a.b.c").status, 400);
  EXPECT_EQ(visitor.client.get("/v1/me").status, 200);
}

}  // namespace
}  // namespace hostler::testing_support
