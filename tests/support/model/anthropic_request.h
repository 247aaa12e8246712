// The checks of an Anthropic Messages request: what the real API refuses with 400 is refused here.
#pragma once

#include <variant>

#include "lib/json.h"
#include "tests/support/model/chat.h"

namespace hostler::stand_in {

std::variant<ChatRequest, Refusal> read_anthropic_request(const Json& body);

}  // namespace hostler::stand_in
