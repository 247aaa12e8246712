// The habits of real providers that scripts name: what is refused and how, what is wanted back, and
// that our own readers take each form for what it is.
#include "dev/fake-model/habits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <variant>

#include "dev/fake-model/chat_checks.h"
#include "dev/fake-model/odd_stream.h"
#include "dev/fake-model/own_members.h"
#include "dev/fake-model/planner.h"
#include "dev/fake-model/refusal_forms.h"
#include "runner/models/context_excess.h"
#include "runner/models/openai.h"
#include "runner/models/provider_error.h"

namespace hostler::fake_model {
namespace {

using testing::HasSubstr;

Json json(std::string_view text) {
  std::optional<Json> parsed = parse_json_or_nothing(text);
  EXPECT_TRUE(parsed.has_value()) << text;
  return parsed.value_or(Json());
}

// Returns the text of the refusal, or an empty one.
std::string refusal_of(const std::string& script, std::string_view body, int64_t input_tokens = 0) {
  ChatRequest request;
  request.last_user_text = script;
  request.history = script;
  request.input_tokens = input_tokens;
  std::variant<Turn, Refusal> plan = Planner().plan(request, json(body));
  const Refusal* refusal = std::get_if<Refusal>(&plan);
  return refusal == nullptr ? "" : refusal->message;
}

struct Offence {
  const char* name;
  const char* body;
  const char* words;
};

TEST(ModelHabits, RefuseByNameWhatARequestHas) {
  constexpr Offence offences[] = {
      {"max_tokens", R"({"max_tokens":5})", "'max_tokens'"},
      {"max_completion_tokens", R"({"max_completion_tokens":5})", "max_completion_tokens"},
      {"stream_options", R"({"stream_options":{}})", "stream_options"},
      {"json_schema", R"({"response_format":{"type":"json_schema"}})", "response_format"},
      {"json_schema", R"({"output_config":{"format":{"type":"json_schema"}}})", "output_config"},
      {"json_object", R"({"response_format":{"type":"json_object"}})", "response_format"},
      {"parallel_tool_calls", R"({"parallel_tool_calls":true})", "parallel_tool_calls"},
      {"strict", R"({"tools":[{"function":{"strict":true}}]})", "strict"},
      {"temperature", R"({"temperature":1})", "temperature"},
      {"system", R"({"messages":[{"role":"system"}]})", "system"},
      {"reasoning_content", R"({"messages":[{"reasoning_content":"x"}]})", "reasoning_content"},
      {"alternate", R"({"messages":[{"role":"user"},{"role":"user"}]})", "alternate"},
      {"properties", R"({"tools":[{"function":{"name":"f","parameters":{}}}]})", "properties"},
      {"items", R"({"tools":[{"input_schema":{"properties":{"a":{"type":"array"}}}}]})", "items"},
      {"anyof", R"({"tools":[{"input_schema":{"anyOf":[]}}]})", "anyOf"},
      {"names", R"({"tools":[{"input_schema":{"properties":{"a b":{}}}}]})", "pattern"},
  };
  std::set<std::string_view> tried;
  for (const Offence& offence : offences) {
    SCOPED_TRACE(offence.body);
    std::string script = std::string("[refuses ") + offence.name + "][tool a][say x]";
    EXPECT_THAT(refusal_of(script, offence.body), HasSubstr(offence.words));
    EXPECT_EQ(refusal_of(script, R"({"messages":[{"role":"user"}]})"), "");
    tried.insert(offence.name);
  }
  EXPECT_EQ(tried.size(), refusable_names().size()) << "of each name one";
}

// A history in which the one turn with a call has these members beside it.
std::string history(std::string_view script, std::string_view members) {
  return R"({"messages":[{"role":"user","content":)" + json_quote(script) +
         R"(},{"role":"assistant",)" + std::string(members) +
         R"(},{"role":"tool","content":"x"}]})";
}

TEST(ModelHabits, WantBackWhatATurnCarried) {
  for (std::string_view form : own_member_names()) {
    SCOPED_TRACE(form);
    std::string script = "[own " + std::string(form) + "][tool a][say fine]";
    std::string value = json_quote(own_value(script, 0, form));
    bool is_block = form == "thinking" || form == "redacted_thinking";
    std::string call = is_block ? R"({"type":"tool_use"})" : R"("tool_calls":[{"id":"1"}])";
    std::string with = openai_own_members(form, value.substr(1, value.size() - 2)) + "," + call;
    if (form == "extra_content") {
      with =
          R"("tool_calls":[{)" + openai_own_members(form, value.substr(1, value.size() - 2)) + "}]";
    }
    std::string without = call;
    if (is_block) {
      with = R"("content":[{"type":")" + std::string(form) + R"(","data":)" + value + "}," + call +
             "]";
      without = R"("content":[)" + call + "]";
    }
    EXPECT_EQ(refusal_of(script, history(script, with)), "");
    EXPECT_NE(refusal_of(script, history(script, without)), "");
    EXPECT_EQ(refusal_of(script, history(script, R"("content":"no call")")), "");
  }
}

TEST(ModelHabits, RefuseInEveryForm) {
  for (std::string_view form : refusal_form_names()) {
    SCOPED_TRACE(form);
    Refusal refusal = refusal_in_form(refused("tool names \"must\" be unique"), form);
    ASSERT_TRUE(refusal.body.has_value());
    std::string words = read_refusal(*refusal.body).message;
    if (form != "empty") {
      EXPECT_THAT(words, HasSubstr("tool names \"must\" be unique"));
    }
  }
}

TEST(ModelHabits, RefuseLongRequestsInTheWordsOfServers) {
  std::unique_ptr<WireForm> openai = make_openai_form();
  for (std::string_view server : context_refusal_names()) {
    SCOPED_TRACE(server);
    std::string script = "[context 2000 " + std::string(server) + "]";
    EXPECT_EQ(refusal_of(script, "{}", 2000), "");
    EXPECT_NE(refusal_of(script, "{}", 2001), "");
    Refusal refusal = context_refusal(server, 2000, 3456);
    std::string body = refusal.body.value_or(openai->error_document(refusal));
    std::optional<ContextExcess> excess = context_excess(400, read_refusal(body));
    ASSERT_TRUE(excess.has_value()) << body;
    if (body.find("2000") == body.npos) continue;
    EXPECT_EQ(excess->limit_tokens, 2000) << body;
    EXPECT_EQ(excess->asked_tokens, 3456) << body;
  }
}

struct Deaf final : ModelObserver {
  void on_text(TextChannel, std::string_view) override {}
  void on_retrying(int, int64_t, std::string_view) override {}
};

TEST(ModelHabits, FailInsideAStreamInEveryForm) {
  for (std::string_view name : stream_error_names()) {
    SCOPED_TRACE(name);
    ModelTurn turn;
    Deaf deaf;
    OpenAiReader reader(turn, deaf);
    SseReader lines(1 << 20);
    lines.feed(odd_stream_error(name));
    lines.end();
    while (std::optional<SseLine> line = lines.next()) reader.read_line(*line);
    reader.end();
    ASSERT_TRUE(reader.fault());
    EXPECT_THAT(reader.fault()->error.message, HasSubstr("upstream exploded"));
  }
}

}  // namespace
}  // namespace hostler::fake_model
