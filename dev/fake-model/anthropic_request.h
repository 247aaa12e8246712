// The checks of an Anthropic Messages request: what the real API refuses with 400 is refused here.
#pragma once

#include <variant>

#include "dev/fake-model/chat.h"
#include "lib/json.h"

namespace hostler::fake_model {

std::variant<ChatRequest, Refusal> read_anthropic_request(const Json& body);

}  // namespace hostler::fake_model
