// The messages of a chat in OpenAI's form, as a run keeps its history (sql/schema/chat_runs.sql).
#pragma once

#include <string>
#include <vector>

#include "fcgi/http/input.h"

namespace hostler {

struct ChatMessages {
  std::string history;  // JSON, oldest first
  // Of the calls that the history answers the newest, by their ids, for their runs to be looked up:
  // between 100 and 200 of many.
  std::vector<std::string> answered_calls;
  std::vector<std::string> missing_calls;  // that it answers, and nobody makes in it
};

// The member "messages"; its faults are added to the fields'.
ChatMessages read_chat_messages(Fields& fields);

// Which of so many calls are the first to be looked up: the same one while a hundred more come, so
// that what a model is sent keeps its beginning.
size_t first_looked_up(size_t answered);

}  // namespace hostler
