// The messages of a request in OpenAI's form: whose words in a row become one message, and what a
// model that takes no system role is sent instead. Used by openai_request.cpp.
#pragma once

#include "lib/json.h"
#include "runner/models/model.h"

namespace hostler {

// Writes the member `messages`. Consecutive messages of the user, and of the assistant, are one,
// because servers with chat templates refuse two in a row; tool results and messages with different
// names are not joined. An assistant's message without text and calls is left out.
void write_openai_messages(JsonWriter& json, const ModelRequest& request);

}  // namespace hostler
