// The stack of the tool tests; see tests/support/rigs/tool_harness.h.
#include "tests/support/rigs/tool_harness.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

namespace hostler::testing_support {

ApiStack& tool_stack() {
  static ApiStack made(ApiStackOptions{{}, true});
  static const bool is_ready = [] {
    add_fake_model(made);
    return true;
  }();
  EXPECT_TRUE(is_ready);
  return made;
}

const TestUser& tool_admin() {
  static const TestUser user = register_admin(tool_stack());
  return user;
}

std::string provider_path(const std::string& provider, const std::string& verb) {
  return fmt::format("/v1/tool-providers/{}/{}/{}", provider.substr(0, provider.find('.')),
                     provider, verb);
}

void use_tool_provider(const std::string& provider, const std::string& key) {
  std::string body = fmt::format(R"({{"api_key":"{}","base_url":"{}/{}"}})", key,
                                 tool_stack().model_url(), provider.substr(provider.find('.') + 1));
  EXPECT_EQ(tool_admin().client.put(provider_path(provider, "credential"), body).status, 204);
  EXPECT_EQ(tool_admin().client.put(provider_path(provider, "activate"), "").status, 204);
}

void use_no_tool_provider() {
  for (const char* provider :
       {"web_search.alpha", "web_fetch.gamma", "web_search.beta", "web_fetch.delta"}) {
    EXPECT_EQ(tool_admin().client.put(provider_path(provider, "deactivate"), "").status, 204);
  }
}

std::string search_call(std::string_view query) {
  return fmt::format(R"([tool web_search {{"query":"{}","max_results":3}}])", query);
}
std::string fetch_call(std::string_view url) {
  return fmt::format(R"([tool web_fetch {{"url":"{}"}}])", url);
}

}  // namespace hostler::testing_support
