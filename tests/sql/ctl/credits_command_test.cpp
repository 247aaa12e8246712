// hostlerctl credits adjust: which organization, and how much exactly.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/rigs/database.h"
#include "tests/support/rigs/run_program.h"

namespace hostler {
namespace {

using testing::HasSubstr;
using namespace testing_support;

class CreditsCommand : public testing::Test {
 protected:
  CreditsCommand() {
    database_.as_superuser().run_text(
        "WITH made AS (INSERT INTO orgs (slug, name, type) VALUES ('works', 'x', 'workspace') "
        "RETURNING id) INSERT INTO credit_accounts (org_id, balance) SELECT id, 0 FROM made");
  }
  ProgramRun adjust(const std::string& org, const std::string& amount,
                    const std::string& note = "why") {
    return run_ctl({"credits", "adjust", "--org", org, "--amount", amount, "--note", note},
                   {"HOSTLER_DATABASE_URL=" + database_.superuser_url()});
  }
  std::string balance() {
    return std::string(
        database_.as_superuser()
            .run_text("SELECT balance FROM credit_accounts a JOIN orgs o ON o.id = a.org_id "
                      "WHERE slug = 'works'")
            .text());
  }

  TestDatabase database_;
};

TEST_F(CreditsCommand, TakesTheSlugOfAnOrganization) {
  ProgramRun done = adjust("works", "5");
  EXPECT_EQ(done.status, 0) << done.err;
  EXPECT_EQ(done.out, "the balance is 5\n");
  ProgramRun unknown = adjust("nobody", "5");
  EXPECT_EQ(unknown.status, 65) << unknown.err;
  EXPECT_EQ(balance(), "5");
}

// Members read the note over HTTP, whose bounds it has.
TEST_F(CreditsCommand, TakesNoNoteThatTheApiWouldNotTake) {
  EXPECT_EQ(adjust("works", "1", std::string(1000, 'x')).status, 0);
  for (const std::string& note : {std::string(1001, 'x'), std::string("a\x1B[31mb"),
                                  std::string("a\nb"), std::string("\xFF")}) {
    EXPECT_EQ(adjust("works", "1", note).status, 64) << note.size();
  }
  EXPECT_EQ(balance(), "1");
  ProgramRun other = adjust("\xFF", "1");
  EXPECT_EQ(other.status, 65);
  EXPECT_THAT(other.err, HasSubstr("the input is not UTF-8"));
}

// Anybody may give an organization the slug that is somebody else's login.
TEST_F(CreditsCommand, GuessesNotWhetherANameIsASlugOrALogin) {
  ASSERT_EQ(run_ctl({"user", "create", "--login", "works", "--email", "works@example.org",
                     "--password-stdin"},
                    {"HOSTLER_DATABASE_URL=" + database_.superuser_url()}, "a good password\n")
                .status,
            0);
  ProgramRun refused = adjust("works", "5");
  EXPECT_EQ(refused.status, 65);
  EXPECT_THAT(refused.err, HasSubstr("Name one of these ids"));
  EXPECT_EQ(balance(), "0");
  std::string id(
      database_.as_superuser().run_text("SELECT id FROM orgs WHERE slug = 'works'").text());
  EXPECT_EQ(adjust(id, "5").status, 0);
  EXPECT_EQ(balance(), "5");
}

TEST_F(CreditsCommand, TakesNoAmountThatMeansAnotherNumber) {
  for (const char* amount : {"0100", "0x10", "99999999999999999999", "-99999999999999999999", "+5",
                             "1e3", "5.0", " 5", "", "-", "0", "1_000"}) {
    ProgramRun refused = adjust("works", amount);
    EXPECT_EQ(refused.status, 64) << amount << refused.out << refused.err;
    EXPECT_THAT(refused.err, HasSubstr("hostlerctl: ")) << amount;
  }
  EXPECT_EQ(balance(), "0");
}

TEST_F(CreditsCommand, TellsWhatIsWrongAndHowMuchThereIs) {
  ProgramRun refused = adjust("works", "-7");
  EXPECT_EQ(refused.status, 65);
  EXPECT_THAT(refused.err, HasSubstr("credits"));
  EXPECT_THAT(refused.err, HasSubstr("The balance is 0."));
  ASSERT_EQ(adjust("works", "1").status, 0);
  EXPECT_EQ(adjust("works", "9223372036854775807").err,
            "hostlerctl: The input is not valid\namount: would pass the bounds of a balance\n");
}

}  // namespace
}  // namespace hostler
