// Answer of the fake model when no script names one. The same request gets the same words.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "dev/fake-model/chat.h"

namespace hostler::fake_model {

// A short friendly answer to the last user message.
std::string friendly_answer(const ChatRequest& request);
// The end of a script whose last turn was a tool call: tells what the tools brought.
std::string answer_after_tools(const ChatRequest& request);
// So many words with spaces between them, ending in a full stop.
std::string some_words(int64_t count);

// The next piece of text as a stream would carry it: up to and with the next space, or at most 24
// bytes without one, never half a character. Empty at the end.
std::string_view next_piece(std::string_view text);

}  // namespace hostler::fake_model
