// Changes of all accounts: at once when they are few, else by pages that lock a few hundred.
#include <gtest/gtest.h>

#include <string>

#include <fmt/format.h>

#include "queries/access.h"
#include "queries/credits.h"
#include "queries/maintenance.h"
#include "tests/support/rows/run_money.h"

namespace hostler {
namespace {

using namespace testing_support;

class BulkChange : public testing::Test {
 protected:
  // Accounts of 500 credits each beside the fixture's.
  void add_accounts(int count) {
    database_.as_superuser().run_text(fmt::format(
        "SET session_replication_role = replica; "
        "CREATE TEMP TABLE made AS SELECT uuidv7() AS id FROM generate_series(1, {}); "
        "INSERT INTO orgs (id, type, slug, name) SELECT id, 'workspace', id::text, 'x' FROM made; "
        "INSERT INTO credit_accounts (org_id, balance, entries) SELECT id, 500, 1 FROM made; "
        "INSERT INTO credit_transactions (org_id, number, amount, balance_after, type) "
        "SELECT id, 1, 500, 500, 'redemption' FROM made",
        count));
  }
  std::string as_admin(const postgres::BoundStatement& statement) {
    postgres::DbSession api = database_.as_api();
    api.begin();
    api.run(query::SetRequestContext{.org_id = fixture_.org_id,
                                     .user_id = fixture_.owner_id,
                                     .context = R"({"platform_admin": true})"});
    std::string answer(api.run(statement).text());
    api.commit();
    return answer;
  }
  int pages() {
    postgres::DbSession session = database_.as_runner();
    int count = 0;
    do {
      ++count;
    } while (session.run(query::CreditBulkPage{.at_most = 500})[0].boolean("more"));
    return count;
  }
  std::string balances() {
    return fixture_.column(
        "SELECT string_agg(DISTINCT balance::text, ' ') FROM credit_accounts a JOIN orgs o ON o.id "
        "= a.org_id WHERE o.name = 'x'");
  }

  TestDatabase database_;
  RunFixture fixture_{database_};
};

TEST_F(BulkChange, OfManyAccountsIsMadePageByPageInTheOrderOfTheCalls) {
  add_accounts(10'100);
  EXPECT_EQ(as_admin(query::CreditBulkAdjust{.amount = -600, .note = "less"}),
            R"({"affected" : 10101})");
  EXPECT_EQ(as_admin(query::CreditBulkAdjust{.amount = 7, .note = std::nullopt}),
            R"({"affected" : 10101})");
  EXPECT_EQ(balances(), "500") << "no account waits for all others";
  add_accounts(1);
  EXPECT_GT(pages(), 20);
  EXPECT_EQ(balances(), "0 500") << "the new one is in neither";
  EXPECT_GT(pages(), 20);
  EXPECT_EQ(balances(), "500 7");
  EXPECT_EQ(pages(), 1);
  EXPECT_EQ(balances(), "500 7");
  EXPECT_EQ(
      fixture_.column("SELECT string_agg(DISTINCT amount || coalesce(note, '') || (reference_id = "
                      "'" +
                      fixture_.owner_id +
                      "')::text, ' ') FROM credit_transactions t JOIN orgs o ON o.id = "
                      "t.org_id WHERE t.type = 'admin_bulk_adjustment' AND o.name = 'x'"),
      "-500lesstrue 7true");
  postgres::DbSession superuser = database_.as_superuser();
  EXPECT_EQ(ledger_fault(superuser), "");
}

TEST_F(BulkChange, GoesOnBehindTheLastPageWhoeverDies) {
  add_accounts(10'100);
  as_admin(query::CreditResetAll{.note = std::nullopt});
  {
    postgres::DbSession dies = database_.as_runner();
    dies.begin();
    dies.run(query::CreditBulkPage{.at_most = 500});
    postgres::DbSession other = database_.as_runner();
    EXPECT_FALSE(other.run(query::CreditBulkPage{.at_most = 500})[0].boolean("more"))
        << "one at a time";
  }
  EXPECT_EQ(balances(), "500");
  pages();
  EXPECT_EQ(balances(), "0");
  postgres::DbSession superuser = database_.as_superuser();
  EXPECT_EQ(ledger_fault(superuser), "");
}

TEST_F(BulkChange, OfFewAccountsIsDoneWithTheAnswer) {
  add_accounts(100);
  EXPECT_EQ(as_admin(query::CreditBulkAdjust{.amount = 5, .note = std::nullopt}),
            R"({"affected" : 101})");
  EXPECT_EQ(balances(), "505");
}

TEST_F(BulkChange, PagesAreTheDaemonsAlone) {
  EXPECT_THROW(database_.as_api().run_text("SELECT credit_bulk_page(1)"), Error);
}

}  // namespace
}  // namespace hostler
