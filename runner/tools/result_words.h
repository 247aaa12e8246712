// What a model reads of a tool's result. Results are stored and shown as JSON; a model reads a text
// as it is, without quotation marks and escapes.
#pragma once

#include <string>
#include <string_view>

namespace hostler::runner {

// json: a stored result, JSON text. A string gives its characters, all else the JSON as it stands.
std::string words_of_result(std::string_view json);

}  // namespace hostler::runner
