// Text of a tool's result for a model. Results are stored and shown as JSON. A model reads the text
// itself, without quotation marks and escapes.
#pragma once

#include <string>
#include <string_view>

namespace hostler::runner {

// json: a stored result, JSON text. A string gives its characters, all else the JSON as it stands.
std::string words_of_result(std::string_view json);

}  // namespace hostler::runner
