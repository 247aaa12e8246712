// See runner/tools/mcp_state.h.
#include "runner/tools/mcp_state.h"

#include <algorithm>
#include <array>
#include <utility>

#include "lib/utf8.h"

namespace hostler::runner {
namespace {

constexpr size_t questions_max = 16;  // of one answer
constexpr size_t key_bytes_max = 256;
constexpr size_t message_bytes_max = 4000;
constexpr size_t schema_bytes_max = 65'536;
constexpr size_t all_bytes_max = 256 << 10;  // of all questions of one answer

constexpr std::array<std::pair<McpState::Stage, std::string_view>, 6> stages = {
    {{McpState::Stage::fresh, "fresh"},
     {McpState::Stage::questions, "questions"},
     {McpState::Stage::authorize, "authorize"},
     {McpState::Stage::sent, "sent"},
     {McpState::Stage::away, "away"},
     {McpState::Stage::unauthorized, "unauthorized"}}};

bool is_texts_or_none(const Json* value) {
  if (value == nullptr) return true;
  const Json::Array* all = value->as_array();
  return all != nullptr &&
         std::all_of(all->begin(), all->end(), [](const Json& one) { return one.is_text(); });
}

// Flat: an object whose properties are schemas. The check of answers handles their other keywords.
bool is_form_schema(const Json* schema) {
  if (schema == nullptr) return true;
  if (!schema->is_object() || !is_texts_or_none(schema->find("required"))) return false;
  const Json* properties = schema->find("properties");
  if (properties == nullptr) return true;
  const Json::Object* all = properties->as_object();
  return all != nullptr && std::all_of(all->begin(), all->end(), [](const Json::Member& one) {
           return one.second.is_object();
         });
}

bool is_form(const Json& question) {
  const Json* params = question.find("params");
  return question.text_or("method") == "elicitation/create" && params != nullptr &&
         params->is_object() && params->text_or("mode", "form") == "form" &&
         is_form_schema(params->find("requestedSchema"));
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

std::string away_name(McpState::Away away) {
  return away == McpState::Away::task ? "task" : "stream";
}

}  // namespace

McpState read_mcp_state(std::string_view json) {
  McpState state;
  std::optional<Json> kept = parse_json_or_nothing(json);
  if (!kept || !kept->is_object()) return state;
  for (const auto& [stage, name] : stages) {
    if (kept->text_or("stage") == name) state.stage = stage;
  }
  for (McpState::Away away : {McpState::Away::task, McpState::Away::stream}) {
    if (kept->text_or("away") == away_name(away)) state.away = away;
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
  state.url = kept->text_or("url");
  const Json* answered = kept->find("answered");
  if (answered == nullptr || !answered->is_array()) return state;
  for (const Json& key : *answered->as_array()) {
    if (key.is_text()) state.answered.push_back(*key.as_text());
  }
  return state;
}

std::string mcp_state_json(const McpState& state) {
  JsonWriter json;
  json.begin_object();
  for (const auto& [stage, name] : stages) {
    if (state.stage == stage) json.member("stage", name);
  }
  if (state.away != McpState::Away::no) json.member("away", away_name(state.away));
  json.member("rounds", state.rounds);
  if (!state.questions.empty()) json.member_raw("questions", state.questions);
  if (state.request_state) json.member("request_state", *state.request_state);
  if (!state.url.empty()) json.member("url", state.url);
  if (!state.answered.empty()) {
    json.key("answered").begin_array();
    for (const std::string& key : state.answered) json.text(key);
    json.end_array();
  }
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

std::optional<std::string> askable(std::string_view questions, bool has_state) {
  std::optional<Json> asked = parse_json_or_nothing(questions);
  if (!asked || !asked->is_object() || asked->as_object()->size() > questions_max) {
    return std::nullopt;
  }
  for (const auto& [key, question] : *asked->as_object()) {
    bool is_fit = key.size() <= key_bytes_max && is_form(question) &&
                  question_of(key, question).schema.size() <= schema_bytes_max;
    if (!is_fit) return std::nullopt;
  }
  if (!has_state && asked->as_object()->empty()) return std::nullopt;
  // Rewritten, because a notation of a number may be more than Postgres accepts.
  std::string kept = asked->dump();
  if (kept.size() > all_bytes_max) return std::nullopt;
  return kept;
}

void take_answers(McpState& state) {
  std::optional<Json> answers = parse_json_or_nothing(state.answers);
  state.answers = "{}";
  state.questions.clear();
  if (!answers || !answers->is_object()) return;
  for (const auto& [key, answer] : *answers->as_object()) state.answered.push_back(key);
}

std::string unanswered(const McpState& state, std::string_view questions) {
  std::optional<Json> asked = parse_json_or_nothing(questions);
  JsonWriter json;
  json.begin_object();
  if (asked && asked->is_object()) {
    for (const auto& [key, question] : *asked->as_object()) {
      bool is_known =
          std::find(state.answered.begin(), state.answered.end(), key) != state.answered.end();
      if (!is_known) json.key(key).value(question);
    }
  }
  return json.end_object().take();
}

}  // namespace hostler::runner
