// Fuzzes messages of MCP servers: the first byte cuts a stream of events into pieces; every event,
// and the whole input, is read as a message, a result, a task, a definition of a tool, and
// questions.
#include "lib/json.h"
#include "lib/utf8.h"
#include "runner/mcp/event_reader.h"
#include "runner/mcp/param_headers.h"
#include "runner/mcp/raw_json.h"
#include "runner/mcp/result_text.h"
#include "runner/mcp/rpc_answer.h"
#include "runner/mcp/task_answer.h"
#include "runner/tools/mcp_state.h"
#include "tests/fuzz/target.h"
#include "tests/fuzz/targets.h"

namespace hostler::fuzz {
namespace {

constexpr size_t event_bytes_max = 4096;

void check_result(std::string_view json) {
  runner::ResultText result = runner::read_tool_result(json);
  if (result.kind != runner::ResultText::Kind::result) return;
  require(parse_json_or_nothing(result.text).has_value(), "a result is JSON");
  require(result.text.size() <= runner::remote_result_bytes_max, "a result is bounded");
}

// Members are found where they stand, as the whole reader finds them.
void check_members(std::string_view json) {
  std::optional<Json> parsed = parse_json_or_nothing(json);
  if (!parsed || !parsed->is_object()) return;
  for (const auto& [name, value] : *parsed->as_object()) {
    std::optional<std::string_view> raw = runner::raw_member(json, name);
    require(raw.has_value(), "a member that is there is found");
    std::optional<Json> found = parse_json_or_nothing(*raw);
    require(found && found->dump() == value.dump(), "a member's bytes are its value");
    if (!value.is_array()) continue;
    require(runner::raw_elements(*raw).size() == value.as_array()->size(),
            "an array's elements are all found");
  }
}

void check_headers(std::string_view json) {
  std::optional<Json> schema = parse_json_or_nothing(json);
  if (!schema || runner::param_header_fault(*schema)) return;
  for (const http::HttpField& field : runner::param_headers(*schema, *schema)) {
    require(field.second.find_first_of(std::string_view("\r\n\0", 3)) == std::string::npos,
            "a field is one line");
  }
}

void check_questions(std::string_view json) {
  runner::McpState state = runner::read_mcp_state(json);
  runner::McpState again = runner::read_mcp_state(runner::mcp_state_json(state));
  require(again.questions == state.questions && again.request_state == state.request_state,
          "what is kept of a call is read as it was");
  require(parse_json_or_nothing(runner::unanswered(state, json)).has_value(),
          "what nobody answered is JSON");
  std::optional<std::string> asked = runner::askable(json, false);
  if (!asked) return;
  require(runner::askable(*asked, false) == asked, "what is kept of questions may be asked");
  state.questions = *asked;
  std::optional<runner::McpQuestion> question = runner::open_question(state);
  require(question.has_value(), "what may be asked has a question");
  require(parse_json_or_nothing(question->schema).has_value(), "a form is JSON");
}

void check_message(std::string_view json) {
  std::optional<runner::RpcAnswer> answer = runner::read_response(json, "");
  if (!answer) return;
  bool is_json = answer->json.empty() || parse_json_or_nothing(answer->json).has_value();
  require(is_json, "a result, and an error's data, are JSON");
  require(answer->message.size() <= 2000 && is_utf8(answer->message), "words are bounded");
}

void check_task(std::string_view json) {
  std::optional<runner::RemoteTask> task = runner::read_task(json);
  if (!task) return;
  require(!task->id.empty() && task->id.size() <= runner::task_id_bytes_max, "an id is bounded");
  require(task->poll_ms >= 500 && task->poll_ms <= 300'000, "a task is polled now and then");
  require(parse_json_or_nothing(task->questions).has_value(), "questions are JSON");
  check_result(task->result);
}

void check_text(std::string_view json) {
  check_message(json);
  check_task(json);
  check_result(json);
  check_members(json);
  check_headers(json);
  check_questions(json);
}

}  // namespace

void mcp_answer(std::string_view input) {
  size_t piece = 1 + take_byte(input);
  check_text(input);
  runner::EventReader events(event_bytes_max);
  for (size_t at = 0; at < input.size(); at += piece) {
    events.feed(input.substr(at, piece));
    while (std::optional<std::string> event = events.next()) {
      require(event->size() <= event_bytes_max, "an event is bounded");
      check_text(*event);
    }
  }
}

}  // namespace hostler::fuzz
