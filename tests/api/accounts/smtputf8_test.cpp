// Mail addresses with letters beyond ASCII before the @ are refused wherever one is entered, unless
// mail.smtputf8 is on: POST /v1/auth/register, POST /v1/me/email,
// POST /v1/orgs/{org_id}/invitations, PATCH /v1/admin/users/{user_id},
// POST /v1/auth/email/otp/send, PUT /v1/admin/email/config, POST /v1/admin/email/test.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/eventually.h"
#include "tests/support/rigs/one_worker.h"
#include "tests/support/rows/accounts.h"

namespace hostler::testing_support {
namespace {

constexpr const char* address = "用户@example.org";

class Smtputf8 : public testing::Test {
 protected:
  Smtputf8()
      : stack_(std::make_unique<ApiStack>(ApiStackOptions{{one_worker}})),
        admin_(register_admin(*stack_)),
        org_id_(make_workspace(*stack_, admin_)) {}

  // Every call that takes an address, with this one.
  std::vector<Answer> entered() {
    std::string email = fmt::format(R"({{"email":"{}"}})", address);
    std::vector<Answer> answers;
    answers.push_back(stack_->client().post(
        "/v1/auth/register", account_json(new_name(), "correct horse battery", address)));
    answers.push_back(admin_.client.post(
        "/v1/me/email",
        fmt::format(R"({{"email":"{}","current_password":"{}"}})", address, admin_.password)));
    answers.push_back(
        admin_.client.post("/v1/orgs/" + org_id_ + "/invitations",
                           fmt::format(R"({{"email":"{}","role":"member"}})", address)));
    answers.push_back(admin_.client.patch("/v1/admin/users/" + admin_.id, email));
    answers.push_back(stack_->client().post("/v1/auth/email/otp/send", email));
    return answers;
  }

  std::unique_ptr<ApiStack> stack_;
  TestUser admin_;
  std::string org_id_;
};

TEST_F(Smtputf8, IsNeededByAddressesThatAreRefusedWithoutIt) {
  for (const Answer& answer : entered()) {
    EXPECT_TRUE(has_fault(answer, "email", "bad_format")) << answer.body;
    EXPECT_NE(answer.body.find("mail.smtputf8"), std::string::npos) << answer.body;
  }
  EXPECT_TRUE(has_fault(
      admin_.client.post("/v1/admin/email/test", fmt::format(R"({{"to":"{}"}})", address)), "to",
      "bad_format"));
  EXPECT_TRUE(
      has_fault(admin_.client.put("/v1/admin/email/config",
                                  fmt::format(R"({{"from":"X <{}>","smtp_host":"bücher.example",)"
                                              R"("smtp_port":25,"smtp_tls_mode":"tls"}})",
                                              address)),
                "from", "bad_format"));
}

TEST_F(Smtputf8, LetsThemInWhenItIsOn) {
  Answer set = admin_.client.put("/v1/admin/settings/mail.smtputf8", R"({"value":true})");
  ASSERT_LT(set.status, 300) << set.body;
  ASSERT_TRUE(eventually(10'000, [&] {
    return stack_->client()
               .post("/v1/auth/email/otp/send", fmt::format(R"({{"email":"{}"}})", address))
               .status == 204;
  }));
  EXPECT_EQ(
      stack_->client()
          .post("/v1/auth/register", account_json(new_name(), "correct horse battery", address))
          .status,
      201);
}

TEST_F(Smtputf8, IsNotNeededByDomains) {
  EXPECT_EQ(stack_->client()
                .post("/v1/auth/register",
                      account_json(new_name(), "correct horse battery", "ada@bücher.example"))
                .status,
            201);
  EXPECT_EQ(admin_.client
                .put("/v1/admin/email/config",
                     R"({"from":"x@bücher.example","smtp_host":"bücher.example","smtp_port":25,)"
                     R"("smtp_tls_mode":"tls"})")
                .status,
            204);
}

}  // namespace
}  // namespace hostler::testing_support
