// Chat completions in OpenAI's form: a run that is given its history whole, answered by the relay,
// to which nginx sends the request on (X-Accel-Redirect). Statement: sql/queries/chat_runs.sql.
#include <array>
#include <optional>
#include <string>

#include "fcgi/api/handlers.h"
#include "fcgi/api/openai/chat_messages.h"
#include "fcgi/api/openai/chat_tools.h"
#include "fcgi/api/openai/model_name.h"
#include "fcgi/api/openai/openai_marks.h"
#include "fcgi/api/openai/unsupported_members.h"
#include "fcgi/http/input.h"
#include "fcgi/http/response_format.h"
#include "fcgi/http/sent_on.h"
#include "queries/chat_runs.h"
#include "queries/files.h"
#include "queries/runs.h"

namespace hostler {
namespace {

constexpr size_t stops_max = 4;

struct NewChat {
  ModelName model;
  ChatMessages messages;
  ChatTools tools;
  std::optional<std::string> sampling;
  std::optional<std::string> response_format;
  OpenaiMarks marks;
  std::string_view wire_format;  // lib/formats/formats.cpp
  bool keeps = true;
};

// Members of responses too, because some clients send them to either. Harmless members are
// accepted, known or not.
constexpr auto unsupported_members = std::to_array<UnsupportedMember>({
    {"n", "must be 1, because Hostler gives one answer"},
    {"best_of", "must be 1, because Hostler gives one answer"},
    {"logprobs"},
    {"top_logprobs"},
    {"logit_bias"},
    {"modalities", R"(must be ["text"]; others are not supported here)"},
    {"audio"},
    {"prediction"},
    {"functions", "is not supported here, tools is"},
    {"function_call", "is not supported here, tool_choice is"},
    {"reasoning_effort"},
    {"reasoning"},
    {"verbosity"},
    {"web_search_options"},
    {"top_k"},
    {"min_p"},
    {"repetition_penalty"},
    {"instructions", "is not supported here, a message of the role system is"},
    {"text", "is not supported here, response_format is"},
    {"max_output_tokens", "is not supported here, max_completion_tokens is"},
    {"previous_response_id", "is not supported here; messages has the whole conversation"},
    {"conversation", "is not supported here; messages has the whole conversation"},
    {"input", "is not supported here, messages is"},
    {"prompt", "is not supported here, messages is"},
    {"background"},
    {"max_tool_calls"},
    {"context_management"},
    {"moderation"},
});

void read_stops(Fields& fields, JsonWriter& json) {
  const Json* stop = fields.any("stop");
  if (stop == nullptr || stop->is_null() || stop->dump() == R"("")") return;
  json.key("stop").begin_array();
  if (stop->is_text()) {
    json.text(*stop->as_text());
  } else if (std::optional<std::vector<std::string>> stops =
                 fields.optional_texts("stop", stops_max, {.min = 1, .takes_control = true})) {
    for (const std::string& text : *stops) json.text(text);
  }
  json.end_array();
}

// Form in which the daemon passes them on; nothing if none is given.
std::optional<std::string> read_sampling(Fields& fields, const ChatTools& tools) {
  constexpr const char* nothing = "{}";
  JsonWriter json;
  json.begin_object();
  struct Number {
    const char* name;
    NumberBounds bounds;
  };
  for (const Number& number :
       {Number{"temperature", {0, 2}}, Number{"top_p", {0, 1}}, Number{"presence_penalty", {-2, 2}},
        Number{"frequency_penalty", {-2, 2}}}) {
    Nullable<double> value = fields.nullable_number(number.name, number.bounds);
    if (value.value) json.member(number.name, *value.value);
  }
  Nullable<int64_t> older = fields.nullable_integer("max_tokens", {1, INT32_MAX});
  Nullable<int64_t> newer = fields.nullable_integer("max_completion_tokens", {1, INT32_MAX});
  std::optional<int64_t> tokens_max = newer.value ? newer.value : older.value;
  if (tokens_max) json.member("max_tokens", *tokens_max);
  read_stops(fields, json);
  Nullable<int64_t> seed = fields.nullable_integer("seed");
  if (seed.value) json.member("seed", *seed.value);
  write_tool_choice(tools, json);
  std::string text = json.end_object().take();
  if (text == nothing) return std::nullopt;
  return text;
}

std::string_view read_wire_format(Fields& fields) {
  bool is_stream = fields.nullable_boolean("stream").value.value_or(false);
  bool has_usage = false;
  if (Nullable<Fields> options = fields.nullable_object("stream_options"); options.value) {
    if (!is_stream) fields.fault("stream_options", "bad_format", "is only for streams");
    has_usage = options.value->nullable_boolean("include_usage").value.value_or(false);
  }
  if (!is_stream) return "openai_chat_whole";
  return has_usage ? "openai_chat_usage" : "openai_chat";
}

NewChat read_new_chat(const Input& input) {
  Fields fields = input.body();
  NewChat chat;
  std::string model = fields.required_text("model", {.min = 1, .max = 256});
  chat.messages = read_chat_messages(fields, upload_limits(input.settings));
  refuse_members(fields, unsupported_members);
  chat.tools = read_chat_tools(fields);
  chat.sampling = read_sampling(fields, chat.tools);
  chat.response_format = read_openai_response_format(fields);
  chat.marks = read_openai_marks(fields);
  chat.keeps = fields.nullable_boolean("store").value.value_or(true);
  chat.wire_format = read_wire_format(fields);
  fields.check();
  chat.model = read_model_name(model);
  check_chat_tool_names(chat.tools, chat.model.persona_id.has_value());
  return chat;
}

}  // namespace

OneStatement create_chat_completion(const Input& input) {
  NewChat chat = read_new_chat(input);
  const config::Settings& settings = input.settings;
  query::ChatRunCreate statement{
      .persona_id = chat.model.persona_id,
      .route_id = chat.model.route_id,
      .history = chat.messages.history,
      .sampling = chat.sampling,
      .end_user = chat.marks.end_user,
      .metadata = chat.marks.metadata,
      .keeps = chat.keeps,
      .limit_concurrent_runs = settings.integer("limit.concurrent_runs"),
      .limit_concurrent_runs_per_user = settings.integer("limit.concurrent_runs_per_user"),
      .limit_stored_bytes = settings.integer("limit.stored_bytes"),
      .credit_run_hold = settings.integer("credit.run_hold"),
      .response_format = chat.response_format,
      .tools = chat.tools.declared,
      .answered_calls = chat.messages.answered_calls,
      .missing_calls = chat.messages.missing_calls};
  OneStatement made = answered_by_run(std::move(statement), chat.wire_format);
  if (chat.messages.has_files) made = std::move(made).notify(query::FileChecksWake{});
  return std::move(made).notify(query::RunNotify{}).share_commit();
}

}  // namespace hostler
