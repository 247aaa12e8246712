// Tests what providers' refusals say and teach: their words in all forms, the context's length, and
// the members that a model does not take.
#include <gtest/gtest.h>

#include "runner/models/context_excess.h"
#include "runner/models/learned_traits.h"
#include "runner/models/refused_tool.h"
#include "runner/models/try_end.h"

namespace hostler {
namespace {

TEST(ReadRefusal, FindsTheWordsInAnyForm) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {R"({"error":"m"})", "m"},
      {R"({"error":{"message":"m","type":"t"}})", "m"},
      {R"({"error":["a","b"]})", "a; b"},
      {R"({"error":{"error":{"message":"m"}}})", "m"},
      {R"({"error":{"message":{"message":"m"}}})", "m"},
      {R"({"error":{"message":"{\"error\":{\"message\":\"m\"}}"}})", "m"},
      {R"([{"error":{"code":400,"message":"m"}}])", "m"},
      {R"({"detail":"m"})", "m"},
      {R"({"detail":[{"type":"extra_forbidden","loc":["body","seed"],"msg":"Extra inputs"}]})",
       "body.seed: Extra inputs"},
      {R"({"object":"error","message":{"detail":[{"loc":["body","top_k"],"msg":"m"}]}})",
       "body.top_k: m"},
      {R"({"message":"m"})", "m"},
      {R"({"Message":"m"})", "m"},
      {R"({"success":false,"errors":[{"code":1,"message":"m"},{"message":"n"}]})", "m; n"},
      {R"({"error":{"type":"overloaded_error"}})", "overloaded_error"},
      {R"({"error":"invalid_request","error_description":"m"})", "m"},
      {R"({"error":"","details":["m"]})", "m"},
      {R"({"errors":{"model":["is unknown"],"stop":["is too long","is no list"]}})",
       "model: is unknown; stop: is too long; is no list"},
      {R"({"fault":{"faultstring":"m"}})", "fault: faultstring: m"},
      {R"({"error":{"message":"m","param":"seed"}})", "m (seed)"},
      {R"({"error":{"message":"no seed","param":"seed"}})", "no seed"},
      {"\"m\"", "m"},
      {"  plain words\n", "plain words"},
      {"<html><head><title> 502 Bad Gateway </title></head><body>secret</body></html>",
       "502 Bad Gateway"},
      {"<!doctype html><body><h1>Blocked</h1>", "Blocked"},
      {"<html>secret of ours</html>", ""},
      {"<?xml version=\"1.0\"?><Error><Code>Denied</Code><Message>m</Message></Error>", "m"},
      {"{\"half\":", ""},
      {"{}", ""},
      {"", ""}};
  for (const auto& [body, words] : cases) EXPECT_EQ(read_refusal(body).message, words) << body;
  ProviderError named =
      read_refusal(R"({"error":{"message":"m","code":"unsupported_parameter","param":"seed"}})");
  EXPECT_EQ(named.message, "m (seed)");
  EXPECT_EQ(named.code, "unsupported_parameter");
  EXPECT_EQ(named.param, "seed");
}

TEST(SafeExcerpt, HidesTheKeyAndStaysShort) {
  EXPECT_EQ(safe_excerpt("bad key sk-12345!\nsk-12345", "sk-12345"), "bad key ****! ****");
  std::string cut = safe_excerpt(std::string(500, 'x'), "");
  EXPECT_EQ(cut, std::string(200, 'x') + "…");
  EXPECT_EQ(safe_excerpt("a\xff\x1b[31m", "k"), "a\uFFFD [31m");
}

TEST(SafeExcerpt, HidesTokensAndQueries) {
  EXPECT_EQ(safe_excerpt("header 'Authorization: Bearer abcdef123456' is bad", ""),
            "header 'Authorization: Bearer ****' is bad");
  EXPECT_EQ(safe_excerpt("Incorrect API key provided: sk-proj-abcdefghijklmnop.", ""),
            "Incorrect API key provided: sk-****");
  EXPECT_EQ(safe_excerpt("see https://u:p@host/a?key=1&b=2 and http://x/y#z", ""),
            "see https://****@host/a?**** and http://x/y?****");
}

TEST(RedirectWords, NameTheTargetWithoutItsQuery) {
  constexpr const char* asked = "https://api.example/v1/chat/completions";
  EXPECT_EQ(redirect_words("https://u:p@other/login?token=1", asked),
            "it redirects to https://other/login");
  EXPECT_EQ(redirect_words("/login?next=x", asked), "it redirects to https://api.example/login");
  EXPECT_EQ(redirect_words("//other/x", asked), "it redirects to https://other/x");
}

TEST(ContextExcess, IsKnownFromTheWordsOfServers) {
  struct Case {
    int status;
    const char* message;
    int64_t limit;
    int64_t asked;
  };
  const std::vector<Case> cases{
      {400,
       "This model's maximum context length is 2000 tokens. However, your messages resulted in "
       "2345 tokens.",
       2000, 2345},  // OpenAI
      {400,
       "Your input exceeds the context window of this model. Please adjust your input and try "
       "again.",
       0, 0},
      {400,
       "This model's maximum context length is 4097 tokens. However, you requested 5000 tokens "
       "(1000 in the messages, 4000 in the completion).",
       4097, 5000},
      {400, "prompt is too long: 213462 tokens > 200000 maximum", 200000, 213462},  // Anthropic
      {400,
       "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease "
       "input length or `max_tokens` and try again",
       200000, 190000 * 0},
      {400,
       "This model's maximum context length is 8192 tokens. However, your request has 9000 input "
       "tokens. Please reduce the length of the input messages.",
       8192, 9000},  // vLLM
      {400,
       "the request exceeds the available context size. try increasing the context size or enable "
       "context shift",
       0, 0},  // llama.cpp
      {400,
       "request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it",
       4096, 5000},
      {500, "prompt too long; exceeded max context length by 5 tokens", 0, 0},  // Ollama
      {400,
       "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum "
       "context length",
       32768, 40000},  // Mistral
      {400,
       "The input token count (1,196,265) exceeds the maximum number of tokens allowed "
       "(1,048,575).",
       1048575, 1196265},  // Gemini
      {413,
       "Request too large for model `x` on tokens per minute (TPM): Limit 6000, Requested 7000, "
       "please reduce your message size and try again.",
       0, 0},  // Groq
      {400, "Please reduce the length of the messages or completion.", 0, 0},
      {400,
       "too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 5000",
       4081, 5000},  // Cohere
      {422,
       "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4097. Given: 5000 "
       "`inputs` tokens and 512 `max_new_tokens`",
       4097, 5000},                                           // Together, TGI
      {400, "Input is too long for requested model.", 0, 0},  // Bedrock
      {400, "Prompt exceeds max length", 0, 0},               // Zhipu
      {400, "prompt token count of 13000 exceeds the limit of 12288", 12288, 13000},  // Copilot
      {400, "Invalid request: Your request exceeded model token limit: 8192 (requested: 10000)",
       8192, 10000},  // Kimi
      {400, "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
       131072, 537812},  // xAI
      {400,
       "This endpoint's maximum context length is 128000 tokens. However, you requested about "
       "150000 tokens (149000 of text input, 1000 in the output).",
       128000, 150000},  // OpenRouter
      {400,
       "Trying to keep the first 5000 tokens when context the overflows. However, the model is "
       "loaded with context length of only 4096 tokens",
       4096, 5000},  // LM Studio
  };
  for (const Case& known : cases) {
    std::optional<ContextExcess> excess =
        context_excess(known.status, {known.status, known.message});
    ASSERT_TRUE(excess) << known.message;
    EXPECT_EQ(excess->limit_tokens, known.limit) << known.message;
    if (known.asked > 0) {
      EXPECT_EQ(excess->asked_tokens, known.asked) << known.message;
    }
    EXPECT_EQ(excess->message, known.message);
  }
  EXPECT_TRUE(context_excess(400, {400, "no", "context_length_exceeded"}));
  for (const char* other :
       {"max_tokens is too large: 100000. This model's maximum context length is 8192",
        "Invalid schema for function 'f'", "Unknown model", ""}) {
    EXPECT_FALSE(context_excess(400, {400, other})) << other;
  }
  for (int status : {200, 401, 403, 404, 429}) {
    EXPECT_FALSE(context_excess(status, {status, "maximum context length is 5000 tokens"}));
  }
}

// A request with everything that a provider may refuse.
ModelRequest full_request() {
  ModelRequest request;
  request.endpoint = {ProviderKind::openai, "http://own/v1", "", "m", false};
  request.messages = {{ChatRole::system, "s"}, {ChatRole::user, "q"}};
  request.tools = {{"f", "", "{}", true}};
  request.temperature = 0.5;
  request.output_tokens_max = 100;
  request.sampling.parallel_tool_calls = false;
  request.sampling.seed = 1;
  request.response_format = ResponseFormat{true, "n", "", "{}", true};
  return request;
}

std::string learned(int status, const char* message, const ModelRequest& request = full_request()) {
  std::optional<ModelTraits> traits = learned_from(status, {status, message}, request);
  return traits ? std::string(trait_changed(request.traits, *traits)) : "";
}

TEST(LearnedTraits, AreReadFromTheWordsOfServers) {
  const std::vector<std::tuple<int, const char*, const char*>> cases{
      {400,
       "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
       "'max_completion_tokens' instead.",
       "token_limit"},
      {400, "Unrecognized request argument supplied: stream_options", "no_stream_options"},
      {422, "body.stream_options: Extra inputs are not permitted", "no_stream_options"},
      {400, "This response_format type is unavailable now", "no_response_format"},  // DeepSeek
      {400, "json mode cannot be combined with tool/function calling",
       "no_response_format"},  // Groq
      {400, "This model does not support response format `json_schema`.", "no_response_format"},
      {400, "Function calling with a response mime type: 'application/json' is unsupported",
       "no_response_format"},  // Gemini
      {400, "Unsupported parameter: 'parallel_tool_calls' is not supported with this model.",
       "no_parallel_tool_calls"},
      {422, "body.tools.0.function.strict: Extra inputs are not permitted", "no_strict"},
      {400, "Unsupported value: 'temperature' does not support 0.5 with this model.",
       "no_temperature"},
      {400, "`temperature` is deprecated for this model.", "no_temperature"},
      {400, "Unsupported value: 'messages[0].role' does not support 'system' with this model.",
       "no_system_role"},
      {422, "body.messages.0.role: Input should be 'user' or 'assistant'", "no_system_role"},
      {422, "body.messages.3.role: Input should be 'user' or 'assistant'", ""},
      {500, "System role not supported", "no_system_role"},  // llama.cpp with Gemma's template
      {400, "Developer instruction is not enabled for models/gemma-3", "no_system_role"},
      {400, "max_tokens is too large: 100000. This model supports at most 4096 completion tokens",
       ""},
      {400, "Unsupported parameter: 'seed' is not supported with this model.", ""},
      {400, "Unsupported parameter: 'tool_choice'", ""},
      {400, "Invalid schema for response_format 'n': strict needs additionalProperties", ""},
      {401, "stream_options", ""},
      {429, "stream_options is not supported", ""},
      {400, "Access is restricted and not supported", ""}};
  for (const auto& [status, message, trait] : cases) {
    EXPECT_EQ(learned(status, message), trait) << message;
  }
  // The member stands beside the words.
  ModelRequest request = full_request();
  std::optional<ModelTraits> traits = learned_from(
      400, {400, "Unsupported parameter", "unsupported_parameter", "max_tokens"}, request);
  ASSERT_TRUE(traits);
  EXPECT_EQ(traits->token_limit, ModelTraits::TokenLimit::max_completion_tokens);
}

TEST(LearnedTraits, AreLearnedOfWhatWasSent) {
  ModelRequest bare;
  bare.endpoint.base_url = "http://own/v1";
  bare.messages = {{ChatRole::user, "q"}};
  for (const char* member : {"max_tokens", "response_format", "parallel_tool_calls", "strict",
                             "temperature", "system role"}) {
    EXPECT_EQ(learned(400, (std::string(member) + " is not supported").c_str(), bare), "")
        << member;
  }
  // Once: a second refusal of the same teaches nothing.
  ModelRequest known = full_request();
  known.traits.token_limit = ModelTraits::TokenLimit::max_completion_tokens;
  known.traits.no_stream_options = true;
  EXPECT_EQ(learned(400, "max_completion_tokens is not supported", known), "");
  EXPECT_EQ(learned(400, "stream_options is not supported", known), "");
}

TEST(LearnedTraits, TellOwnReasoningFromGiven) {
  constexpr const char* missing =
      "Missing `reasoning_content` field in the assistant message at message index 1.";
  constexpr const char* refused = "reasoning_content is not allowed in the input";
  ModelRequest request = full_request();
  request.messages.push_back({ChatRole::assistant, parts_of("", {{"c", "f", "{}"}})});
  EXPECT_EQ(learned(400, missing, request), "wants_own_calls");
  EXPECT_EQ(
      learned(400, "Function call is missing a thought_signature in functionCall parts.", request),
      "wants_own_calls");
  request.messages.back().parts.emplace_back(
      OpaquePart{OpaquePart::Place::message, R"({"reasoning_content":"x"})"});
  EXPECT_EQ(learned(400, missing, request), "takes_given_reasoning");
  EXPECT_EQ(learned(400, refused, request), "") << "it was not sent";
  request.traits.takes_given_reasoning = true;
  EXPECT_EQ(learned(400, refused, request), "no_given_reasoning");
  // Both are there: the provider's own goes after the client's.
  name_origin(request.messages.back().parts, "o");
  EXPECT_EQ(learned(400, refused, request), "no_own_reasoning");
  EXPECT_EQ(learned(422, "body.messages.2.reasoning: Extra inputs are not permitted", request),
            "no_own_reasoning");
  EXPECT_EQ(learned(400, "temperature is not supported by reasoning models", request),
            "no_temperature");
  request.traits.no_own_reasoning = true;
  EXPECT_EQ(learned(400, refused, request), "");
}

std::string tool_refused(const char* message, int status = 400, const char* param = "") {
  ModelRequest request = full_request();
  request.tools = {{"files__look", "", "{}"}, {"get-it", "", "{}"}};
  std::optional<ToolRefusal> refusal = refused_tool(status, {status, message, "", param}, request);
  return refusal ? refusal->name : "";
}

TEST(RefusedTool, IsTheOneThatTheProviderNames) {
  EXPECT_EQ(tool_refused("Invalid schema for function 'get-it': In context=('properties', 'x'), "
                         "schema must have a 'type' key."),
            "get-it");
  EXPECT_EQ(tool_refused("tools.1.custom.input_schema: JSON schema is invalid."), "get-it");
  EXPECT_EQ(tool_refused("Invalid JSON payload received. Unknown name \"const\" at "
                         "'tools[0].function_declarations[0].parameters'"),
            "files__look");
  EXPECT_EQ(tool_refused("Invalid value", 400, "tools[1].function.parameters"), "get-it");
  EXPECT_EQ(tool_refused("the tool files__look has a schema that is too deep", 500), "files__look");
  for (const char* other :
       {"tools.7.custom.input_schema: JSON schema is invalid.", "This model does not support tools",
        "Invalid schema for function 'get-its'", "tool names must be unique: 'get-it'",
        "messages.1.content.0.tool_use.name: 'get-it'", "Unknown model", "tool_choice 'get-it'"}) {
    EXPECT_EQ(tool_refused(other), "") << other;
  }
  EXPECT_EQ(tool_refused("Invalid schema for function 'get-it'", 429), "");
  ModelRequest wanted = full_request();
  wanted.sampling.tool_choice = ToolChoice{ToolChoice::Kind::named, "f"};
  EXPECT_FALSE(refused_tool(400, {400, "Invalid schema for function 'f'"}, wanted));
}

}  // namespace
}  // namespace hostler
