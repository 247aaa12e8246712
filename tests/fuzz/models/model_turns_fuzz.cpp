// Turns as providers write them, in random order, cut anywhere, in any encoding of lines: the input
// chooses what is written, piece by piece, and knows which calls the model finished. Whatever
// comes, the reader ends in a state, what is offered for execution is what the model wrote, and the
// history
// made of it is one that providers take.
#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "runner/models/anthropic.h"
#include "runner/models/openai.h"
#include "runner/models/sse_reader.h"
#include "runner/models/turn_reader.h"
#include "tests/fuzz/models/model_stream.h"
#include "tests/fuzz/models/written_turn.h"
#include "tests/fuzz/target.h"
#include "tests/fuzz/targets.h"

namespace hostler::fuzz {
namespace {

// Turn that Hostler made of the bytes.
struct ReadTurn {
  ModelTurn turn;
  bool failed = false;
  bool complete = false;
};

ReadTurn read(ProviderKind kind, const WrittenTurn& written) {
  ReadTurn read;
  Listener received;
  std::unique_ptr<TurnReader> reader = make_turn_reader(kind, read.turn, received);
  SseReader lines(1 << 20);
  std::string_view bytes = written.bytes;
  size_t piece = written.piece_bytes;
  auto take = [&] {
    while (std::optional<SseLine> line = lines.next()) reader->read_line(*line);
  };
  while (!bytes.empty()) {
    lines.feed(bytes.substr(0, piece));
    bytes.remove_prefix(std::min(piece, bytes.size()));
    take();
  }
  lines.end();
  take();
  reader->end();
  check_turn(*reader, read.turn, received);
  read.failed = reader->fault().has_value();
  read.complete = reader->is_complete();
  return read;
}

bool is_object(std::string_view text) {
  std::optional<Json> value = parse_json_or_nothing(text);
  return value && value->is_object();
}

// Follows runner/agent/cut_calls.cpp: a turn that was stopped loses its last call, and every
// incomplete one.
bool is_offered(const ModelTurn& turn, size_t nth) {
  std::vector<ToolCall> calls = turn.calls();
  bool was_stopped = turn.is_broken_off || turn.finish_reason == FinishReason::length ||
                     turn.finish_reason == FinishReason::content_filter;
  if (was_stopped && nth + 1 == calls.size()) return false;
  return is_object(calls[nth].arguments);
}

// No call runs with arguments that the model did not finish: an offered call was written, with its
// whole arguments.
void check_offered(const WrittenTurn& written, const ReadTurn& read) {
  if (read.failed || !read.complete) return;  // the turn is not carried out
  std::vector<ToolCall> calls = read.turn.calls();
  for (size_t nth = 0; nth < calls.size(); ++nth) {
    if (!is_offered(read.turn, nth)) continue;
    bool is_written =
        std::any_of(written.calls.begin(), written.calls.end(), [&](const WrittenCall& call) {
          return call.is_whole && call.name == calls[nth].name &&
                 parse_json_or_nothing(call.arguments)->dump() ==
                     parse_json_or_nothing(calls[nth].arguments)->dump();
        });
    require(is_written, "a call that is offered was written as it is");
  }
}

// The turn and the results of its calls behind a question, as the next request sends them.
ModelRequest next_request(ProviderKind kind, const ModelTurn& turn) {
  ModelRequest request;
  request.endpoint.provider_kind = kind;
  request.endpoint.model = "m";
  request.messages.emplace_back(ChatRole::system, "Be brief.");
  request.messages.emplace_back(ChatRole::user, "hello");
  request.messages.emplace_back(ChatRole::assistant, turn.parts);
  for (const ToolCall& call : turn.calls()) {
    request.messages.emplace_back(ChatRole::tool, "done").tool_call_id = call.id;
  }
  request.messages.emplace_back(ChatRole::user, "and then?");
  request.tools.push_back({"weather", "tells", R"({"type":"object","properties":{}})"});
  return request;
}

void check_openai_history(const Json::Array& messages) {
  std::set<std::string> open;
  std::string last;
  for (const Json& message : messages) {
    std::string role(message.text_or("role"));
    if (role == "tool") {
      require(open.erase(std::string(message.text_or("tool_call_id"))) == 1, "a result has a call");
      continue;
    }
    require(open.empty(), "every call has its result, directly behind it");
    require(role != last, "roles alternate");
    last = role;
    const Json* calls = message.find("tool_calls");
    if (calls == nullptr) continue;
    require(!calls->as_array()->empty(), "no empty list of calls");
    last = "calls";
    for (const Json& call : *calls->as_array()) {
      const Json* function = call.find("function");
      require(is_object(function->text_or("arguments")), "arguments are an object");
      require(!function->text_or("name").empty(), "a call has a name");
      require(open.insert(std::string(call.text_or("id"))).second, "ids of calls are their own");
    }
  }
  require(open.empty(), "every call has its result");
}

void check_anthropic_history(const Json::Array& messages) {
  std::set<std::string> open;
  bool is_user = true;
  for (const Json& message : messages) {
    require((message.text_or("role") == "user") == is_user, "roles alternate, the user begins");
    const Json::Array& blocks = *message.find("content")->as_array();
    require(!blocks.empty(), "no message is empty");
    for (const Json& block : blocks) {
      std::string_view type = block.text_or("type");
      if (type == "text") require(!is_blank(block.text_or("text")), "no text is blank");
      if (type == "tool_use") {
        require(block.find("input")->is_object(), "input is an object");
        require(open.insert(std::string(block.text_or("id"))).second, "ids are their own");
      }
      if (type != "tool_result") continue;
      require(open.erase(std::string(block.text_or("tool_use_id"))) == 1, "a result has a call");
    }
    if (is_user) require(open.empty(), "every call has its result in the next message");
    is_user = !is_user;
  }
  require(!is_user, "the user has the last word");
}

void check_history(ProviderKind kind, const ReadTurn& read) {
  if (read.failed || !read.complete) return;
  // Reads it like a daemon that takes the run over.
  ModelTurn stored = read.turn;
  stored.parts = parts_from(parts_json(read.turn.parts));
  require(parts_json(stored.parts) == parts_json(read.turn.parts), "what is stored is read again");
  ModelRequest request = next_request(kind, stored);
  std::string body =
      (kind == ProviderKind::openai ? openai_request(request) : anthropic_request(request)).body;
  std::optional<Json> json = parse_json_or_nothing(body);
  require(json.has_value(), "a request is JSON");
  const Json::Array& messages = *json->find("messages")->as_array();
  if (kind == ProviderKind::openai) {
    check_openai_history(messages);
  } else {
    check_anthropic_history(messages);
  }
}

}  // namespace

void model_turns(std::string_view input) {
  bool is_openai = take_byte(input) % 3 != 0;
  ProviderKind kind = is_openai ? ProviderKind::openai : ProviderKind::anthropic;
  WrittenTurn written = is_openai ? write_openai_turn(input) : write_anthropic_turn(input);
  ReadTurn whole = read(kind, written);
  check_offered(written, whole);
  check_history(kind, whole);
}

}  // namespace hostler::fuzz
