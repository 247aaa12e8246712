// Endpoints that are deleted while many messages wait for them.
#include <gtest/gtest.h>

#include <string>

#include "queries/maintenance.h"
#include "queries/webhooks.h"
#include "tests/support/rows/webhook_fixture.h"

namespace hostler::testing_support {
namespace {

class WebhookPrune : public WebhookFixture {
 protected:
  void remove(const std::string& endpoint_id) {
    fixture_.as_owner(query::WebhookDelete{.endpoint_id = endpoint_id});
  }
  std::string left() {
    return fixture_.column(
        "SELECT (SELECT count(*) FROM outbox) || ' ' || (SELECT count(*) FROM webhook_endpoints) "
        "|| "
        "' ' || (SELECT count(*) FROM secrets)");
  }
  int pages() {
    postgres::DbSession session = database_.as_runner();
    int count = 0;
    do {
      ++count;
    } while (session.run(query::WebhookPrune{.at_most = 1000})[0].boolean("more"));
    return count;
  }
};

TEST_F(WebhookPrune, IsNotNeededForFewMessages) {
  std::string endpoint_id = new_endpoint();
  add_messages(endpoint_id, 999);
  remove(endpoint_id);
  EXPECT_EQ(left(), "0 0 0");
}

TEST_F(WebhookPrune, TakesAwayWhatOneCallCannot) {
  std::string endpoint_id = new_endpoint();
  std::string other = new_endpoint();
  add_messages(endpoint_id, 3'500);
  add_messages(other, 2);
  remove(endpoint_id);
  EXPECT_EQ(left(), "3502 2 1") << "its secret is gone at once";
  postgres::Result shown =
      fixture_.as_owner(query::WebhookPage{.limit = 20, .before = std::nullopt});
  ASSERT_EQ(shown.size(), 1);
  EXPECT_EQ(shown[0].text("id"), other);
  EXPECT_THROW(fixture_.as_owner(query::WebhookShow{.endpoint_id = endpoint_id}), Error);
  EXPECT_THROW(remove(endpoint_id), Error);

  EXPECT_EQ(claimed(), other + " " + other) << "nothing is sent to it any more";

  add_messages(endpoint_id, 1);  // of a run that ended at the same moment
  EXPECT_EQ(pages(), 4);
  EXPECT_EQ(left(), "2 1 1");
  EXPECT_EQ(pages(), 1);
  EXPECT_EQ(left(), "2 1 1");
}

TEST_F(WebhookPrune, LeavesNothingOfAnEndpointWhosePagesAreFull) {
  std::string endpoint_id = new_endpoint();
  add_messages(endpoint_id, 2'000);
  remove(endpoint_id);
  EXPECT_EQ(pages(), 3);
  EXPECT_EQ(left(), "0 0 0");
}

}  // namespace
}  // namespace hostler::testing_support
