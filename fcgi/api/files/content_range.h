// Header fields of a file's bytes: which range a client wants (RFC 9110, section 14), and how the
// file is called when it is saved (RFC 6266).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "fcgi/http/request.h"

namespace hostler {

struct ByteRange {
  int64_t first = 0;
  int64_t last = 0;  // itself too
};

struct WantedRange {
  bool is_part = false;
  ByteRange range;
};

// One range, as Range and If-Range ask for it. All bytes for several ranges, and for a field that
// is not understood. Throws 416 for a range that begins after the end. bytes: of the file, at
// least 1.
WantedRange wanted_range(const Request& request, int64_t bytes, std::string_view sha256_hex);

std::string content_range(const ByteRange& range, int64_t bytes);
std::string attachment_header(std::string_view name);

}  // namespace hostler
