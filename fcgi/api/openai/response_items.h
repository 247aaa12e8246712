// The items of a response's input: read from a request as its run keeps them, and shown again.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fcgi/api/files/given_parts.h"
#include "fcgi/http/input.h"

namespace hostler {

struct ResponseInput {
  // [{role, content, parts, tool_calls, tool_call_id}], oldest first, as runs are given their history
  // (sql/schema/chat_runs.sql); is_developer tells a developer's message from the system's.
  std::string messages;
  std::vector<std::string> words;  // search_words() of each that a person reads, else empty
  std::vector<std::string> answered_calls;  // ids of calls whose outputs are among them
  std::vector<std::string> missing_calls;   // of those that are not among them themselves
  bool has_files = false;
};

// The member "input", a text or items; its faults are added to the fields'. limits: of images in it.
ResponseInput read_response_input(Fields& fields, const UploadLimits& limits);

struct InputItemPage {
  int64_t limit = 20;
  bool is_ascending = false;
  std::optional<std::string> after;  // the id of the last item that the client has
};

// A page of what was read, as OpenAI's clients list it. Throws the 422 of an unknown `after`.
std::string response_item_list(std::string_view run_id, std::string_view messages,
                               const InputItemPage& page);

}  // namespace hostler
