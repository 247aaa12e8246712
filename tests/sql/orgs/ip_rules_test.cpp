// Which addresses an organization's rules hold: as if each rule were asked, by few look-ups.
#include <gtest/gtest.h>

#include <string>

#include <fmt/format.h>

#include "lib/json.h"
#include "tests/support/rows/run_fixture.h"

namespace hostler {
namespace {

using testing_support::RunFixture;
using testing_support::TestDatabase;

class IpRules : public testing::Test {
 protected:
  void add(const std::string& type, const std::string& networks) {
    database_.as_superuser().run_text(
        fmt::format("INSERT INTO ip_rules (org_id, type, cidr) SELECT '{}', '{}', network(n.cidr) "
                    "FROM ({}) AS n(cidr) ON CONFLICT DO NOTHING",
                    fixture_.org_id, type, networks));
  }
  // Returns what asking for one address reads, in pages of 8 KiB.
  int64_t pages_read(const std::string& address) {
    postgres::DbSession session = database_.as_superuser();
    std::string ask = fmt::format("SELECT ip_admits('{}', '{}')", fixture_.org_id, address);
    session.run_text(ask);  // the catalogue is read by then
    postgres::Result plan = session.run_text("EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) " + ask);
    Json reported = parse_json_or_nothing(plan.text()).value_or(Json());
    return reported.as_array()->at(0).find("Plan")->integer_or("Shared Hit Blocks", 1'000'000);
  }

  TestDatabase database_;
  RunFixture fixture_{database_};
};

// Networks that lie within each other and beside each other, and addresses in and around them.
TEST_F(IpRules, AdmitWhomEachRuleByItselfWouldAdmit) {
  const std::string v4 =
      "set_masklen(('10.' || (n * 7 % 4) || '.' || (n * 13 % 5) || '.' || (n * 37 % 256))::inet, "
      "(ARRAY[32, 31, 30, 28, 25, 24, 23, 20, 16])[n % 9 + 1])";
  const std::string v6 =
      "set_masklen(('2001:db8:' || to_hex(n * 7 % 4) || ':' || to_hex(n * 13 % 5) || '::' || "
      "to_hex(n * 37 % 256))::inet, (ARRAY[128, 127, 126, 112, 64, 63, 48, 46, 32])[n % 9 + 1])";
  const std::string both = fmt::format(
      "SELECT {} FROM generate_series({{0}}, {{1}}) AS n UNION ALL SELECT {} FROM "
      "generate_series({{0}}, {{1}}) AS n",
      v4, v6);
  add("blocklist", fmt::format(fmt::runtime(both), 1, 12));
  add("allowlist", fmt::format(fmt::runtime(both), 40, 75));
  std::string differing = fixture_.column(fmt::format(
      "WITH asked AS (SELECT DISTINCT ('10.' || n % 4 || '.' || n / 4 % 5 || '.' || n * 11 % "
      "256)::inet AS a FROM generate_series(0, 2000) AS n UNION SELECT ('2001:db8:' || to_hex(n % "
      "4) || ':' || to_hex(n / 4 % 5) || '::' || to_hex(n * 11 % 256))::inet FROM "
      "generate_series(0, 2000) AS n UNION VALUES ('0.0.0.0'::inet), ('255.255.255.255'), ('::'), "
      "('ffff::'), ('::ffff:10.0.0.1')), judged AS (SELECT a, ip_admits('{0}', a) AS is_admitted, "
      "NOT EXISTS (SELECT FROM ip_rules r WHERE r.org_id = '{0}' AND r.type = 'blocklist' AND "
      "r.cidr >>= a) AND EXISTS (SELECT FROM ip_rules r WHERE r.org_id = '{0}' AND r.type = "
      "'allowlist' AND r.cidr >>= a) AS should_be FROM asked) SELECT concat_ws(' ', count(*) "
      "FILTER (WHERE is_admitted), count(*) FILTER (WHERE NOT is_admitted) > 100, (array_agg(a) "
      "FILTER (WHERE is_admitted <> should_be))[:3]) FROM judged",
      fixture_.org_id));
  EXPECT_TRUE(differing.ends_with(" t")) << "admitted, some not, those that differ: " << differing;
  EXPECT_GE(differing.find(' '), 3u) << "hundreds are admitted";
}

// It is asked with every request and every few seconds for each stream.
TEST_F(IpRules, AreFewLookUpsHoweverLongTheAddress) {
  add("blocklist",
      "SELECT ('2001:db9::' || to_hex(n) || ':0/112')::inet FROM generate_series(1, 1000) AS n "
      "UNION ALL SELECT ('172.' || n / 256 || '.' || n % 256 || '.0/24')::inet FROM "
      "generate_series(1, 1000) AS n");
  add("allowlist", "VALUES ('10.0.0.0/8'::inet), ('2001:db8::/32')");
  database_.as_superuser().run_text("VACUUM ANALYZE ip_rules");
  EXPECT_LE(pages_read("10.1.2.3"), 20);
  EXPECT_LE(pages_read("2001:db8:1:2:3:4:5:6"), 20);
  EXPECT_LE(pages_read("2001:db9::77:1"), 20);
}

}  // namespace
}  // namespace hostler
