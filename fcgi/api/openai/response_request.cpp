// See fcgi/api/openai/response_request.h.
#include "fcgi/api/openai/response_request.h"

#include <array>

#include "fcgi/api/openai/chat_tools.h"
#include "fcgi/api/openai/openai_marks.h"
#include "fcgi/api/openai/unsupported_members.h"
#include "fcgi/http/response_format.h"
#include "lib/error.h"
#include "lib/http/openai_error.h"
#include "lib/ids.h"
#include "lib/json.h"

namespace hostler {
namespace {

constexpr TextBounds id_bounds{.min = 1, .max = 256};
constexpr TextBounds instructions_bounds{.max = TextBounds::body_text_bytes_max,
                                         .takes_control = true};

bool is_nothing(const Json* value) {
  if (value == nullptr || value->is_null()) return true;
  return value->as_array() != nullptr && value->as_array()->empty();
}

// Members of chat completions too, because some clients send them to either.
constexpr auto unsupported_members = std::to_array<UnsupportedMember>({
    {"prompt"},
    {"context_management"},
    {"moderation"},
    {"max_tool_calls"},
    {"top_logprobs"},
    {"logprobs"},
    {"logit_bias"},
    {"n", "must be 1, because Hostler gives one answer"},
    {"modalities", R"(must be ["text"]; others are not supported here)"},
    {"response_format", "is not supported here, text.format is"},
    {"max_tokens", "is not supported here, max_output_tokens is"},
    {"max_completion_tokens", "is not supported here, max_output_tokens is"},
    {"stop"},
    {"seed"},
    {"reasoning_effort"},
    {"verbosity"},
    {"messages", "is not supported here, input is"},
    {"functions", "is not supported here, tools is"},
    {"function_call", "is not supported here, tool_choice is"},
    {"best_of", "must be 1, because Hostler gives one answer"},
    {"audio"},
    {"prediction"},
    {"web_search_options"},
    {"top_k"},
    {"min_p"},
    {"repetition_penalty"},
});

void refuse(Fields& fields, const char* name, const char* message = "is not supported here") {
  fields.fault(name, std::string(http::unsupported_parameter), message);
}

// Harmless members are accepted, known or not.
void refuse_unsupported(Fields& fields) {
  refuse_members(fields, unsupported_members);
  const Json* include = fields.any("include");
  bool wants_logprobs = include != nullptr && include->dump().find("logprobs") != std::string::npos;
  if (wants_logprobs) {
    refuse(fields, "include", "may contain reasoning.encrypted_content, but no log probabilities");
  }
  if (Nullable<Fields> reasoning = fields.nullable_object("reasoning"); reasoning.value) {
    const Json* effort = reasoning.value->any("effort");
    if (!is_nothing(effort)) refuse(*reasoning.value, "effort");
  }
}

// The members of the answer that repeat the request, in the order of OpenAI's reference.
class Facts {
 public:
  explicit Facts(Fields& fields) : fields_(fields) { json_.begin_object(); }

  // Returns it as it was sent, if it was.
  void repeat(const char* name, std::string_view otherwise) {
    const Json* value = fields_.any(name);
    if (value == nullptr || value->is_null()) {
      json_.member_raw(name, otherwise);
    } else {
      json_.key(name).value(*value);
    }
  }
  JsonWriter& json() { return json_; }
  std::string take() { return json_.end_object().take(); }

 private:
  Fields& fields_;
  JsonWriter json_;
};

std::string facts_of(Fields& fields, const NewResponse& wanted) {
  Facts facts(fields);
  facts.repeat("model", "null");
  facts.json().member("background", wanted.is_background).member("store", wanted.keeps);
  for (const char* name : {"instructions", "previous_response_id", "max_output_tokens"}) {
    facts.repeat(name, "null");
  }
  facts.json().member_raw("max_tool_calls", "null").member_raw("metadata", wanted.marks.metadata);
  facts.repeat("parallel_tool_calls", "true");
  facts.repeat("temperature", "null");
  facts.repeat("top_p", "null");
  facts.repeat("presence_penalty", "0");
  facts.repeat("frequency_penalty", "0");
  facts.json().member("top_logprobs", 0);
  facts.repeat("tool_choice", R"("auto")");
  facts.repeat("tools", "[]");
  const Json* text = fields.any("text");
  const Json* format = text == nullptr ? nullptr : text->find("format");
  bool has_format = format != nullptr && !format->is_null();
  facts.json().key("text").begin_object();
  facts.json().member_raw("format", has_format ? format->dump() : R"({"type":"text"})");
  facts.json().end_object().member_raw("reasoning", R"({"effort":null,"summary":null})");
  // There is one of each, whatever was wanted: what is longer than its model takes is cut.
  facts.json().member("truncation", "auto").member("service_tier", "default");
  for (const char* name : {"user", "safety_identifier", "prompt_cache_key"}) {
    facts.repeat(name, "null");
  }
  return facts.take();
}

// Members that are only repeated must be of a form that clients can read.
void check_repeated(Fields& fields) {
  fields.nullable_choice("truncation", {"auto", "disabled"});
  for (const char* name : {"service_tier", "prompt_cache_key"}) {
    fields.nullable_text(name, id_bounds);
  }
}

// Form in which the daemon passes them on; nothing if none is given.
std::optional<std::string> read_sampling(Fields& fields, const ChatTools& tools) {
  constexpr const char* nothing = "{}";
  struct Number {
    const char* name;
    NumberBounds bounds;
  };
  JsonWriter json;
  json.begin_object();
  for (const Number& number :
       {Number{"temperature", {0, 2}}, Number{"top_p", {0, 1}}, Number{"presence_penalty", {-2, 2}},
        Number{"frequency_penalty", {-2, 2}}}) {
    Nullable<double> value = fields.nullable_number(number.name, number.bounds);
    if (value.value) json.member(number.name, *value.value);
  }
  Nullable<int64_t> tokens_max = fields.nullable_integer("max_output_tokens", {1, INT32_MAX});
  if (tokens_max.value) json.member("max_tokens", *tokens_max.value);
  write_tool_choice(tools, json);
  std::string text = json.end_object().take();
  if (text == nothing) return std::nullopt;
  return text;
}

// Form that @ai-sdk/open-responses gives the wish for JSON of any kind.
bool wants_any_json(const Json* format) {
  return format != nullptr && format->is_object() && format->text_or("type") == "json_schema" &&
         is_nothing(format->find("name")) && is_nothing(format->find("schema"));
}

std::optional<std::string> read_format(Fields& fields) {
  Nullable<Fields> text = fields.nullable_object("text");
  if (!text.value) return std::nullopt;
  // How much is said is up to the model, unless the client wants it otherwise.
  Nullable<std::string> verbosity = text.value->nullable_text("verbosity", id_bounds);
  if (verbosity.value && verbosity.value != "medium") {
    refuse(*text.value, "verbosity", "must be medium; other values are not supported here");
  }
  if (wants_any_json(text.value->any("format"))) return R"({"type":"json_object"})";
  return read_text_format(*text.value);
}

// conv_… or {id: conv_…}
std::optional<std::string> read_conversation(Fields& fields) {
  const Json* given = fields.any("conversation");
  if (given == nullptr || given->is_null()) return std::nullopt;
  if (given->is_object()) {
    return fields.nullable_object("conversation").value->required_text("id", id_bounds);
  }
  return fields.nullable_text("conversation", id_bounds).value;
}

// The UUID behind the prefix, or nothing.
std::optional<std::string> uuid_in(std::string_view id, std::string_view prefix) {
  if (!id.starts_with(prefix)) return std::nullopt;
  std::string uuid(id.substr(prefix.size()));
  if (!is_uuid(uuid)) return std::nullopt;
  return uuid;
}

Error none_such(ErrorCode code, std::string_view member) {
  Error error(code);
  if (!member.empty()) error.faults.push_back({std::string(member), "unknown", "is unknown"});
  return error;
}

// Members that cannot be combined with the others.
void check_together(Fields& fields, const NewResponse& wanted, bool has_previous,
                    bool has_conversation) {
  if (has_previous && has_conversation) {
    fields.fault("conversation", "bad_format", "must not be given beside previous_response_id");
  }
  if (has_conversation && !wanted.keeps) {
    fields.fault("store", "bad_format", "must be true, because a conversation is stored");
  }
  if (wanted.is_background && !wanted.keeps) {
    fields.fault("store", "bad_format",
                 "must be true, because a response in the background is stored");
  }
}

}  // namespace

std::string run_id_in(std::string_view response, std::string_view member) {
  std::optional<std::string> run_id = uuid_in(response, "resp_");
  if (!run_id) throw none_such(ErrorCode::runs_not_found, member);
  return *std::move(run_id);
}

std::string thread_id_in(std::string_view conversation, std::string_view member) {
  std::optional<std::string> thread_id = uuid_in(conversation, "conv_");
  if (!thread_id) throw none_such(ErrorCode::threads_not_found, member);
  return *std::move(thread_id);
}

NewResponse read_new_response(const Input& input) {
  Fields fields = input.body();
  NewResponse wanted;
  std::string model = fields.required_text("model", {.min = 1, .max = 256});
  wanted.input = read_response_input(fields, upload_limits(input.settings));
  fields.nullable_text("instructions", instructions_bounds);
  std::optional<std::string> previous =
      fields.nullable_text("previous_response_id", id_bounds).value;
  std::optional<std::string> conversation = read_conversation(fields);
  refuse_unsupported(fields);
  ChatTools tools = read_chat_tools(fields, ToolForm::openai_responses);
  wanted.sampling = read_sampling(fields, tools);
  wanted.response_format = read_format(fields);
  wanted.marks = read_openai_marks(fields);
  wanted.keeps = fields.nullable_boolean("store").value.value_or(true);
  wanted.is_stream = fields.nullable_boolean("stream").value.value_or(false);
  wanted.is_background = fields.nullable_boolean("background").value.value_or(false);
  check_together(fields, wanted, previous.has_value(), conversation.has_value());
  check_repeated(fields);
  fields.check();
  wanted.facts = facts_of(fields, wanted);
  wanted.model = read_model_name(model);
  check_chat_tool_names(tools, wanted.model.persona_id.has_value(), ToolForm::openai_responses);
  wanted.tools = std::move(tools.declared);
  if (previous) wanted.previous_run_id = run_id_in(*previous, "previous_response_id");
  if (conversation) wanted.thread_id = thread_id_in(*conversation, "conversation");
  return wanted;
}

}  // namespace hostler
