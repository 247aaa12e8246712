// See tests/support/rigs/sso_harness.h.
#include "tests/support/rigs/sso_harness.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/rigs/run_program.h"

namespace hostler::testing_support {
namespace {

constexpr std::string_view site = "https://hostler.example";

// Sends with curl, which knows nothing of our code; answers where it is led to.
std::string curl(const std::string& url, const std::string& body = "") {
  std::vector<std::string> command = {
      "/usr/bin/curl",        "-sS", "-o", "/dev/null", "-w", "%{redirect_url}", "--cacert",
      OutsidePeer::ca_file(), url};
  if (!body.empty()) command.insert(command.end(), {"--data-binary", body});
  ProgramRun run = run_program(command);
  EXPECT_EQ(run.status, 0) << run.err;
  return run.out;
}

TestProvider add_provider(const Client& client, TestProvider provider, const std::string& further) {
  // Ten a minute may be added to the platform; the tests of a minute add more.
  sso_stack().sql().run_text("DELETE FROM attempts WHERE kind = 'identity.discovery'");
  Answer made = client.post(
      "/v1/identity-providers?scope=" + provider.scope,
      fmt::format(R"({{"key":"{}","display_name":"{}","issuer":"{}","client_id":"client",)"
                  R"("client_secret":"secret of {}"{}}})",
                  provider.key, provider.key, provider.issuer(), provider.name, further));
  EXPECT_EQ(made.status, 201) << made.body;
  provider.id = made.member("id");
  return provider;
}

TestProvider new_provider(std::string_view scope) {
  TestProvider provider;
  provider.name = new_name("idp");
  provider.key = provider.name;
  provider.scope = scope;
  return provider;
}

}  // namespace

ApiStack& sso_stack() {
  static ApiStack made(ApiStackOptions{
      {"HOSTLER_OUTBOUND_CA_FILE=" + OutsidePeer::ca_file(),
       "HOSTLER_OUTBOUND_ALLOW_CIDRS=127.0.0.0/8", fmt::format("HOSTLER_MAIL_SITE_URL={}", site),
       "HOSTLER_MAIL_DIR=", "HOSTLER_LIMIT_REGISTRATIONS_PER_NETWORK_HOUR=0",
       "HOSTLER_LIMIT_ANONYMOUS_REQUESTS_PER_MINUTE=100000",
       "HOSTLER_LIMIT_CHECKS_PER_MINUTE=10000"},
      true});
  return made;
}

OutsidePeer& openid_peer() {
  static OutsidePeer peer("openid_provider.py", {});
  return peer;
}

void TestProvider::set(const std::string& members) const {
  curl(openid_peer().url("/set/" + name), members);
}

TestProvider add_platform_provider(const std::string& further) {
  TestUser admin = register_admin(sso_stack());
  return add_provider(admin.client, new_provider("platform"), further);
}

TestProvider add_org_provider(const Client& owner, const std::string& further) {
  TestUser admin = register_admin(sso_stack());
  TestProvider provider = new_provider("org");
  provider.domain = provider.name + ".example";
  Answer granted = admin.client.post(
      "/v1/admin/org-domains",
      fmt::format(R"({{"org_id":"{}","domain":"{}"}})", owner.org_id, provider.domain));
  EXPECT_EQ(granted.status, 201) << granted.body;
  return add_provider(owner, std::move(provider),
                      fmt::format(R"(,"domains":["{}"]{})", provider.domain, further));
}

std::string TestProvider::logout_token(const std::string& claims) const {
  ProgramRun run = run_program({"/usr/bin/curl", "-sS", "--cacert", OutsidePeer::ca_file(),
                                "--data-binary", "{" + claims + "}", issuer() + "/logout"});
  EXPECT_EQ(run.status, 0) << run.err;
  std::optional<Json> answer = parse_json_or_nothing(run.out);
  return answer ? std::string(answer->text_or("logout_token")) : std::string();
}

std::string Flow::path_back() const {
  std::string back = curl(url);
  EXPECT_TRUE(back.starts_with(site)) << back << " of " << url;
  return back.size() < site.size() ? "/" : back.substr(site.size());
}

Flow begin_flow(const TestProvider& provider, const std::string& further) {
  Answer begun = sso_stack().client().post(
      "/v1/auth/sso/start", fmt::format(R"({{"provider_key":"{}"{}}})", provider.key, further));
  EXPECT_EQ(begun.status, 200) << begun.body;
  std::string cookie = begun.header("set-cookie");
  return {begun.member("url"), cookie.substr(0, cookie.find(';'))};
}

std::string Landing::value(std::string_view name) const {
  std::string sought = fmt::format("{}=", name);
  size_t at = route.find_first_of("?");
  while (at != route.npos) {
    std::string rest = route.substr(at + 1);
    if (rest.starts_with(sought)) return rest.substr(sought.size(), rest.find('&') - sought.size());
    at = route.find('&', at + 1);
  }
  return "";
}

Landing land(const std::string& path_back, const std::string& cookie) {
  Answer answer = sso_stack().client().send({"GET", path_back, "", "", {{"Cookie", cookie}}});
  EXPECT_EQ(answer.status, 303) << answer.body;
  Landing landing;
  constexpr std::string_view console = "/console/#";
  std::string location = answer.header("location");
  EXPECT_TRUE(location.starts_with(console)) << location;
  landing.route = location.substr(std::min(console.size(), location.size()));
  landing.refresh = answer.refresh_cookie();
  for (const std::string& set : answer.headers_named("set-cookie")) {
    if (set.starts_with("__Host-")) landing.flow_cookie = set.substr(0, set.find(';'));
  }
  return landing;
}

Landing sign_in(const TestProvider& provider) {
  Flow flow = begin_flow(provider);
  return land(flow.path_back(), flow.cookie);
}

Client client_of(const Landing& landing) {
  EXPECT_FALSE(landing.refresh.empty()) << landing.route;
  Client browser = sso_stack().client();
  browser.cookie = landing.refresh;
  Answer refreshed = browser.post("/v1/auth/refresh");
  EXPECT_EQ(refreshed.status, 200) << refreshed.body;
  return sso_stack().client().with_token(refreshed.member("access_token"));
}

}  // namespace hostler::testing_support
