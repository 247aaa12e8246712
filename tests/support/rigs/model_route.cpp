// See tests/support/rigs/model_route.h.
#include "tests/support/rigs/model_route.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include "lib/json.h"
#include "tests/support/rigs/run_program.h"

namespace hostler::testing_support {

ModelRoute make_route(const ApiStack& stack, const TestUser& admin, std::string_view form,
                      std::string_view prices) {
  Answer provider = admin.client.post(
      "/v1/llm-providers",
      fmt::format(R"({{"name":"{}","provider_kind":"{}","base_url":"{}{}"}})", new_name(), form,
                  stack.model_url(), form == "openai" ? "/v1" : ""));
  EXPECT_EQ(provider.status, 201) << provider.body;
  std::string model = new_name("model");
  Answer made = admin.client.post(
      "/v1/llm-providers/" + provider.member("id") + "/models",
      fmt::format(R"({{"model":"{}","context_tokens":1000000{}}})", model, prices));
  EXPECT_EQ(made.status, 201) << made.body;
  return {model, made.member("id")};
}

std::vector<std::string> requests_for(const ApiStack& stack, const std::string& model) {
  ProgramRun curl = run_program({"/usr/bin/curl", "-s", stack.model_url() + "/_requests"});
  std::optional<Json> seen = parse_json_or_nothing(curl.out);
  EXPECT_TRUE(seen.has_value()) << curl.err;
  std::vector<std::string> bodies;
  if (!seen) return bodies;
  for (const Json& request : *seen->find("requests")->as_array()) {
    std::optional<Json> body = parse_json_or_nothing(request.text_or("body"));
    if (body && body->text_or("model") == model) bodies.emplace_back(request.text_or("body"));
  }
  return bodies;
}

}  // namespace hostler::testing_support
