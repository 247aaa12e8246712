// The checks of a Chat Completions request: what the real API refuses with 400 is refused here.
#pragma once

#include <variant>

#include "dev/fake-model/chat.h"
#include "lib/json.h"

namespace hostler::fake_model {

std::variant<ChatRequest, Refusal> read_openai_request(const Json& body);

}  // namespace hostler::fake_model
