// Checks that both wire forms make on a request, and the numbers they derive from it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "dev/fake-model/chat.h"
#include "lib/json.h"

namespace hostler::fake_model {

Refusal refused(std::string message);

// model is a text, stream a boolean, temperature a number up to the limit.
std::optional<Refusal> check_settings(const Json& body, double temperature_max);
// 1 to 64 letters, digits, '_' and '-'.
bool is_tool_name(std::string_view name);
// A JSON schema whose type is "object"; `where` begins the message.
std::optional<Refusal> check_tool_schema(const Json* schema, const std::string& where);

// A JSON schema for an answer; `where` begins the message.
std::optional<Refusal> check_answer_schema(const Json* schema, const std::string& where);
// Whether the user's message only asks to repair the answer: the script goes on.
bool asks_for_repair(std::string_view text);

// Stands before the description of an image in a text.
constexpr char image_mark = '\x1e';

// The text of a content: a text itself, or its blocks of type "text" joined. An image is its type,
// bytes and SHA-256, after image_mark.
std::string content_text(const Json* content);
uint64_t hash_of(std::string_view text);
int64_t guess_tokens(size_t bytes);

}  // namespace hostler::fake_model
