// Names and addresses of accounts as people type them: what is one and the same, what looks alike,
// and which characters no name has (contract section 2).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/api/accounts/login_code_harness.h"

namespace hostler::testing_support {
namespace {

using testing::HasSubstr;

Answer try_to_register(const std::string& login, const std::string& email,
                       std::string_view further = "") {
  return stack().client().post("/v1/auth/register",
                               account_json(login, "correct horse", email, further));
}

TEST(AccountAddress, IsKeptAsEnteredAndOneHoweverItIsWritten) {
  std::string name = new_name();
  std::string entered = "A" + name + "@BÜCHER.example";
  Answer made = try_to_register(name, "  " + entered + "\t");
  ASSERT_EQ(made.status, 201) << made.body;
  Client client = stack().client().with_token(made.member("access_token"));
  EXPECT_EQ(client.get("/v1/me").member("email"), entered);
  for (const std::string& same :
       {"a" + name + "@bücher.example", "A" + name + "@XN--BCHER-KVA.EXAMPLE"}) {
    EXPECT_TRUE(is_problem(try_to_register(new_name(), same), 409, "auth.email_exists")) << same;
    Answer in = stack().client().post(
        "/v1/auth/login",
        fmt::format(R"({{"login":{},"password":"correct horse"}})", json_quote(same)));
    EXPECT_EQ(in.status, 200) << in.body;
    Answer check =
        stack().client().post("/v1/auth/check", fmt::format(R"({{"login":{}}})", json_quote(same)));
    EXPECT_EQ(check.member("exists"), "true") << same;
  }
}

TEST(AccountAddress, HasADomainThatIsTheSameWhenMailIsSent) {
  for (const char* bad : {"a@exam\u00ADple.org", "a@exam\u200Bple.org", "a@example\uFE0F.org",
                          "a@example\u3002org", "a@example.org."}) {
    EXPECT_TRUE(has_fault(try_to_register(new_name(), bad), "email", "bad_format")) << bad;
    EXPECT_TRUE(has_fault(send_code(bad), "email", "bad_format")) << bad;
  }
  EXPECT_THAT(try_to_register(new_name(), "a@exam\u00ADple.org").body, HasSubstr("U+00AD"));
}

TEST_F(LoginCodes, AreCountedByMailboxHoweverItIsWritten) {
  std::string name = new_name();
  for (int i = 0; i < 5; ++i) {
    std::string domain = i % 2 == 0 ? "@BÜCHER.example" : "@xn--bcher-kva.example";
    EXPECT_EQ(send_code(name + domain).status, 204);
  }
  EXPECT_TRUE(is_problem(send_code(name + "@bücher.example"), 429, "auth.otp_rate_limited"));
}

TEST_F(LoginCodes, AreTakenHoweverTheyAreTyped) {
  TestUser user = register_user(stack());
  std::string full_width;
  ASSERT_EQ(send_code(user.email).status, 204);
  std::string code = code_of(user);
  for (char digit : code) full_width += std::string("\xEF\xBC") + char(digit - '0' + 0x90);
  EXPECT_EQ(verify(user.email, full_width).status, 200) << full_width;
  ASSERT_EQ(send_code(user.email).status, 204);
  code = code_of(user);
  EXPECT_EQ(verify(user.email, " " + code.substr(0, 3) + " - " + code.substr(3)).status, 200);
  EXPECT_TRUE(has_fault(verify(user.email, "---"), "otp", "bad_format"));
}

TEST(AccountName, HoldsNoCharacterThatNobodySees) {
  Answer answer = try_to_register("admin\u200B", "a@example.org");
  EXPECT_TRUE(has_fault(answer, "login", "bad_format")) << answer.body;
  EXPECT_THAT(answer.body, HasSubstr("U+200B (ZERO WIDTH SPACE)"));
  for (const char* bad : {"\u3164", "a\U000E0041", "a\u2028b", "\u0430dmin"}) {
    EXPECT_TRUE(has_fault(try_to_register(bad, "a@example.org"), "login", "bad_format")) << bad;
  }
}

TEST(AccountName, IsInNfc) {
  std::string login = new_name("Jose\u0301 ");
  Answer made = try_to_register(login, new_name() + "@example.org");
  ASSERT_EQ(made.status, 201) << made.body;
  Client client = stack().client().with_token(made.member("access_token"));
  EXPECT_THAT(client.get("/v1/me").member("login"), HasSubstr("Jos\u00E9 "));
}

TEST(AccountName, LooksLikeNobodyElsesWhereOneIsNotAscii) {
  // Latin "cocoa" and Cyrillic letters that look like it; both followed by the same digits.
  std::string digits;
  for (char c : new_name("")) digits += std::isdigit(static_cast<unsigned char>(c)) != 0 ? c : '7';
  std::string cyrillic = "\u0441\u043e\u0441\u043e\u0430" + digits;
  Answer made = try_to_register("cocoa" + digits, new_name() + "@example.org");
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_TRUE(
      is_problem(try_to_register(cyrillic, new_name() + "@example.org"), 409, "auth.login_exists"));
  TestUser other = register_user(stack());
  EXPECT_TRUE(is_problem(
      other.client.patch("/v1/me", fmt::format(R"({{"username":{}}})", json_quote(cyrillic))), 409,
      "users.username_exists"));
  // Two names in ASCII never conflict by their looks.
  EXPECT_EQ(try_to_register("rn" + digits, new_name() + "@example.org").status, 201);
  EXPECT_EQ(try_to_register("m" + digits, new_name() + "@example.org").status, 201);
  // A name that is one's own may change its look.
  std::string russian = "Ольга " + digits;
  EXPECT_EQ(
      other.client.patch("/v1/me", fmt::format(R"({{"username":{}}})", json_quote(russian))).status,
      200);
  EXPECT_TRUE(is_problem(try_to_register("ОЛЬГА " + digits, new_name() + "@example.org"), 409,
                         "auth.login_exists"));
}

TEST(VisibleNames, AreThoseOfOrganizationsKeysAndThreads) {
  TestUser user = register_user(stack());
  struct Named {
    const char* path;
    const char* member;
    std::string further;
  };
  for (const Named& named :
       {Named{"/v1/orgs", "name", fmt::format(R"("slug":"{}",)", new_name("s"))},
        Named{"/v1/api-keys", "name", R"("scopes":[],)"}, Named{"/v1/threads", "title", ""}}) {
    auto post = [&](std::string_view name) {
      return user.client.post(named.path, fmt::format(R"({{{}"{}":{}}})", named.further,
                                                      named.member, json_quote(name)));
    };
    for (std::string_view bad : {"a\u2028b", "\u200B", "a\u00ADb"}) {
      EXPECT_TRUE(has_fault(post(bad), named.member, "bad_format")) << named.path << bad;
    }
    EXPECT_THAT(post("a\u2028b").body, HasSubstr("U+2028"));
    Answer made = post("👩‍💻 e\u0301");
    EXPECT_EQ(made.status, 201) << made.body;
    EXPECT_EQ(made.member(named.member), "👩‍💻 é") << named.path;
  }
}

TEST(Password, IsOneHoweverItsLettersAreTyped) {
  std::string login = new_name();
  Answer made = stack().client().post(
      "/v1/auth/register",
      account_json(login, "mot de passe: e\u0301te\u0301", login + "@example.org"));
  ASSERT_EQ(made.status, 201) << made.body;
  auto log_in_with = [&](std::string_view password) {
    return stack()
        .client()
        .post("/v1/auth/login",
              fmt::format(R"({{"login":"{}","password":{}}})", login, json_quote(password)))
        .status;
  };
  EXPECT_EQ(log_in_with("mot de passe: été"), 200);
  EXPECT_EQ(log_in_with("mot de passe: e\u0301te\u0301"), 200);
  EXPECT_EQ(log_in_with("mot de passe: ete"), 401);
}

}  // namespace
}  // namespace hostler::testing_support
