// What a model provider says when it fails, in any of the forms that compatible servers use, and
// what may be told of it to a client.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lib/json.h"

namespace hostler {

struct ProviderError {
  int status = 500;  // as HTTP would say it, also when it came inside a 200 stream
  std::string message;
};

// The error that the document is, or nothing when it is none.
std::optional<ProviderError> read_provider_error(const Json& document);

// One line of at most 200 bytes without control characters and without the key: providers repeat
// what they were sent.
std::string safe_excerpt(std::string_view text, std::string_view api_key);

// JSON of a model server. What lib/json refuses for clients is mended here first: halves of
// surrogate pairs, \u0000 and bytes that are not UTF-8 become U+FFFD. Of more values than
// json_values_of_peer_max nothing is read.
std::optional<Json> parse_lenient_json(std::string_view text);

}  // namespace hostler
