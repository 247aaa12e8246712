// The messages of a chat in OpenAI's form, as a run keeps its history (sql/schema/chat_runs.sql).
#pragma once

#include <string>

#include "fcgi/http/input.h"

namespace hostler {

// The member "messages" as JSON, oldest first; its faults are added to the fields'.
std::string read_chat_messages(Fields& fields);

}  // namespace hostler
