// hostlerctl ip-rules and gateway: the way out for somebody who locked everybody out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/rigs/database.h"
#include "tests/support/rigs/run_program.h"

namespace hostler {
namespace {

using testing::HasSubstr;
using namespace testing_support;

class GatewayCommands : public testing::Test {
 protected:
  ProgramRun run(std::vector<std::string> command) {
    return run_ctl(command, {"HOSTLER_DATABASE_URL=" + database_.superuser_url()});
  }
  std::string ask(const std::string& question) {
    return std::string(database_.as_superuser().run_text(question).text());
  }
  // An organization with two rules.
  std::string make_org(const std::string& slug) {
    std::string id = ask("INSERT INTO orgs (slug, name, type) VALUES ('" + slug + "', 'x', " +
                         "'workspace') RETURNING id");
    ask("INSERT INTO ip_rules (org_id, type, cidr, note) VALUES ('" + id +
        "', 'allowlist', '192.0.2.0/24', 'office'), ('" + id +
        "', 'blocklist', '198.51.100.1/32', NULL) RETURNING 1");
    return id;
  }

  TestDatabase database_;
};

TEST_F(GatewayCommands, ListRulesOfAnOrganizationByIdOrSlug) {
  std::string id = make_org("works");
  for (const std::string& name : {id, std::string("works")}) {
    ProgramRun listed = run({"ip-rules", "list", name});
    EXPECT_EQ(listed.status, 0) << listed.err;
    EXPECT_THAT(listed.out, HasSubstr("allowlist  192.0.2.0/24  office"));
    EXPECT_THAT(listed.out, HasSubstr("blocklist  198.51.100.1/32"));
  }
  EXPECT_THAT(run({"ip-rules", "list", "works", "-o", "json"}).out,
              HasSubstr(R"("type":"allowlist","cidr":"192.0.2.0/24","note":"office")"));
  ProgramRun unknown = run({"ip-rules", "list", "nobody"});
  EXPECT_EQ(unknown.status, 65);
}

TEST_F(GatewayCommands, DeleteOneRuleOrAllAndTellTheAuditLog) {
  std::string id = make_org("works");
  make_org("others");
  std::string rule = ask("SELECT id FROM ip_rules WHERE org_id = '" + id + "' LIMIT 1");
  EXPECT_EQ(run({"ip-rules", "delete", "works"}).status, 64) << "neither a rule nor --all";
  EXPECT_EQ(run({"ip-rules", "delete", "works", "x"}).status, 64);
  EXPECT_EQ(run({"ip-rules", "delete", "others", rule}).status, 65) << "another's rule";
  EXPECT_EQ(run({"ip-rules", "delete", "works", rule}).status, 0);
  EXPECT_EQ(ask("SELECT ip_rule_count FROM orgs WHERE slug = 'works'"), "1");
  EXPECT_EQ(run({"ip-rules", "delete", "works", "--all", "-o", "json"}).out, "{\"removed\":1}\n");
  EXPECT_EQ(ask("SELECT ip_rule_count FROM orgs WHERE slug = 'works'"), "0");
  EXPECT_EQ(ask("SELECT ip_rule_count FROM orgs WHERE slug = 'others'"), "2");
  EXPECT_EQ(ask("SELECT count(*) FROM audit_logs WHERE action = 'ip_rules.delete'"), "2");
}

TEST_F(GatewayCommands, ShowAndResetWhatAdministratorsStored) {
  ask("INSERT INTO settings (key, value) VALUES ('gateway.ip_mode', '\"cdn\"'), "
      "('gateway.risk_reject_threshold', '0.2') RETURNING 1");
  EXPECT_EQ(run({"gateway", "show"}).out,
            "gateway.ip_mode = \"cdn\"  (stored)\ngateway.trusted_cidrs = []\n"
            "gateway.risk_reject_threshold = 0.2  (stored)\n");
  ProgramRun reset = run({"gateway", "reset", "-o", "json"});
  EXPECT_EQ(reset.status, 0) << reset.err;
  EXPECT_EQ(reset.out,
            "{\"ip_mode\":\"direct\",\"trusted_cidrs\":[],\"risk_reject_threshold\":0}\n");
  EXPECT_EQ(ask("SELECT count(*) FROM settings WHERE key LIKE 'gateway.%'"), "0");
  EXPECT_EQ(ask("SELECT before_state ->> 'gateway.ip_mode' FROM audit_logs WHERE action = "
                "'gateway.config_set'"),
            "cdn");
  EXPECT_EQ(run({"gateway"}).status, 64);
}

TEST_F(GatewayCommands, AreRecommendedByTheDoctorWhenEverybodyIsShutOut) {
  std::string id = make_org("works");
  EXPECT_THAT(run({"doctor"}).out, HasSubstr("ip_mode direct"));
  ask("INSERT INTO settings (key, value) VALUES ('gateway.ip_mode', '\"proxy\"'), "
      "('gateway.risk_reject_threshold', '0.2') RETURNING 1");
  ask("INSERT INTO ip_rules (org_id, type, cidr) VALUES ('" + id +
      "', 'blocklist', '::/0') RETURNING 1");
  std::string reported = run({"doctor"}).out;
  EXPECT_THAT(reported,
              HasSubstr("risk_reject_threshold 0.2 refuses every request without a token"));
  EXPECT_THAT(reported, HasSubstr("trusted_cidrs is empty"));
  EXPECT_THAT(reported, HasSubstr("1 organization with rules that block all of IPv4, all of IPv6"));
  std::string allows = make_org("allows");
  ask("INSERT INTO ip_rules (org_id, type, cidr) SELECT '" + allows +
      "'::uuid, type, cidr::cidr FROM (VALUES ('allowlist', '10.0.0.0/9'), ('allowlist', "
      "'10.9.0.0/16'), ('blocklist', '10.0.0.0/8')) AS r(type, cidr) RETURNING 1");
  EXPECT_THAT(run({"doctor"}).out, HasSubstr("1 organization with")) << "one network is let in";
  ask("DELETE FROM ip_rules WHERE cidr = '192.0.2.0/24' AND org_id = '" + allows + "' RETURNING 1");
  EXPECT_THAT(run({"doctor"}).out, HasSubstr("2 organizations with rules"));
}

}  // namespace
}  // namespace hostler
