// Rules about addresses: their endpoints, and that they are kept wherever somebody acts in the
// organization. The stack believes X-Forwarded-For of this machine, so a test comes from anywhere.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/eventually.h"
#include "tests/support/rows/accounts.h"

namespace hostler::testing_support {
namespace {

using testing::HasSubstr;

ApiStack& stack() {
  static ApiStack own(
      {.settings = {"HOSTLER_GATEWAY_IP_MODE=proxy", "HOSTLER_GATEWAY_TRUSTED_CIDRS=127.0.0.0/8"}});
  return own;
}

constexpr const char* office = "203.0.113.7";
constexpr const char* elsewhere = "198.51.100.9";

Answer call(const Client& client, std::string method, std::string path, std::string body = "",
            std::string from = office) {
  std::string type = body.empty() ? "" : "application/json";
  return client.send({std::move(method),
                      std::move(path),
                      std::move(body),
                      type,
                      {{"X-Forwarded-For", std::move(from)}}});
}
Answer add(const Client& client, std::string_view type, std::string_view cidr,
           std::string_view more = "", std::string from = office) {
  return call(client, "POST", "/v1/ip-rules",
              fmt::format(R"({{"type":"{}","cidr":"{}"{}}})", type, cidr, more), std::move(from));
}
Answer me(const Client& client, std::string from) {
  return call(client, "GET", "/v1/me", "", std::move(from));
}
bool is_blocked(const Answer& answer) { return bool(is_problem(answer, 403, "ip.blocked")); }

TEST(CreateIpRule, AnswersTheRuleWithItsHostBitsCut) {
  SCOPED_TRACE("POST /v1/ip-rules");
  TestUser user = register_user(stack());
  Answer made = add(user.client, "blocklist", "198.51.100.77/24", R"(,"note":"noise")");
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made.member("type"), "blocklist");
  EXPECT_EQ(made.member("cidr"), "198.51.100.0/24");
  EXPECT_EQ(made.member("note"), "noise");
  EXPECT_EQ(made.member("org_id"), user.org_id);
  EXPECT_EQ(add(user.client, "blocklist", "192.0.2.1").member("cidr"), "192.0.2.1/32");
  EXPECT_EQ(add(user.client, "blocklist", "2001:DB8::1").member("cidr"), "2001:db8::1/128");
  EXPECT_EQ(add(user.client, "blocklist", "2001:db8:7::1/48").member("cidr"), "2001:db8:7::/48");
  EXPECT_EQ(add(user.client, "blocklist", "192.0.2.2").member("note"), "null");
  EXPECT_EQ(sql_value(stack(), fmt::format("SELECT after_state ->> 'cidr' FROM audit_logs WHERE "
                                           "action = 'ip_rules.create' AND target_id = '{}'",
                                           made.member("id"))),
            "198.51.100.0/24");
}

TEST(CreateIpRule, RefusesWhatIsMalformedOrThereAlready) {
  TestUser user = register_user(stack());
  for (const char* bad : {"x", "1.2.3.4/33", "1.2.3/8", "::1/129", "1.2.3.4/", "", "1.2.3.4:80"}) {
    EXPECT_EQ(fault_count(add(user.client, "allowlist", bad)), 1u) << bad;
  }
  EXPECT_TRUE(has_fault(add(user.client, "allow", "1.2.3.4"), "type", "unknown"));
  EXPECT_EQ(fault_count(call(user.client, "POST", "/v1/ip-rules", "{}")), 2u);
  EXPECT_EQ(add(user.client, "blocklist", "192.0.2.0/24").status, 201);
  EXPECT_TRUE(is_problem(add(user.client, "blocklist", "192.0.2.9/24"), 409, "ip_rules.exists"));
  EXPECT_EQ(add(register_user(stack()).client, "blocklist", "192.0.2.0/24").status, 201)
      << "another organization's";
}

TEST(CreateIpRule, KeepsTheCallerFromLockingThemselfOut) {
  TestUser user = register_user(stack());
  EXPECT_TRUE(
      is_problem(add(user.client, "blocklist", "203.0.113.0/24"), 409, "ip_rules.would_lock_out"));
  EXPECT_TRUE(
      is_problem(add(user.client, "allowlist", "198.51.100.0/24"), 409, "ip_rules.would_lock_out"));
  EXPECT_EQ(me(user.client, office).status, 200) << "nothing was stored";
  EXPECT_EQ(add(user.client, "allowlist", "198.51.100.0/24", R"(,"force":true)").status, 201);
  EXPECT_TRUE(is_blocked(me(user.client, office)));
  EXPECT_EQ(me(user.client, elsewhere).status, 200);
}

// "passes rule_id" of an address.
std::string checked(const Client& client, std::string_view address) {
  Answer answer = call(client, "GET", fmt::format("/v1/ip-rules/check?address={}", address));
  EXPECT_EQ(answer.status, 200) << answer.body;
  return fmt::format("{} {}", answer.member("passes"), answer.member("rule_id"));
}

TEST(CheckIpRules, TellWhetherAnAddressPassesAndByWhichRule) {
  SCOPED_TRACE("GET /v1/ip-rules/check");
  TestUser user = register_user(stack());
  TestUser other = register_user(stack());
  EXPECT_EQ(checked(user.client, elsewhere), "true null");
  std::string wide = add(user.client, "blocklist", "198.51.100.0/24").member("id");
  EXPECT_EQ(checked(user.client, elsewhere), "false " + wide);
  EXPECT_EQ(checked(user.client, "2001:db8::7"), "true null");
  std::string own = add(user.client, "allowlist", "203.0.113.0/24").member("id");
  EXPECT_EQ(checked(user.client, office), "true " + own);
  EXPECT_EQ(checked(user.client, "192.0.2.1"), "false null") << "there is an allowlist";
  std::string both = add(user.client, "blocklist", "203.0.113.128/25").member("id");
  EXPECT_EQ(checked(user.client, "203.0.113.200"), "false " + both);
  EXPECT_EQ(checked(other.client, elsewhere), "true null") << "rules are an organization's own";
  for (const char* address : {office, "192.0.2.1", elsewhere, "203.0.113.200"}) {
    bool passes = checked(user.client, address).find("true") == 0;
    EXPECT_EQ(me(user.client, address).status == 200, passes) << address << " is treated so";
  }
}

TEST(CheckIpRules, WantAnAddressAndTheRight) {
  TestUser user = register_user(stack());
  TestUser member = register_user(stack());
  auto asks = [&](const Client& client, std::string_view query) {
    return call(client, "GET", fmt::format("/v1/ip-rules/check{}", query));
  };
  EXPECT_TRUE(has_fault(asks(user.client, ""), "address", "required"));
  EXPECT_TRUE(has_fault(asks(user.client, "?address=203.0.113.0/24"), "address", "bad_format"));
  EXPECT_TRUE(has_fault(asks(user.client, "?address=home"), "address", "bad_format"));
  std::string org_id = make_workspace(stack(), user);
  add_member(stack(), org_id, member, "member");
  EXPECT_TRUE(is_problem(asks(member.client.with_org(org_id), "?address=192.0.2.1"), 403,
                         "auth.forbidden"));
}

TEST(ListIpRules, PagesThroughThemNewestFirst) {
  SCOPED_TRACE("GET /v1/ip-rules");
  TestUser user = register_user(stack());
  std::vector<std::string> made;
  for (int i = 1; i <= 3; ++i) {
    made.push_back(add(user.client, "blocklist", fmt::format("192.0.2.{}", i)).member("id"));
  }
  Answer first = call(user.client, "GET", "/v1/ip-rules?limit=2");
  ASSERT_EQ(first.status, 200);
  Json page = first.json();
  ASSERT_EQ(page.as_array()->size(), 2u);
  EXPECT_EQ((*page.as_array())[0].text_or("id"), made[2]);
  ASSERT_NE(first.next_path(), "");
  Json rest = call(user.client, "GET", first.next_path()).json();
  ASSERT_EQ(rest.as_array()->size(), 1u);
  EXPECT_EQ((*rest.as_array())[0].text_or("id"), made[0]);
  EXPECT_TRUE(has_fault(call(user.client, "GET", "/v1/ip-rules?limit=0"), "limit", "out_of_range"));
}

TEST(DeleteIpRule, EndsItsEffectAtOnce) {
  SCOPED_TRACE("DELETE /v1/ip-rules/{rule_id}");
  TestUser user = register_user(stack());
  std::string id = add(user.client, "blocklist", "198.51.100.0/24").member("id");
  EXPECT_TRUE(is_blocked(me(user.client, elsewhere)));
  EXPECT_EQ(call(user.client, "DELETE", "/v1/ip-rules/" + id).status, 204);
  EXPECT_EQ(me(user.client, elsewhere).status, 200);
  EXPECT_TRUE(
      is_problem(call(user.client, "DELETE", "/v1/ip-rules/" + id), 404, "ip_rules.not_found"));
  EXPECT_TRUE(is_problem(call(user.client, "DELETE", "/v1/ip-rules/x"), 404, "ip_rules.not_found"));
}

TEST(DeleteIpRule, KeepsTheCallerFromLockingThemselfOut) {
  TestUser user = register_user(stack());
  std::string own = add(user.client, "allowlist", "203.0.113.0/24").member("id");
  EXPECT_EQ(add(user.client, "allowlist", "198.51.100.0/24").status, 201);
  Answer refused = call(user.client, "DELETE", "/v1/ip-rules/" + own);
  EXPECT_TRUE(is_problem(refused, 409, "ip_rules.would_lock_out"));
  EXPECT_EQ(call(user.client, "DELETE", "/v1/ip-rules/" + own + "?force=true").status, 204);
  EXPECT_TRUE(is_blocked(me(user.client, office)));
}

TEST(IpRules, NeedTheRightToManageThem) {
  TestUser owner = register_user(stack());
  TestUser member = register_user(stack());
  std::string work = make_workspace(stack(), owner);
  add_member(stack(), work, member, "member");
  Client client = member.client.with_org(work);
  EXPECT_TRUE(is_problem(add(client, "blocklist", "192.0.2.1"), 403, "auth.forbidden"));
  EXPECT_TRUE(is_problem(call(client, "GET", "/v1/ip-rules"), 403, "auth.forbidden"));
  std::string id = add(owner.client.with_org(work), "blocklist", "192.0.2.1").member("id");
  EXPECT_TRUE(is_problem(call(client, "DELETE", "/v1/ip-rules/" + id), 403, "auth.forbidden"));
  EXPECT_TRUE(
      is_problem(call(owner.client, "DELETE", "/v1/ip-rules/" + id), 404, "ip_rules.not_found"))
      << "of another organization";
}

TEST(IpRules, HoldForTokensKeysAndEveryOrganizationThatIsActedIn) {
  TestUser owner = register_user(stack());
  std::string work = make_workspace(stack(), owner);
  Client key = stack().client().with_token(make_api_key(stack(), owner, work));
  EXPECT_EQ(add(owner.client.with_org(work), "allowlist", "203.0.113.0/24").status, 201);
  EXPECT_TRUE(is_blocked(me(owner.client.with_org(work), elsewhere)));
  EXPECT_TRUE(is_blocked(call(key, "GET", "/v1/threads", "", elsewhere)));
  EXPECT_EQ(call(key, "GET", "/v1/threads").status, 200);
  EXPECT_EQ(me(owner.client, elsewhere).status, 200) << "the personal organization has no rules";
  // Before the path's id, and before the body.
  EXPECT_TRUE(is_blocked(call(key, "GET", "/v1/threads/x", "", elsewhere)));
  EXPECT_TRUE(is_blocked(call(key, "POST", "/v1/threads", "[", elsewhere)));
  // A block counts for more than an allowance.
  EXPECT_EQ(add(owner.client.with_org(work), "blocklist", "203.0.113.200").status, 201);
  EXPECT_TRUE(is_blocked(me(owner.client.with_org(work), "203.0.113.200")));
}

TEST(IpRules, AreBroughtByAnOrganizationInPathOrQuery) {
  TestUser admin = register_admin(stack());
  TestUser owner = register_user(stack());
  EXPECT_EQ(add(owner.client, "blocklist", "198.51.100.0/24").status, 201);
  std::string path = "/v1/entitlement-overrides?org_id=" + owner.org_id;
  EXPECT_EQ(call(admin.client, "GET", path).status, 200);
  EXPECT_TRUE(is_blocked(call(admin.client, "GET", path, "", elsewhere)));
  std::string entitlements = "/v1/entitlements?org_id=" + owner.org_id;
  TestUser stranger = register_user(stack());
  EXPECT_TRUE(
      is_problem(call(stranger.client, "GET", entitlements, "", elsewhere), 404, "orgs.not_found"))
      << "strangers learn nothing of it";
}

TEST(IpRules, AreEnforcedAmongTenThousand) {
  TestUser user = register_user(stack());
  stack().sql().run_text(
      fmt::format("INSERT INTO ip_rules (org_id, type, cidr) SELECT '{}', 'blocklist', "
                  "set_masklen(('10.' || n / 250 || '.' || n % 250 || '.0')::inet, 24)::cidr FROM "
                  "generate_series(0, 9999) AS n",
                  user.org_id));
  EXPECT_TRUE(is_blocked(me(user.client, "10.39.249.5")));
  EXPECT_EQ(me(user.client, "10.40.0.5").status, 200);
  EXPECT_TRUE(is_blocked(me(user.client, "::ffff:10.39.249.5"))) << "however it is written";
  EXPECT_EQ(me(user.client, "2001:db8::5").status, 200);
}

TEST(IpRules, TellTheAuditLogOfWhomTheyRefuse) {
  TestUser user = register_user(stack());
  EXPECT_EQ(add(user.client, "blocklist", "198.51.100.0/24").status, 201);
  Answer refused = me(user.client, elsewhere);
  EXPECT_TRUE(is_blocked(refused));
  EXPECT_THAT(refused.body, testing::Not(HasSubstr(user.org_id)));
  std::string question = fmt::format(
      "SELECT coalesce(max(host(client_ip)), '') FROM audit_logs WHERE actor_user_id = '{}' AND "
      "result = 'denied' AND after_state ->> 'code' = 'ip.blocked'",
      user.id);
  EXPECT_TRUE(eventually(10'000, [&] { return sql_value(stack(), question) == elsewhere; }));
}

}  // namespace
}  // namespace hostler::testing_support
