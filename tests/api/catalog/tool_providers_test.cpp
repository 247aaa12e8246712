// GET /v1/tool-providers, PUT /v1/tool-providers/{group}/{provider}/activate,
// PUT /v1/tool-providers/{group}/{provider}/deactivate,
// PUT /v1/tool-providers/{group}/{provider}/credential,
// DELETE /v1/tool-providers/{group}/{provider}/credential.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/eventually.h"
#include "tests/support/rigs/one_worker.h"
#include "tests/support/rows/accounts.h"

namespace hostler::testing_support {
namespace {

ApiStack& stack() { return ApiStack::shared(); }

std::string path(const std::string& provider, const std::string& verb) {
  return fmt::format("/v1/tool-providers/{}/{}/{}?scope=org",
                     provider.substr(0, provider.find('.')), provider, verb);
}

Answer put(const TestUser& user, const std::string& provider, const std::string& verb) {
  return user.client.send({"PUT", path(provider, verb), {}, {}, {}});
}

// The provider as the list shows it.
Json shown(const TestUser& user, const std::string& provider) {
  Json list = user.client.get("/v1/tool-providers?scope=org").json();
  for (const Json& group : *list.find("groups")->as_array()) {
    for (const Json& item : *group.find("providers")->as_array()) {
      if (item.text_or("provider_name") == provider) return item;
    }
  }
  ADD_FAILURE() << "no " << provider;
  return Json();
}

bool flag(const Json& item, std::string_view name) { return *item.find(name)->as_boolean(); }

TEST(ToolProviders, StandAllInTheListBeforeAnythingIsSet) {
  TestUser user = register_user(stack());
  for (const char* name :
       {"web_search.alpha", "web_search.beta", "web_fetch.gamma", "web_fetch.delta"}) {
    Json item = shown(user, name);
    EXPECT_FALSE(flag(item, "is_active"));
    EXPECT_FALSE(flag(item, "configured"));
    EXPECT_EQ(flag(item, "requires_base_url"), std::string_view(name) == "web_search.beta");
    EXPECT_EQ(flag(item, "requires_api_key"), std::string_view(name) != "web_search.beta");
  }
}

TEST(ToolProviders, KeepOneActiveAScopeAndGroup) {
  TestUser user = register_user(stack());
  EXPECT_EQ(put(user, "web_search.alpha", "activate").status, 204);
  EXPECT_EQ(put(user, "web_fetch.gamma", "activate").status, 204);
  EXPECT_EQ(put(user, "web_search.beta", "activate").status, 204);
  EXPECT_FALSE(flag(shown(user, "web_search.alpha"), "is_active"));
  EXPECT_TRUE(flag(shown(user, "web_search.beta"), "is_active"));
  EXPECT_TRUE(flag(shown(user, "web_fetch.gamma"), "is_active"));
  EXPECT_EQ(put(user, "web_search.beta", "deactivate").status, 204);
  EXPECT_FALSE(flag(shown(user, "web_search.beta"), "is_active"));
  EXPECT_FALSE(flag(shown(register_user(stack()), "web_fetch.gamma"), "is_active"))
      << "another organization's";
}

TEST(ToolProviders, ShowAKeyMaskedAndForgetItWhenTold) {
  TestUser user = register_user(stack());
  std::string credential = path("web_search.alpha", "credential");
  EXPECT_EQ(user.client.put(credential, R"({"api_key":"tvly-0123456789abcdef0123"})").status, 204);
  Json item = shown(user, "web_search.alpha");
  EXPECT_TRUE(flag(item, "configured"));
  EXPECT_NE(item.text_or("key_prefix").find("****"), std::string_view::npos);
  EXPECT_TRUE(item.text_or("key_prefix").ends_with("0123"));
  EXPECT_EQ(user.client.get("/v1/tool-providers?scope=org").body.find("0123456789"),
            std::string::npos);
  EXPECT_EQ(user.client.del(credential).status, 204);
  EXPECT_EQ(user.client.del(credential).status, 204) << "there is none: not an error";
  EXPECT_TRUE(shown(user, "web_search.alpha").find("key_prefix")->is_null());
  EXPECT_EQ(sql_number(stack(), fmt::format("SELECT count(*) FROM secrets WHERE org_id = '{}'",
                                            user.org_id)),
            0);
}

TEST(ToolProviders, KeepAKeyWithoutTheBlanksAroundIt) {
  TestUser user = register_user(stack());
  std::string credential = path("web_search.alpha", "credential");
  Answer blank = user.client.put(credential, R"({"api_key":" \t "})");
  EXPECT_TRUE(has_fault(blank, "api_key", "required"));
  Answer masked = user.client.put(credential, R"({"api_key":"tvly-\u2022\u2022\u2022"})");
  EXPECT_TRUE(has_fault(masked, "api_key", "bad_format"));
  EXPECT_FALSE(flag(shown(user, "web_search.alpha"), "configured"));
  EXPECT_EQ(user.client.put(credential, R"({"api_key":" tvly-0123456789abcdef\n"})").status, 204);
  EXPECT_EQ(shown(user, "web_search.alpha").text_or("key_prefix"), "tvl****cdef");
}

TEST(ToolProviders, WantWhatTheyRequireAndTakeNothingForNothing) {
  TestUser user = register_user(stack());
  TestUser admin = register_admin(stack());
  std::string beta = path("web_search.beta", "credential");
  EXPECT_TRUE(has_fault(user.client.put(beta, R"({"api_key":"abc"})"), "base_url", "required"));
  EXPECT_TRUE(has_fault(user.client.put(path("web_fetch.delta", "credential"),
                                        R"({"base_url":"https://93.184.216.34"})"),
                        "api_key", "required"));
  EXPECT_EQ(user.client.put(beta, "{}").status, 204);
  EXPECT_EQ(user.client.send({"PUT", beta, "", "", {}}).status, 204) << "no body at all";
  for (const char* url : {"ftp://x", "https://u:p@x.org", "https://x.org/?q", "https://x.org#f",
                          "https://93.184.216.34/#", "https://93.184.216.34/?",
                          "http://93.184.216.34", "https://127.0.0.1", "https://[::1]/"}) {
    Answer answer = user.client.put(beta, fmt::format(R"({{"base_url":"{}"}})", url));
    EXPECT_EQ(answer.status, 422) << url;
  }
  EXPECT_EQ(user.client.put(beta, R"({"base_url":"https://93.184.216.34/s/"})").status, 204);
  EXPECT_EQ(shown(user, "web_search.beta").text_or("base_url"), "https://93.184.216.34/s");
  // An operator's own server may be anywhere.
  Answer platform = admin.client.put("/v1/tool-providers/web_search/web_search.beta/credential",
                                     R"({"base_url":"http://127.0.0.1:9/"})");
  EXPECT_EQ(platform.status, 204) << platform.body;
}

TEST(ToolProviders, SendAStoredKeyNowhereElse) {
  TestUser user = register_user(stack());
  auto set = [&](const std::string& provider, const std::string& body) {
    return user.client.put(path(provider, "credential"), body);
  };
  std::string alpha = "web_search.alpha";
  EXPECT_EQ(set(alpha, R"({"api_key":"tvly-0123456789"})").status, 204);
  EXPECT_TRUE(
      has_fault(set(alpha, R"({"base_url":"https://93.184.216.34"})"), "api_key", "required"));
  EXPECT_TRUE(shown(user, alpha).find("base_url")->is_null());
  EXPECT_EQ(
      set(alpha, R"({"base_url":"https://93.184.216.34","api_key":"tvly-9876543210"})").status,
      204);
  EXPECT_EQ(set(alpha, R"({"base_url":"https://93.184.216.34:443/search"})").status, 204);
  EXPECT_TRUE(has_fault(set(alpha, R"({"base_url":"https://93.184.216.34:8443/"})"), "api_key",
                        "required"));
  EXPECT_EQ(set(alpha, R"({"api_key":"tvly-0123456789"})").status, 204) << "where it is";
  // A key that the provider could do without is kept as well.
  std::string beta = "web_search.beta";
  EXPECT_EQ(set(beta, R"({"base_url":"https://93.184.216.34"})").status, 204);
  EXPECT_EQ(set(beta, R"({"base_url":"https://93.184.216.35"})").status, 204) << "none is stored";
  EXPECT_EQ(set(beta, R"({"api_key":"searx-0123456789"})").status, 204);
  EXPECT_TRUE(
      has_fault(set(beta, R"({"base_url":"https://93.184.216.34"})"), "api_key", "required"));
  EXPECT_EQ(user.client.del(path(beta, "credential")).status, 204);
  EXPECT_EQ(set(beta, R"({"base_url":"https://93.184.216.34"})").status, 204);
}

// "provider source configured" of a group, as GET /v1/tool-providers/resolved has it.
std::string resolved(const Client& client, std::string_view group) {
  Answer answer = client.get("/v1/tool-providers/resolved");
  EXPECT_EQ(answer.status, 200) << answer.body;
  Json list = answer.json();
  EXPECT_EQ(list.as_array()->size(), 2u);
  for (const Json& item : *list.as_array()) {
    if (item.text_or("group_name") != group) continue;
    return fmt::format("{} {} {}", item.text_or("provider_name", "null"), item.text_or("source"),
                       flag(item, "configured"));
  }
  return "no such group";
}

TEST(ResolvedToolProviders, AreTheOwnElseThePlatformsElseOfTheSettingsElseNone) {
  SCOPED_TRACE("GET /v1/tool-providers/resolved");
  ApiStack own({{one_worker}});
  TestUser user = register_user(own);
  TestUser other = register_user(own);
  TestUser admin = register_admin(own);
  EXPECT_EQ(resolved(user.client, "web_fetch"), "null none false");
  auto set = [&](std::string_view key, std::string_view value) {
    Answer answer = admin.client.put(fmt::format("/v1/admin/settings/{}", key),
                                     fmt::format(R"({{"value":"{}"}})", value));
    EXPECT_EQ(answer.status, 200) << answer.body;
  };
  set("web_search.provider", "alpha");
  set("web_fetch.provider", "basic");
  auto is_of_settings = [&] {
    return resolved(user.client, "web_fetch") == "web_fetch.basic legacy true" &&
           resolved(user.client, "web_search") == "web_search.alpha legacy false";
  };
  EXPECT_TRUE(eventually(10'000, is_of_settings));
  Answer platform = admin.client.put("/v1/tool-providers/web_search/web_search.beta/activate", "");
  EXPECT_EQ(platform.status, 204) << platform.body;
  EXPECT_EQ(resolved(user.client, "web_search"), "web_search.beta platform false");
  EXPECT_EQ(
      user.client.put(path("web_search.alpha", "credential"), R"({"api_key":"tvly-01"})").status,
      204);
  EXPECT_EQ(resolved(user.client, "web_search"), "web_search.beta platform false");
  EXPECT_EQ(put(user, "web_search.alpha", "activate").status, 204);
  EXPECT_EQ(resolved(user.client, "web_search"), "web_search.alpha org true");
  EXPECT_EQ(resolved(other.client, "web_search"), "web_search.beta platform false");
  EXPECT_EQ(put(user, "web_search.alpha", "deactivate").status, 204);
  EXPECT_EQ(resolved(user.client, "web_search"), "web_search.beta platform false");
}

TEST(ResolvedToolProviders, AreForWhoeverHasTheRight) {
  TestUser user = register_user(stack());
  TestUser member = register_user(stack());
  std::string org_id = make_workspace(stack(), user);
  add_member(stack(), org_id, member, "member");
  EXPECT_TRUE(is_problem(member.client.with_org(org_id).get("/v1/tool-providers/resolved"), 403,
                         "auth.forbidden"));
  EXPECT_TRUE(
      is_problem(register_user(stack()).client.with_org(org_id).get("/v1/tool-providers/resolved"),
                 404, "orgs.not_found"));
}

TEST(ToolProviders, AreForWhoeverHasTheRight) {
  TestUser user = register_user(stack());
  EXPECT_TRUE(is_problem(user.client.get("/v1/tool-providers"), 403, "auth.forbidden"));
  EXPECT_EQ(user.client.get("/v1/tool-providers?scope=x").status, 422);
  EXPECT_TRUE(
      is_problem(put(user, "web_search.gamma", "activate"), 404, "tool_providers.not_found"));
  Answer unknown = user.client.put("/v1/tool-providers/web_x/web_x.y/credential?scope=org", "x");
  EXPECT_TRUE(is_problem(unknown, 404, "tool_providers.not_found"));
  TestUser member = register_user(stack());
  std::string org_id = make_workspace(stack(), user);
  add_member(stack(), org_id, member, "member");
  EXPECT_TRUE(is_problem(member.client.with_org(org_id).get("/v1/tool-providers?scope=org"), 403,
                         "auth.forbidden"));
}

}  // namespace
}  // namespace hostler::testing_support
