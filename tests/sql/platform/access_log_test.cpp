// The access log's table: lines arrive once, in the order of commits; pages, filters, retention.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "lib/json.h"
#include "tests/support/rigs/database.h"

namespace hostler {
namespace {

using testing::HasSubstr;
using namespace testing_support;

class AccessLog : public testing::Test {
 protected:
  AccessLog() : sql_(database_.as_superuser()) {}

  static std::string entry(const std::string& path, const std::string& more = "") {
    return fmt::format(
        R"({{"at":1763673000.5,"trace_id":"x","method":"GET","path":"{}","status_code":200,)"
        R"("duration_ms":1,"client_ip":"192.0.2.1","country":"","city":"","user_agent":"",)"
        R"("ua_type":"unknown","risk_score":0.4,"identity_type":"anonymous"{}}})",
        path, more);
  }
  int64_t append(const std::string& file, int64_t from, int64_t to, const std::string& entries) {
    postgres::Result result = sql_.run_text(
        fmt::format("SELECT bytes_read AS n FROM access_log_append('{}', {}, {}, '[{}]')", file,
                    from, to, entries));
    return result.front().integer("n");
  }
  std::string ask(const std::string& question) {
    return std::string(sql_.run_text(question).text());
  }
  // Acts as a platform administrator.
  Json page(const std::string& wanted, int rows_read_max = 1000) {
    sql_.begin();
    sql_.run_text(R"(SELECT set_request_context(NULL, NULL, '{"platform_admin": true}'))");
    std::string text = ask(
        fmt::format("SELECT access_log_page('{{\"limit\": 10{}}}', {})", wanted, rows_read_max));
    sql_.commit();
    return parse_json_or_nothing(text).value_or(Json());
  }
  static std::string paths(const Json& page) {
    std::string all;
    for (const Json& row : *page.find("data")->as_array()) all += row.text_or("path");
    return all;
  }

  TestDatabase database_;
  postgres::DbSession sql_;
};

TEST_F(AccessLog, TakesEachPieceOfAFileOnce) {
  EXPECT_EQ(append("f", 0, 10, entry("/a")), 10);
  EXPECT_EQ(append("f", 0, 10, entry("/a")), 10) << "the answer had been lost";
  EXPECT_EQ(append("f", 5, 20, entry("/b")), 10) << "from where it is not";
  EXPECT_EQ(append("f", 10, 20, entry("/c")), 20);
  EXPECT_EQ(append("g", 0, 5, entry("/d")), 5);
  EXPECT_EQ(append("g", 5, 6, ""), 6);
  EXPECT_EQ(ask("SELECT string_agg(path, '' ORDER BY id) FROM access_log"), "/a/c/d");
}

TEST_F(AccessLog, LeavesOutWhatNoRowCanBeMadeOfAndGoesOn) {
  std::string text = entry("/1");
  for (const char* bad :
       {R"(,"status_code":99999999999)", R"(,"at":1e300)", R"(,"at":null)", R"(,"path":"\u0000")",
        R"(,"client_ip":"192.0.2.300")", R"(,"duration_ms":1e19)", R"(,"user_id":"x")"}) {
    text += "," + entry("/bad", bad) + "," + entry("/2");
  }
  postgres::Result result = sql_.run_text(fmt::format(
      "SELECT bytes_read, skipped, bad_entry, reason FROM access_log_append('f', 0, 10, '[{}]')",
      text));
  postgres::Row row = result.front();
  EXPECT_EQ(row.integer("bytes_read"), 10);
  EXPECT_EQ(row.integer("skipped"), 7);
  EXPECT_THAT(row.text("bad_entry"), HasSubstr("99999999999"));
  EXPECT_THAT(row.text("reason"), HasSubstr("out of range"));
  EXPECT_EQ(ask("SELECT string_agg(path, '' ORDER BY id) FROM access_log"), "/1/2/2/2/2/2/2/2");
  EXPECT_EQ(append("f", 10, 20, entry("/3")), 20);
}

TEST_F(AccessLog, GivesIdsInTheOrderOfCommitsThoughTheClockGoesBack) {
  ask("UPDATE access_log_tail SET last_us = last_us + (extract(epoch FROM now() + interval '5 "
      "seconds') * 1000000)::bigint RETURNING 1");
  EXPECT_EQ(append("f", 0, 10, entry("/1") + "," + entry("/2") + "," + entry("/3")), 10);
  EXPECT_EQ(append("f", 10, 20, entry("/4")), 20);
  EXPECT_EQ(ask("SELECT string_agg(path, '' ORDER BY id) FROM access_log"), "/1/2/3/4");
}

TEST_F(AccessLog, WaitsForOneWriterAfterTheOther) {
  postgres::DbSession other = database_.as_superuser();
  sql_.begin();
  append("f", 0, 10, entry("/first"));
  other.run_text("SET lock_timeout = '100ms'");
  EXPECT_THROW(other.run_text("SELECT access_log_append('g', 0, 10, '[]')"), Error);
  sql_.commit();
  other.run_text("SELECT access_log_append('g', 0, 10, '[]')");
}

TEST_F(AccessLog, IsPagedBothWays) {
  for (int i = 1; i <= 5; ++i) append("f", i - 1, i, entry(fmt::format("/{}", i)));
  Json newest = page(R"(, "limit": 2)");
  EXPECT_EQ(paths(newest), "/5/4");
  EXPECT_EQ(*newest.find("has_more")->as_boolean(), true);
  std::string before(newest.text_or("next_before"));
  Json rest = page(fmt::format(R"(, "before": "{}")", before));
  EXPECT_EQ(paths(rest), "/3/2/1");
  EXPECT_EQ(*rest.find("has_more")->as_boolean(), false);
  EXPECT_TRUE(rest.find("next_before")->is_null());
  EXPECT_TRUE(newest.find("next_since")->is_null());
  Json since = page(fmt::format(R"(, "limit": 1, "since": "{}")", before));
  EXPECT_EQ(paths(since), "/5");
  EXPECT_EQ(*since.find("has_more")->as_boolean(), false);
  since = page(
      fmt::format(R"(, "limit": 2, "since": "{}")", ask("SELECT min(id::text) FROM access_log")));
  EXPECT_EQ(paths(since), "/2/3") << "oldest first";
  EXPECT_EQ(*since.find("has_more")->as_boolean(), true);
  EXPECT_TRUE(since.find("next_before")->is_null());
  Json last = page(fmt::format(R"(, "limit": 2, "since": "{}")", since.text_or("next_since")));
  EXPECT_EQ(paths(last), "/4/5");
}

TEST_F(AccessLog, AlwaysTellsAFollowerWhereToGoOn) {
  append("f", 0, 1, entry("/a") + "," + entry("/b"));
  std::string first = ask("SELECT min(id::text) FROM access_log");
  std::string newest = ask("SELECT max(id::text) FROM access_log");
  Json all = page(fmt::format(R"(, "since": "{}")", first));
  EXPECT_EQ(paths(all), "/b");
  EXPECT_EQ(*all.find("has_more")->as_boolean(), false);
  EXPECT_EQ(all.text_or("next_since"), newest);
  Json none = page(fmt::format(R"(, "since": "{}")", newest));
  EXPECT_EQ(paths(none), "");
  EXPECT_EQ(none.text_or("next_since"), newest) << "the given one";
  for (const char* filter : {R"("path": "/x")", R"("ip": "203.0.113.77")"}) {
    Json other = page(fmt::format(R"(, {}, "since": "{}")", filter, first));
    EXPECT_EQ(paths(other), "");
    EXPECT_EQ(other.text_or("next_since"), newest) << "looked at, though it did not match";
  }
}

TEST_F(AccessLog, IsFilteredByEachMember) {
  std::string rows = entry("/v1/a") + "," + entry("/v1/b", R"(, "country": "DE")") + "," +
                     entry("/x") + "," + entry("/v1/c", R"(, "ua_type": "bot", "risk_score": 0.8)");
  append("f", 0, 1, rows);
  append("f", 1, 2, entry("/p", R"(, "method": "POST", "client_ip": "2001:db8::1")"));
  EXPECT_EQ(paths(page(R"(, "path": "/v1/")")), "/v1/c/v1/b/v1/a");
  EXPECT_EQ(paths(page(R"(, "path": "%")")), "") << "a prefix, no pattern";
  EXPECT_EQ(paths(page(R"(, "method": "POST")")), "/p");
  EXPECT_EQ(paths(page(R"(, "ip": "2001:db8::1")")), "/p");
  EXPECT_EQ(paths(page(R"(, "country": "DE")")), "/v1/b");
  EXPECT_EQ(paths(page(R"(, "ua_type": "bot")")), "/v1/c");
  EXPECT_EQ(paths(page(R"(, "risk_min": 0.8)")), "/v1/c");
  EXPECT_EQ(paths(page(R"(, "risk_min": 0.8, "method": "POST")")), "");
}

TEST_F(AccessLog, GoesOnFromWhereABoundedWalkEnded) {
  append("f", 0, 1, entry("/wanted"));
  for (int i = 1; i <= 5; ++i) append("f", i, i + 1, entry("/other"));
  Json first = page(R"(, "path": "/wanted")", 3);
  EXPECT_EQ(paths(first), "");
  EXPECT_EQ(*first.find("has_more")->as_boolean(), true);
  Json second =
      page(fmt::format(R"(, "path": "/wanted", "before": "{}")", first.text_or("next_before")), 3);
  EXPECT_EQ(paths(second), "/wanted");
}

TEST_F(AccessLog, GoesOnForwardsThoughNothingOfABoundedWalkMatched) {
  for (int i = 0; i < 6; ++i) append("f", i, i + 1, entry("/other"));
  append("f", 6, 7, entry("/wanted"));
  std::string since = ask("SELECT min(id::text) FROM access_log");
  std::string seen;
  for (int step = 0; step < 2; ++step) {
    Json body = page(fmt::format(R"(, "path": "/wanted", "since": "{}")", since), 3);
    seen += paths(body);
    EXPECT_EQ(*body.find("has_more")->as_boolean(), true);
    EXPECT_GT(body.text_or("next_since"), since);
    since = body.text_or("next_since");
  }
  EXPECT_EQ(seen, "/wanted");
}

TEST_F(AccessLog, IsForPlatformAdministratorsOnly) {
  EXPECT_THROW(ask(R"(SELECT access_log_page('{"limit": 1}'))"), Error);
  EXPECT_THROW(database_.as_api().run_text("SELECT id FROM access_log"), Error);
  EXPECT_THROW(database_.as_runner().run_text("SELECT id FROM access_log"), Error);
}

TEST_F(AccessLog, KeepsADayForEachPartitionAndDropsThemWhole) {
  // Done every day: the tests' template may be of yesterday.
  ask("SELECT access_log_make_partitions()");
  ask("SELECT access_log_make_partition(current_date - 40)");
  ask("SELECT access_log_make_partition(current_date - 29)");
  EXPECT_EQ(append("old", 0, 5, ""), 5);
  ask("UPDATE access_log_files SET updated_at = now() - interval '3 days' RETURNING 1");
  EXPECT_EQ(ask("SELECT access_log_prune(30)"), "1");
  EXPECT_EQ(ask("SELECT access_log_prune(30)"), "0");
  EXPECT_EQ(ask("SELECT access_log_files_prune(10)"), "1");
  EXPECT_EQ(ask("SELECT to_regclass('access_log_' || to_char(current_date - 40, 'YYYY_MM_DD')) IS "
                "NULL"),
            "t");
  EXPECT_EQ(ask("SELECT to_regclass('access_log_' || to_char(current_date - 29, 'YYYY_MM_DD')) IS "
                "NULL"),
            "f");
  EXPECT_EQ(ask("SELECT to_regclass('access_log_' || to_char(current_date + 3, 'YYYY_MM_DD')) IS "
                "NULL"),
            "f");
  EXPECT_EQ(ask("SELECT count(*) FROM access_log_files"), "0");
}

}  // namespace
}  // namespace hostler
