// Base URLs of LLM providers, as they are typed.
#include "fcgi/api/catalog/model_base_url.h"

#include <gtest/gtest.h>

namespace hostler {
namespace {

TEST(ModelBaseUrl, OfOpenaisFormLosesTheEndpointsPath) {
  for (const char* typed :
       {"https://models.example/v1", "https://models.example/v1/", "https://models.example/v1//",
        "https://models.example/v1/chat/completions", "https://models.example/v1/chat/completions/",
        "https://models.example/v1//chat/completions", "https://models.example/v1/completions",
        "https://models.example/v1/responses", "https://models.example/v1/v1",
        "https://models.example/v1/v1/chat/completions", "https://models.example/v1/v1/v1"}) {
    EXPECT_EQ(corrected_base_url("openai", typed), "https://models.example/v1") << typed;
  }
}

TEST(ModelBaseUrl, OfAnUnknownHostKeepsItsPath) {
  for (const char* typed :
       {"https://models.example", "https://models.example/other", "http://127.0.0.1:9/deep/v2",
        "https://gate.example/https://api.openai.com/v1", "HTTPS://MODELS.EXAMPLE:0443",
        "http://[::1]:8080/v1", "https://models.example/openai/completions2"}) {
    EXPECT_EQ(corrected_base_url("openai", typed), typed);
  }
}

TEST(ModelBaseUrl, OfAKnownHostGetsThePathThatItNeeds) {
  struct Case {
    const char *typed, *meant;
  };
  for (const Case& one : {
           Case{"https://api.openai.com", "https://api.openai.com/v1"},
           Case{"https://API.OpenAI.com/", "https://API.OpenAI.com/v1"},
           Case{"https://api.openai.com//v1", "https://api.openai.com/v1"},
           Case{"https://api.openai.com/chat/completions", "https://api.openai.com/v1"},
           Case{"https://api.openai.com:443/v1/v1/", "https://api.openai.com:443/v1"},
           Case{"https://api.openai.com/other", "https://api.openai.com/other"},
           Case{"https://api.anthropic.com", "https://api.anthropic.com/v1"},
           Case{"https://api.groq.com", "https://api.groq.com/openai/v1"},
           Case{"https://api.groq.com/v1", "https://api.groq.com/openai/v1"},
           Case{"https://api.groq.com/openai", "https://api.groq.com/openai/v1"},
           Case{"https://api.groq.com/openai/v1/chat/completions",
                "https://api.groq.com/openai/v1"},
           Case{"https://openrouter.ai/api", "https://openrouter.ai/api/v1"},
           Case{"https://openrouter.ai/v1", "https://openrouter.ai/api/v1"},
           Case{"https://api.deepseek.com", "https://api.deepseek.com"},
           Case{"https://api.deepseek.com/v1", "https://api.deepseek.com/v1"},
           Case{"https://api.mistral.ai", "https://api.mistral.ai/v1"},
           Case{"https://api.together.xyz", "https://api.together.xyz/v1"},
           Case{"https://api.fireworks.ai/inference", "https://api.fireworks.ai/inference/v1"},
           Case{"https://api.x.ai", "https://api.x.ai/v1"},
           Case{"https://api.moonshot.ai", "https://api.moonshot.ai/v1"},
           Case{"https://api.cerebras.ai", "https://api.cerebras.ai/v1"},
           Case{"https://api.perplexity.ai/v1", "https://api.perplexity.ai"},
           Case{"https://api.perplexity.ai/chat/completions", "https://api.perplexity.ai"},
           Case{"https://generativelanguage.googleapis.com",
                "https://generativelanguage.googleapis.com/v1beta/openai"},
           Case{"https://generativelanguage.googleapis.com/v1beta/openai/v1/",
                "https://generativelanguage.googleapis.com/v1beta/openai"},
           Case{"https://our.openai.azure.com", "https://our.openai.azure.com/openai/v1"},
           Case{"https://our.openai.azure.com/openai/v1/",
                "https://our.openai.azure.com/openai/v1"},
       }) {
    EXPECT_EQ(corrected_base_url("openai", one.typed), one.meant) << one.typed;
  }
}

TEST(ModelBaseUrl, OfAnthropicsFormLosesItsVersion) {
  for (const char* typed :
       {"https://api.anthropic.com", "https://api.anthropic.com/", "https://api.anthropic.com/v1",
        "https://api.anthropic.com/v1/messages", "https://api.anthropic.com/v1/v1/messages/"}) {
    EXPECT_EQ(corrected_base_url("anthropic", typed), "https://api.anthropic.com") << typed;
  }
  EXPECT_EQ(corrected_base_url("anthropic", "https://api.deepseek.com/anthropic/v1"),
            "https://api.deepseek.com/anthropic");
}

TEST(ModelBaseUrl, SaysWhatToWriteInPlaceOfAQuery) {
  EXPECT_NE(
      query_fault_of_base_url("https://x.openai.azure.com/openai?API-Version=1").find("/openai/v1"),
      std::string::npos);
  EXPECT_EQ(query_fault_of_base_url("https://models.example/v1?key=1").find("azure"),
            std::string::npos);
}

}  // namespace
}  // namespace hostler
