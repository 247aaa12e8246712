// Text as a gzip file (RFC 1952). Several one after the other are a gzip file too (section 2.2).
// The only owner of zlib; called by what sends exports.
#pragma once

#include <string>
#include <string_view>

namespace hostler {

// Takes some 20 ms a MiB: to be called on a thread. Throws std::bad_alloc when memory is short.
std::string gzip(std::string_view text);

}  // namespace hostler
