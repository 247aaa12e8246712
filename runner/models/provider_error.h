// Error text of a model provider, in any of the forms that compatible servers use, and the part
// that a client may see.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lib/json.h"

namespace hostler {

struct ProviderError {
  int status = 500;  // as HTTP would say it, also when it came inside a 200 stream
  std::string message;
  std::string code = {};   // of the error, or its type; empty: it has none
  std::string param = {};  // the member of the request that it names; empty: none
};

// Returns the error that a document or an event of a 200 answer contains, or nothing. An error is a
// member `error` with text, an object that calls itself an error, or one without an answer whose
// `message`, `detail` or `errors` have text; also within an array.
std::optional<ProviderError> read_provider_error(const Json& document);

// The words of a refusal's body: JSON in any form, plain text, or the title of a page. Without
// words the message is empty.
ProviderError read_refusal(std::string_view body);

// One line of at most 200 bytes without control characters and without secrets, because providers
// repeat what they were sent: the key, bearer tokens, queries and user names of addresses become
// four stars.
std::string safe_excerpt(std::string_view text, std::string_view api_key);

// JSON of a model server. What lib/json refuses for clients is mended here first: halves of
// surrogate pairs, \u0000 and bytes that are not UTF-8 become U+FFFD. Of more values than
// json_values_of_peer_max nothing is read.
std::optional<Json> parse_lenient_json(std::string_view text);

// The same for an event of a stream, whose text may go on in the next one: each half of a surrogate
// pair becomes its mark, the character half_mark_base + the half, which runner/models/half_pairs.h
// takes out again. has_halves: the text was mended, so it may hold marks.
std::optional<Json> parse_stream_json(std::string_view text, bool& has_halves);
constexpr unsigned half_mark_base = 0x100000;

}  // namespace hostler
