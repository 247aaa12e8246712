// Pieces of a JSON text as they were written, byte for byte, because pinned or passed-on values
// must not be rewritten. Takes only text that parse_json() accepted before; pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hostler::runner {

// JSON of a stranger that is longer is read on the thread pool: megabytes of it would hold up
// everything else on the loop.
constexpr size_t read_at_once_bytes_max = 64 << 10;

// Whether it has no more values than anybody needs: read, each takes many times its bytes. Of any
// text.
bool has_few_values(std::string_view json);

// The value of an object's member, as a view into the text; nothing: no object, or no such member.
// name: compared with the member's name as it is decoded.
std::optional<std::string_view> raw_member(std::string_view json, std::string_view name);
// The elements of an array, in their order; none: it is no array.
std::vector<std::string_view> raw_elements(std::string_view json);

}  // namespace hostler::runner
