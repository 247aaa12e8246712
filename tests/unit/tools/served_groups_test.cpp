// Which tools are not offered, since nobody serves their group for the organization.
#include <gtest/gtest.h>

#include "tests/support/rigs/tool_fixture.h"

namespace hostler {
namespace {

using testing_support::run_task;
using Names = std::vector<std::string>;

class ServedGroups : public testing::Test {
 protected:
  Names unserved(const std::string& org_id) {
    return run_task(fixture_.loop(),
                    box_.unserved(org_id, {"ask_user", "web_search", "web_fetch", "other"}));
  }
  testing_support::ToolFixture fixture_;
  const config::Settings& with_basic_fetch() {
    fixture_.set("web_fetch.provider", std::string("basic"));
    return fixture_.settings();
  }
  config::LiveSettings settings_{with_basic_fetch()};
  runner::ToolBox box_{fixture_.loop(), fixture_.db(), fixture_.http(), fixture_.secrets(),
                       settings_};
};

TEST_F(ServedGroups, AreThoseOfTheOrganizationElseOfThePlatform) {
  std::string other = fixture_.new_org();
  // The settings serve web_fetch.
  EXPECT_EQ(unserved(fixture_.org_id), Names{"web_search"});
  fixture_.add_provider({"web_search.alpha", "", "key"});
  fixture_.add_provider({.name = "web_search.beta",
                         .base_url = "",
                         .api_key = "",
                         .is_active = true,
                         .org_id = other});
  box_.hear_of_providers();
  EXPECT_EQ(unserved(fixture_.org_id), Names{});
  EXPECT_EQ(unserved(other), Names{"web_search"}) << "its own lacks an address";
}

TEST_F(ServedGroups, AreKeptUntilProvidersChange) {
  EXPECT_EQ(unserved(fixture_.org_id), Names{"web_search"});
  fixture_.add_provider({"web_search.alpha", "", "key"});
  EXPECT_EQ(unserved(fixture_.org_id), Names{"web_search"}) << "nobody asked anew";
  box_.hear_of_providers();
  EXPECT_EQ(unserved(fixture_.org_id), Names{});
}

TEST_F(ServedGroups, AreNotAskedForWithoutTheirTools) {
  EXPECT_EQ(run_task(fixture_.loop(), box_.unserved("no organization", {"ask_user"})), Names{});
}

}  // namespace
}  // namespace hostler
