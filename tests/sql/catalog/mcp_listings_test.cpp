// Which MCP server a daemon is given to list, and when its outcome counts, from SQL. What becomes
// of the tools: tests/api/catalog/mcp_tools_test.cpp.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "queries/mcp_listings.h"
#include "tests/support/rows/run_fixture.h"

namespace hostler {
namespace {

using namespace testing_support;

constexpr const char* first = "00000000-0000-4000-8000-000000000001";
constexpr const char* second = "00000000-0000-4000-8000-000000000002";
constexpr const char* nothing_listed =
    R"({"protocol_version":"2026-07-28","ttl_ms":null,"discovery":{},"left_out":[],"tools":[]})";

class McpListings : public testing::Test {
 protected:
  std::string new_server(const std::string& key) {
    return fixture_.column(
        fmt::format("INSERT INTO mcp_servers (org_id, key, url, authorization_kind) VALUES "
                    "('{}', '{}', 'https://example.org/mcp', 'none') RETURNING id",
                    fixture_.org_id, key));
  }
  // Empty: none is due.
  std::string claim(const char* listing_id, const std::vector<std::string>& full_orgs = {}) {
    postgres::DbSession session = database_.as_runner();
    postgres::Result claimed = session.run(query::McpListingClaim{
        .listing_id = listing_id, .claim_seconds = 60, .full_orgs = full_orgs});
    return claimed.empty() ? "" : std::string(claimed.front().text("server_id"));
  }
  std::string store(const std::string& server_id, const char* listing_id,
                    const std::string& outcome = nothing_listed) {
    postgres::DbSession session = database_.as_runner();
    postgres::Result stored = session.run(query::McpListingStore{
        .server_id = server_id, .listing_id = listing_id, .outcome = outcome});
    return std::string(stored.front().text("state"));
  }
  std::string of(const std::string& server_id, const std::string& expression) {
    return fixture_.column(
        fmt::format("SELECT ({})::text FROM mcp_servers WHERE id = '{}'", expression, server_id));
  }
  void change(const std::string& server_id, const std::string& assignments) {
    fixture_.column(
        fmt::format("UPDATE mcp_servers SET {} WHERE id = '{}'", assignments, server_id));
  }
  // In how many seconds it is listed again, rounded to ten.
  std::string next_seconds(const std::string& server_id) {
    return of(server_id,
              "round(extract(epoch FROM listing_due_at - clock_timestamp()) / 10)::bigint * 10");
  }

  TestDatabase database_;
  RunFixture fixture_{database_};
};

TEST_F(McpListings, AreOneDaemonsUntilItsTimeIsOver) {
  std::string server = new_server("files");
  EXPECT_EQ(claim(first), server);
  EXPECT_EQ(claim(second), "");
  change(server, "listing_due_at = clock_timestamp()");
  EXPECT_EQ(claim(second), server);
  EXPECT_EQ(store(server, first), "fenced");
  EXPECT_EQ(store(server, second), "stored");
  EXPECT_EQ(store(server, second), "fenced") << "once";
}

TEST_F(McpListings, AreGivenToWhoeverIsDueLongest) {
  std::string older = new_server("older");
  std::string newer = new_server("newer");
  change(older, "listing_due_at = clock_timestamp() - interval '2 minutes'");
  EXPECT_EQ(claim(first), older);
  EXPECT_EQ(claim(second), newer);
}

TEST_F(McpListings, OfOrganizationsThatHaveTheirShareArePassedOver) {
  std::string server = new_server("hanging");
  std::string platforms = new_server("platforms");
  change(platforms, "org_id = NULL, listing_due_at = clock_timestamp() + interval '1 minute'");
  EXPECT_EQ(claim(first, {fixture_.org_id}), "");
  change(platforms, "listing_due_at = clock_timestamp()");
  constexpr const char* platform = "00000000-0000-0000-0000-000000000000";
  EXPECT_EQ(claim(first, {fixture_.org_id, platform}), "");
  EXPECT_EQ(claim(first, {fixture_.org_id}), platforms);
  EXPECT_EQ(claim(second, {platform}), server);
}

TEST_F(McpListings, AreNotMadeOfServersThatAreOffOrGone) {
  change(new_server("off"), "is_active = false");
  change(new_server("gone"), "deleted_at = clock_timestamp()");
  EXPECT_EQ(claim(first), "");
}

TEST_F(McpListings, DoNotCountWhenTheServerIsAnotherMeanwhile) {
  std::string server = new_server("files");
  ASSERT_EQ(claim(first), server);
  fixture_.column(fmt::format("SELECT mcp_listing_wanted('{}', true)", server));
  EXPECT_EQ(store(server, first), "fenced");
  EXPECT_EQ(of(server, "listing_state"), "pending");
  EXPECT_EQ(claim(second), server);
  // Asked for once more, the one under way counts.
  fixture_.column(fmt::format("SELECT mcp_listing_wanted('{}')", server));
  EXPECT_EQ(claim(first), "");
  EXPECT_EQ(store(server, second), "stored");
  EXPECT_EQ(of(server, "listing_state"), "ok");
}

TEST_F(McpListings, AreMadeAgainWhenTheServerSaysButNotAllTheTime) {
  struct Case {
    const char* ttl_ms;
    const char* next;
  };
  std::string server = new_server("files");
  for (Case one : {Case{"null", "3600"}, Case{"0", "300"}, Case{"-5", "300"}, Case{"600000", "600"},
                   Case{"1e300", "86400"}}) {
    change(server, "listing_due_at = clock_timestamp()");
    ASSERT_EQ(claim(first), server);
    std::string outcome = nothing_listed;
    outcome.replace(outcome.find("null"), 4, one.ttl_ms);
    ASSERT_EQ(store(server, first, outcome), "stored");
    EXPECT_EQ(next_seconds(server), one.next) << one.ttl_ms;
  }
}

TEST_F(McpListings, ThatFailAreMadeAgainEverLater) {
  std::string server = new_server("files");
  for (const char* next : {"60", "120", "240", "480", "960", "1920", "3600", "3600"}) {
    change(server, "listing_due_at = clock_timestamp()");
    ASSERT_EQ(claim(first), server);
    ASSERT_EQ(store(server, first, R"({"error":{"code":"tool.unreachable","message":"m"}})"),
              "stored");
    EXPECT_EQ(next_seconds(server), next);
  }
  EXPECT_EQ(of(server, "listing_state"), "failed");
  EXPECT_EQ(of(server, "is_pinned"), "false") << "nothing was shown that could be approved";
}

// For 64 KiB of them Postgres would write a hundred megabytes to hash one tool.
TEST_F(McpListings, LeaveToolsOutWhoseNumbersAreWrittenShortAndStoredLong) {
  for (auto [number, is_kept] : {std::pair{"0e-16383", false},
                                 {"1E+131071", false},
                                 {"1.7976931348623157e+308", true},
                                 {R"("\\" , "e": "\"1e9999")", true}}) {
    std::string definition =
        fmt::format(R"({{"name":"t","inputSchema":{{"type":"object","x":{}}}}})", number);
    EXPECT_EQ(fixture_.column(fmt::format("SELECT (mcp_listed_hash('t', $${}$$) IS NOT NULL)::text",
                                          definition)),
              is_kept ? "true" : "false")
        << definition;
  }
}

}  // namespace
}  // namespace hostler
