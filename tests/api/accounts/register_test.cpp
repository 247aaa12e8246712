// POST /v1/auth/register, GET /v1/auth/registration-mode, GET /v1/auth/captcha-config.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <limits>
#include <regex>
#include <set>

#include "tests/support/rows/accounts.h"

namespace hostler::testing_support {
namespace {

ApiStack& stack() { return ApiStack::shared(); }

Answer register_as(const std::string& login, const std::string& email,
                   std::string_view further = "") {
  return stack().client().post("/v1/auth/register",
                               account_json(login, "long enough a password", email, further));
}

std::string invite_code_of(const TestUser& user) {
  return sql_value(stack(),
                   fmt::format("SELECT code FROM invite_codes WHERE user_id = '{}'", user.id));
}

int64_t balance_of(const std::string& org_id) {
  return sql_number(stack(),
                    fmt::format("SELECT balance FROM credit_accounts WHERE org_id = '{}'", org_id));
}

TEST(Register, AnswersWithATokenAndTheRefreshCookie) {
  std::string login = new_name();
  Answer answer = register_as(login, login + "@example.org");
  ASSERT_EQ(answer.status, 201) << answer.body;
  EXPECT_EQ(answer.member("token_type"), "bearer");
  EXPECT_EQ(answer.member("warning"), "null");
  EXPECT_TRUE(std::regex_match(
      answer.header("set-cookie"),
      std::regex("hostler_refresh_token=hrt_[A-Za-z0-9_-]{43}; Path=/v1/auth; HttpOnly; Secure; "
                 "SameSite=Lax; Max-Age=2592000")))
      << answer.header("set-cookie");
  EXPECT_EQ(answer.headers_named("set-cookie").size(), 1u);
  EXPECT_EQ(answer.header("cache-control"), "no-store");
  Client client = stack().client().with_token(answer.member("access_token"));
  EXPECT_EQ(client.get("/v1/me").member("login"), login);
}

TEST(Register, MakesAPersonalOrganizationWithItsOwnerCreditsAndInvitationCode) {
  TestUser user = register_user(stack());
  Answer me = user.client.get("/v1/me");
  EXPECT_EQ(me.member("org_name"), user.login + "'s workspace");
  EXPECT_EQ(me.member("org_id"), user.org_id);
  EXPECT_EQ(me.member("role"), "owner");
  EXPECT_EQ(sql_value(stack(), fmt::format("SELECT slug FROM orgs WHERE id = '{}'", user.org_id)),
            user.org_id);
  EXPECT_EQ(balance_of(user.org_id), 1000);
  EXPECT_EQ(sql_value(stack(), fmt::format("SELECT string_agg(type || amount || '=' || "
                                           "balance_after, ',') FROM credit_transactions WHERE "
                                           "org_id = '{}'",
                                           user.org_id)),
            "initial_grant1000=1000");
  EXPECT_TRUE(std::regex_match(invite_code_of(user), std::regex("[A-HJ-NP-Z2-9]{8}")));
  EXPECT_EQ(sql_value(stack(), fmt::format("SELECT max_uses || ' ' || use_count FROM invite_codes "
                                           "WHERE user_id = '{}'",
                                           user.id)),
            "1 0");
}

TEST(Register, IsAudited) {
  TestUser user = register_user(stack());
  EXPECT_EQ(sql_value(stack(), fmt::format("SELECT org_id || ' ' || actor_user_id || ' ' || result "
                                           "|| ' ' || client_ip FROM audit_logs WHERE action = "
                                           "'auth.register' AND target_id = '{}'",
                                           user.id)),
            user.org_id + " " + user.id + " ok 127.0.0.1/32");
}

TEST(Register, StoresNeitherPasswordNorTokens) {
  TestUser user = register_user(stack());
  EXPECT_EQ(sql_value(stack(), fmt::format("SELECT left(password_hash, 31) FROM users WHERE id = "
                                           "'{}'",
                                           user.id)),
            "$argon2id$v=19$m=19456,t=2,p=1$");
  EXPECT_EQ(sql_number(stack(), fmt::format("SELECT count(*) FROM access_tokens WHERE hash = "
                                            "sha256('{}')",
                                            user.client.token)),
            1);
  EXPECT_EQ(sql_number(stack(), fmt::format("SELECT count(*) FROM refresh_tokens WHERE hash = "
                                            "sha256('{}')",
                                            user.refresh)),
            1);
}

TEST(Register, TrimsTheLoginAndKeepsTheLocale) {
  std::string login = new_name();
  Answer answer = register_as("  " + login + " ", login + "@example.org", R"("locale":"de_AT")");
  ASSERT_EQ(answer.status, 201) << answer.body;
  Client client = stack().client().with_token(answer.member("access_token"));
  Answer me = client.get("/v1/me");
  EXPECT_EQ(me.member("login"), login);
  EXPECT_EQ(me.member("username"), login);
  EXPECT_EQ(me.member("locale"), "de-AT");
}

TEST(Register, RefusesALoginOrAnAddressThatSomebodyHasInAnotherCase) {
  std::string login = new_name("Ünique");
  std::string upper = "ÜNIQUE" + login.substr(login.find('-'));
  ASSERT_EQ(register_as(login, login.substr(login.find('-')) + "@example.org").status, 201);
  EXPECT_TRUE(
      is_problem(register_as(upper, new_name() + "@example.org"), 409, "auth.login_exists"));
  EXPECT_TRUE(is_problem(register_as(new_name(), login.substr(login.find('-')) + "@EXAMPLE.org"),
                         409, "auth.email_exists"));
}

TEST(Register, RefusesALoginThatSomebodyCarriesAsUsername) {
  TestUser user = register_user(stack());
  std::string name = new_name("nick");
  ASSERT_EQ(user.client.patch("/v1/me", fmt::format(R"({{"username":"{}"}})", name)).status, 200);
  EXPECT_TRUE(is_problem(register_as(name, name + "@example.org"), 409, "auth.login_exists"));
}

TEST(Register, GivesALoginToOneOfManyWhoAskAtOnce) {
  std::string login = new_name();
  std::vector<Call> calls;
  for (int i = 0; i < 6; ++i) {
    std::string email = fmt::format("{}{}@example.org", login, i);
    calls.push_back({"POST",
                     "/v1/auth/register",
                     account_json(login, "long enough", email),
                     "application/json",
                     {}});
  }
  int made = 0;
  for (const Answer& answer : stack().client().send_all(calls)) {
    if (answer.status == 201) {
      ++made;
    } else {
      EXPECT_TRUE(is_problem(answer, 409, "auth.login_exists"));
    }
  }
  EXPECT_EQ(made, 1);
}

TEST(Register, ListsEveryFaultOfTheInput) {
  Answer answer = stack().client().post(
      "/v1/auth/register",
      R"({"login":"a@b","password":"short","email":"nowhere","locale":"?","invite_code":7})");
  EXPECT_TRUE(is_problem(answer, 422, "validation.error"));
  EXPECT_TRUE(has_fault(answer, "login", "bad_format"));
  EXPECT_TRUE(has_fault(answer, "password", "too_short"));
  EXPECT_TRUE(has_fault(answer, "email", "bad_format"));
  EXPECT_TRUE(has_fault(answer, "locale", "bad_format"));
  EXPECT_TRUE(has_fault(answer, "invite_code", "wrong_type"));
  EXPECT_EQ(fault_count(answer), 5u);
  Answer empty = stack().client().post("/v1/auth/register", "{}");
  for (std::string_view field : {"login", "password", "email"}) {
    EXPECT_TRUE(has_fault(empty, field, "required"));
  }
  EXPECT_EQ(fault_count(empty), 3u);
}

struct BadAccount {
  std::string login, password, email, field, code;
};

TEST(Register, KnowsTheBoundsOfLoginPasswordAndAddress) {
  std::string long_name(65, 'x');
  std::string long_email = std::string(243, 'x') + "@example.org";
  for (const BadAccount& bad : std::vector<BadAccount>{
           {"   ", "password1", "a@example.org", "login", "required"},
           {long_name, "password1", "a@example.org", "login", "too_long"},
           {"a\tb", "password1", "a@example.org", "login", "bad_format"},
           {"\u00a0", "password1", "a@example.org", "login", "bad_format"},
           {"some\uff20where", "password1", "a@example.org", "login", "bad_format"},
           {"x", "1234567", "a@example.org", "password", "too_short"},
           {"x", std::string(129, 'p'), "a@example.org", "password", "too_long"},
           {"same-As-it", "SAME-as-it", "a@example.org", "password", "bad_format"},
           {"x", "a@example.org", "a@example.org", "password", "bad_format"},
           {"x", "password1", "a@b@c", "email", "bad_format"},
           {"x", "password1", "@example.org", "email", "bad_format"},
           {"x", "password1", "a,b@example.org", "email", "bad_format"},
           {"x", "password1", R"("a b"@example.org)", "email", "bad_format"},
           // Names compare as if these were a@example.org, which their mail would not reach.
           {"x", "password1", "\uff41@example.org", "email", "bad_format"},
           {"x", "password1", "a@example\uff0eorg", "email", "bad_format"},
           {"x", "password1", long_email, "email", "too_long"}}) {
    Answer answer = stack().client().post("/v1/auth/register",
                                          account_json(bad.login, bad.password, bad.email));
    EXPECT_TRUE(has_fault(answer, bad.field, bad.code)) << bad.login << " " << bad.email;
  }
}

TEST(Register, TakesPasswordsOfAnyCharactersAndOf128) {
  std::string login = new_name();
  std::string password;
  for (int i = 0; i < 128; ++i) password += "\u4e2d";
  Answer made = stack().client().post("/v1/auth/register",
                                      account_json(login, password, login + "@example.org"));
  ASSERT_EQ(made.status, 201) << made.body;
  Answer logged_in = stack().client().post(
      "/v1/auth/login", fmt::format(R"({{"login":"{}","password":"{}"}})", login, password));
  EXPECT_EQ(logged_in.status, 200) << logged_in.body;
}

TEST(Register, PaysBothSidesOfAnInvitation) {
  TestUser inviter = register_user(stack());
  std::string code = invite_code_of(inviter);
  TestUser invitee = register_user(stack(), fmt::format(R"("invite_code":" {} ")", code));
  EXPECT_EQ(balance_of(inviter.org_id), 1500);
  EXPECT_EQ(balance_of(invitee.org_id), 1200);
  EXPECT_EQ(sql_value(stack(), fmt::format("SELECT inviter_user_id || ' ' || credited FROM "
                                           "referrals WHERE invitee_user_id = '{}'",
                                           invitee.id)),
            inviter.id + " true");
}

TEST(Register, IsRefusedToNobodyForWhatTheirInviterHasAlready) {
  TestUser inviter = register_user(stack());
  std::string room_for_100 = std::to_string(std::numeric_limits<int64_t>::max() - 1000 - 100);
  Answer filled = register_admin(stack()).client.post(
      "/v1/admin/credits/adjust",
      fmt::format(R"({{"org_id":"{}","amount":{}}})", inviter.org_id, room_for_100));
  ASSERT_EQ(filled.status, 200) << filled.body;
  stack().sql().run_text(
      fmt::format("UPDATE invite_codes SET max_uses = 2 WHERE user_id = '{}'", inviter.id));
  for (int i = 0; i < 2; ++i) {
    register_user(stack(), fmt::format(R"("invite_code":"{}")", invite_code_of(inviter)));
  }
  EXPECT_EQ(balance_of(inviter.org_id), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(sql_value(stack(), fmt::format("SELECT string_agg(credited::text, ' ' ORDER BY id) "
                                           "FROM referrals WHERE inviter_user_id = '{}'",
                                           inviter.id)),
            "true false");
}

TEST(Register, RegistersWithAWarningWhenACodeDoesNotHold) {
  std::string login = new_name();
  Answer answer = register_as(login, login + "@example.org", R"("invite_code":"NOSUCH22")");
  ASSERT_EQ(answer.status, 201) << answer.body;
  EXPECT_NE(answer.member("warning").find("invitation code"), std::string::npos);
}

TEST(Register, CountsAnInvitationCodeNeverTooOften) {
  TestUser inviter = register_user(stack());
  stack().sql().run_text(
      fmt::format("UPDATE invite_codes SET max_uses = 3 WHERE user_id = '{}'", inviter.id));
  std::string code = invite_code_of(inviter);
  std::vector<Call> calls;
  for (int i = 0; i < 8; ++i) {
    std::string login = new_name();
    calls.push_back({"POST",
                     "/v1/auth/register",
                     account_json(login, "long enough", login + "@example.org",
                                  fmt::format(R"("invite_code":"{}")", code)),
                     "application/json",
                     {}});
  }
  int held = 0;
  for (const Answer& answer : stack().client().send_all(calls)) {
    ASSERT_EQ(answer.status, 201) << answer.body;
    held += answer.member("warning") == "null" ? 1 : 0;
  }
  EXPECT_EQ(held, 3);
  EXPECT_EQ(balance_of(inviter.org_id), 1000 + 3 * 500);
  EXPECT_EQ(sql_number(stack(),
                       fmt::format("SELECT use_count FROM invite_codes WHERE code = '{}'", code)),
            3);
}

TEST(RegistrationLimit, IsOfANetworkAndCountsAccountsThatAreMade) {
  ApiStack limited({{"HOSTLER_LIMIT_REGISTRATIONS_PER_NETWORK_HOUR=3"}, false});
  auto call = [](const std::string& login) {
    return Call{"POST",
                "/v1/auth/register",
                account_json(login, "long enough", login + "@example.org"),
                "application/json",
                {}};
  };
  TestUser first = register_user(limited);
  Client client = limited.client();
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(client.post("/v1/auth/register", call(first.login).body).status, 409);
    EXPECT_EQ(client.post("/v1/auth/register", "{}").status, 422);
  }
  std::vector<Call> calls;
  for (int i = 0; i < 8; ++i) calls.push_back(call(new_name()));
  int made = 0;
  for (const Answer& answer : client.send_all(calls)) {
    made += answer.status == 201 ? 1 : 0;
    EXPECT_TRUE(answer.status == 201 || is_problem(answer, 429, "auth.rate_limited"));
  }
  EXPECT_EQ(made, 2);
  EXPECT_EQ(sql_number(limited, "SELECT count(*) FROM outbox"), 3);
  Answer refused = client.post("/v1/auth/register", call(new_name()).body);
  ASSERT_TRUE(is_problem(refused, 429, "auth.rate_limited"));
  int64_t wait_s = refused.header_number("retry-after");
  EXPECT_TRUE(wait_s > 3540 && wait_s <= 3600) << wait_s;
  limited.sql().run_text("UPDATE attempts SET at = at - interval '1 hour'");
  EXPECT_EQ(client.post("/v1/auth/register", call(new_name()).body).status, 201) << "later";
}

// No code after the hash can answer here.
TEST(RegistrationLimit, AndTakenNamesAreToldBeforeThePasswordIsHashed) {
  ApiStack limited({{"HOSTLER_LIMIT_REGISTRATIONS_PER_NETWORK_HOUR=1"}, false});
  auto register_at = [&](const std::string& login, const std::string& email) {
    return limited.client().post("/v1/auth/register", account_json(login, "long enough", email));
  };
  TestUser user = register_user(limited);
  limited.sql().run_text("ALTER FUNCTION register_user RENAME TO hidden");
  EXPECT_TRUE(
      is_problem(register_at(new_name(), new_name() + "@example.org"), 429, "auth.rate_limited"));
  limited.sql().run_text("DELETE FROM attempts");
  EXPECT_TRUE(
      is_problem(register_at(user.login, new_name() + "@example.org"), 409, "auth.login_exists"));
  EXPECT_TRUE(is_problem(register_at(new_name(), user.email), 409, "auth.email_exists"));
  EXPECT_EQ(register_at(new_name(), new_name() + "@example.org").status, 500);
}

TEST(RegistrationLimit, IsOfTakenNamesToo) {
  ApiStack limited({{"HOSTLER_LIMIT_CHECKS_PER_MINUTE=3"}, false});
  TestUser user = register_user(limited);
  auto register_at = [&](const std::string& login, const std::string& email) {
    return limited.client().post("/v1/auth/register", account_json(login, "long enough", email));
  };
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(
        is_problem(register_at(user.login, new_name() + "@example.org"), 409, "auth.login_exists"));
  }
  EXPECT_EQ(register_at(new_name(), new_name() + "@example.org").status, 201) << "counts nothing";
  EXPECT_TRUE(is_problem(register_at(new_name(), user.email), 409, "auth.email_exists"));
  EXPECT_TRUE(is_problem(register_at(new_name(), user.email), 429, "auth.rate_limited"));
  Answer refused = register_at(new_name(), new_name() + "@example.org");
  EXPECT_TRUE(is_problem(refused, 429, "auth.rate_limited")) << "or a free name would be told";
  int64_t wait_s = refused.header_number("retry-after");
  EXPECT_TRUE(wait_s > 0 && wait_s <= 60) << wait_s;
  limited.sql().run_text("UPDATE attempts SET at = at - interval '1 minute'");
  EXPECT_EQ(register_at(new_name(), new_name() + "@example.org").status, 201);
}

TEST(RegistrationMode, IsOpenUnlessSaidOtherwise) {
  Answer answer =
      stack().client().get("/v1/auth/registration-mode");  // GET /v1/auth/registration-mode
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.member("mode"), "open");
}

TEST(RegistrationMode, DisabledRefusesEverybodyBeforeLookingAtTheBody) {
  ApiStack closed({{"HOSTLER_AUTH_REGISTRATION_MODE=disabled"}, false});
  EXPECT_EQ(closed.client().get("/v1/auth/registration-mode").member("mode"), "disabled");
  EXPECT_TRUE(is_problem(closed.client().post("/v1/auth/register", "{"), 403,
                         "auth.registration_disabled"));
}

TEST(RegistrationMode, InviteOnlyAsksForACodeThatHolds) {
  ApiStack closed({{"HOSTLER_AUTH_REGISTRATION_MODE=invite_only", "HOSTLER_MAIL_DIR="}, false});
  closed.sql().run_text(
      "SELECT register_user('first', 'first@example.org', 'first@example.org', 'x', 'en', NULL, "
      "NULL, NULL, "
      "'{\"credit.initial_grant\": 0, \"invite.default_max_uses\": 1}')");
  std::string code = sql_value(closed, "SELECT code FROM invite_codes");
  Client client = closed.client();
  EXPECT_TRUE(is_problem(
      client.post("/v1/auth/register", account_json("second", "long enough", "b@example.org")), 422,
      "auth.invite_code_required"));
  EXPECT_TRUE(is_problem(
      client.post("/v1/auth/register", account_json("first", "long enough", "b@example.org",
                                                    R"("invite_code":"WRONG222")")),
      422, "auth.invite_code_invalid"));
  Answer made =
      client.post("/v1/auth/register", account_json("second", "long enough", "b@example.org",
                                                    fmt::format(R"("invite_code":"{}")", code)));
  EXPECT_EQ(made.status, 201) << made.body;
  EXPECT_NE(made.member("warning").find("No mail"), std::string::npos) << made.body;
  EXPECT_EQ(sql_number(closed, "SELECT count(*) FROM users"), 2);
}

TEST(CaptchaConfig, IsOffWithoutKeys) {
  Answer answer = stack().client().get("/v1/auth/captcha-config");  // GET /v1/auth/captcha-config
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.member("enabled"), "false");
  EXPECT_EQ(answer.member("site_key"), "");
}

}  // namespace
}  // namespace hostler::testing_support
