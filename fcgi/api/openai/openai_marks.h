// Marks that clients of OpenAI's forms give a request, in the form of a run's marks. Used by
// chat_completions.cpp, response_request.cpp and conversations.cpp beside it.
#pragma once

#include <optional>
#include <string>

#include "fcgi/http/input.h"

namespace hostler {

struct OpenaiMarks {
  std::optional<std::string> end_user;
  std::string metadata = "{}";  // JSON
};

// The members user, safety_identifier, which has taken its place, and metadata; their faults are
// added to the fields'.
OpenaiMarks read_openai_marks(Fields& fields);
// The member metadata alone, which may be null.
std::string read_openai_metadata(Fields& fields);

}  // namespace hostler
