// See runner/tools/mcp_state.h.
#include "runner/tools/mcp_state.h"

#include <array>
#include <utility>

namespace hostler::runner {
namespace {

constexpr size_t questions_max = 16;  // of one answer
constexpr size_t message_bytes_max = 4000;
constexpr size_t schema_bytes_max = 65'536;

constexpr std::array<std::pair<McpState::Stage, std::string_view>, 4> stages = {
    {{McpState::Stage::fresh, "fresh"},
     {McpState::Stage::questions, "questions"},
     {McpState::Stage::authorize, "authorize"},
     {McpState::Stage::sent, "sent"}}};

bool is_form(const Json& question) {
  const Json* params = question.find("params");
  return question.text_or("method") == "elicitation/create" && params != nullptr &&
         params->text_or("mode", "form") == "form";
}

McpQuestion question_of(const std::string& key, const Json& asked) {
  McpQuestion question;
  question.key = key;
  const Json* params = asked.find("params");
  question.message = utf8_prefix(params->text_or("message"), message_bytes_max);
  const Json* schema = params->find("requestedSchema");
  question.schema = schema != nullptr && schema->is_object() ? schema->dump() : "{}";
  return question;
}

}  // namespace

McpState read_mcp_state(std::string_view json) {
  McpState state;
  std::optional<Json> kept = parse_json_or_nothing(json);
  if (!kept || !kept->is_object()) return state;
  for (const auto& [stage, name] : stages) {
    if (kept->text_or("stage") == name) state.stage = stage;
  }
  state.rounds = static_cast<int>(kept->integer_or("rounds", 0));
  const Json* questions = kept->find("questions");
  if (questions != nullptr) state.questions = questions->dump();
  const Json* answers = kept->find("answers");
  if (answers != nullptr) state.answers = answers->dump();
  const Json* request_state = kept->find("request_state");
  if (request_state != nullptr && request_state->is_text()) {
    state.request_state = *request_state->as_text();
  }
  return state;
}

std::string mcp_state_json(const McpState& state) {
  JsonWriter json;
  json.begin_object();
  for (const auto& [stage, name] : stages) {
    if (state.stage == stage) json.member("stage", name);
  }
  json.member("rounds", state.rounds);
  if (!state.questions.empty()) json.member_raw("questions", state.questions);
  if (state.request_state) json.member("request_state", *state.request_state);
  return json.member_raw("answers", state.answers).end_object().take();
}

std::optional<McpQuestion> open_question(const McpState& state) {
  std::optional<Json> questions = parse_json_or_nothing(state.questions);
  std::optional<Json> answers = parse_json_or_nothing(state.answers);
  if (!questions || !questions->is_object()) return std::nullopt;
  for (const auto& [key, asked] : *questions->as_object()) {
    if (answers && answers->find(key) != nullptr) continue;
    return question_of(key, asked);
  }
  return std::nullopt;
}

bool is_askable(std::string_view questions, bool has_state) {
  std::optional<Json> asked = parse_json_or_nothing(questions);
  if (!asked || !asked->is_object() || asked->as_object()->size() > questions_max) return false;
  for (const auto& [key, question] : *asked->as_object()) {
    if (!is_form(question) || question_of(key, question).schema.size() > schema_bytes_max) {
      return false;
    }
  }
  return has_state || !asked->as_object()->empty();
}

}  // namespace hostler::runner
