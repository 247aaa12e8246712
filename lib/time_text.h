// Times as clients write and read them: RFC 3339, UTC, milliseconds, Z (contract section 1).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hostler {

// Milliseconds since 1970-01-01T00:00:00Z, by this machine's clock: for logs, file names, and
// to refuse what a client means for the future. What is stored or compared is the database's time.
int64_t unix_now_ms();
std::string rfc3339(int64_t unix_ms);
std::string rfc3339_now();

// Any offset, any fraction (cut to milliseconds); years 0001 to 9999, in UTC too; no leap second.
// Nothing when the text has another form or names a day that does not exist.
std::optional<int64_t> parse_rfc3339(std::string_view text);
// YYYY-MM-DD as a count of days since 1970-01-01, or nothing.
std::optional<int64_t> parse_date(std::string_view text);

}  // namespace hostler
