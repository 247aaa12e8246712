// Messages of a conversation with a model that take more than one line to make, for unit tests.
#pragma once

#include <string>
#include <utility>

#include "runner/models/model.h"

namespace hostler::testing_support {

inline ChatMessage tool_message(std::string text, std::string call_id) {
  ChatMessage message(ChatRole::tool, std::move(text));
  message.tool_call_id = std::move(call_id);
  return message;
}

inline ChatMessage named_message(ChatRole role, std::string name, std::string text) {
  ChatMessage message(role, std::move(text));
  message.name = std::move(name);
  return message;
}

}  // namespace hostler::testing_support
