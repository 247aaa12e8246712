// Base URLs that people type: POST /v1/llm-providers and PATCH /v1/llm-providers/{provider_id}
// correct them.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

ApiStack& stack() { return ApiStack::shared(); }

constexpr std::string_view key = "sk-0123456789abcdefghijklmnopqrstuvwxyz";

std::string openai_json(std::string_view further = "") {
  return fmt::format(R"({{"name":"{}","provider_kind":"openai"{}{}}})", new_name("typed"),
                     further.empty() ? "" : ",", further);
}

TEST(BaseUrl, IsCorrectedWhenAProviderIsMade) {
  TestUser admin = register_admin(stack());
  auto create = [&](std::string_view kind, std::string_view typed) {
    return admin.client.post("/v1/llm-providers",
                             fmt::format(R"({{"name":"{}","provider_kind":"{}","base_url":"{}"}})",
                                         new_name("typed"), kind, typed));
  };
  struct Case {
    const char *kind, *typed, *stored;
  };
  for (const Case& one :
       {Case{"openai", " https://api.openai.com/ \\n", "https://api.openai.com/v1"},
        Case{"openai", "http://127.0.0.1:9/v1/chat/completions", "http://127.0.0.1:9/v1"},
        Case{"anthropic", "https://api.anthropic.com/v1", "https://api.anthropic.com"}}) {
    Answer made = create(one.kind, one.typed);
    ASSERT_EQ(made.status, 201) << made.body;
    EXPECT_EQ(made.member("base_url"), one.stored);
  }
  Answer azure =
      create("openai", "https://our.openai.azure.com/openai/deployments/d?api-version=2024-10-21");
  EXPECT_TRUE(has_fault(azure, "base_url", "bad_format"));
  EXPECT_NE(azure.body.find("openai.azure.com/openai/v1"), std::string::npos) << azure.body;
}

TEST(BaseUrl, IsCorrectedForTheKindThatTheProviderHasThen) {
  TestUser admin = register_admin(stack());
  Answer made = admin.client.post("/v1/llm-providers", openai_json());
  std::string path = "/v1/llm-providers/" + made.member("id");
  auto patched = [&](const std::string& body) {
    return admin.client.patch(path, body).member("base_url");
  };
  EXPECT_EQ(patched(R"({"base_url":"https://gate.example/v1/messages"})"),
            "https://gate.example/v1/messages");
  EXPECT_EQ(patched(R"({"provider_kind":"anthropic"})"), "https://gate.example/v1/messages")
      << "what is not given stays";
  EXPECT_EQ(patched(R"({"base_url":"https://gate.example/v1/messages/"})"), "https://gate.example");
  EXPECT_EQ(patched(R"({"provider_kind":"openai","base_url":"https://gate.example/v1/v1"})"),
            "https://gate.example/v1");
}

// A correction changes nothing of where a key goes.
TEST(BaseUrl, KeepsTheKeyWhereItWasMeantWhenItIsCorrected) {
  TestUser admin = register_admin(stack());
  Answer made =
      admin.client.post("/v1/llm-providers", openai_json(fmt::format(R"("api_key":"{}")", key)));
  std::string path = "/v1/llm-providers/" + made.member("id");
  Answer same = admin.client.patch(path, R"({"base_url":"https://api.openai.com"})");
  EXPECT_EQ(same.status, 200) << same.body;
  EXPECT_EQ(same.member("base_url"), "https://api.openai.com/v1");
  EXPECT_TRUE(has_fault(admin.client.patch(path, R"({"base_url":"https://api.groq.com"})"),
                        "api_key", "required"));
}

}  // namespace
}  // namespace hostler::testing_support
