// response_format of runs and personas: what the answer of a run must be. Its schema is compiled
// here, so that what it may not hold is refused when it is declared.
#pragma once

#include <optional>
#include <string>

#include "fcgi/http/input.h"

namespace hostler {

// The member "response_format" as compact JSON with the members that we know, or its faults.
Nullable<std::string> read_response_format(Fields& fields);

// The same in OpenAI's form: what belongs to a schema stands in json_schema; any text is nothing.
std::optional<std::string> read_openai_response_format(Fields& fields);

// The same as text.format of a response, where they stand in the format itself: the member "format"
// of `text`.
std::optional<std::string> read_text_format(Fields& text);

}  // namespace hostler
