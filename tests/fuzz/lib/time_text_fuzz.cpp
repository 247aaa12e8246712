// RFC 3339: what is read and written again is the same moment; a number of eight bytes is written
// and read again.
#include "lib/time_text.h"

#include <cstring>

#include "tests/fuzz/target.h"
#include "tests/fuzz/targets.h"

namespace hostler::fuzz {
namespace {

// 0001-01-01T00:00:00Z and 9999-12-31T23:59:59.999Z.
constexpr int64_t min_ms = -62'135'596'800'000;
constexpr int64_t max_ms = 253'402'300'799'999;

void check_moment(int64_t unix_ms) {
  std::string written = rfc3339(unix_ms);
  require(written.size() == 24 && written.back() == 'Z', "written with milliseconds and Z");
  require(parse_rfc3339(written) == unix_ms, "a moment written and read is the same");
  std::optional<int64_t> day = parse_date(written.substr(0, 10));
  require(day && *day * 86'400'000 <= unix_ms && unix_ms < (*day + 1) * 86'400'000, "its day too");
}

}  // namespace

void time_text(std::string_view input) {
  std::optional<int64_t> read = parse_rfc3339(input);
  if (read) {
    require(*read >= min_ms && *read <= max_ms, "years are 0001 to 9999");
    check_moment(*read);
    require(parse_date(input.substr(0, 10)).has_value(), "a time begins with a date");
  }
  std::optional<int64_t> day = parse_date(input);
  require(!day || parse_rfc3339(std::string(input) + "T00:00:00Z") == *day * 86'400'000,
          "a date is its first moment");
  if (input.size() < 8) return;
  int64_t number = 0;
  std::memcpy(&number, input.data(), sizeof number);
  check_moment(min_ms + static_cast<int64_t>(static_cast<uint64_t>(number) %
                                             static_cast<uint64_t>(max_ms - min_ms + 1)));
}

}  // namespace hostler::fuzz
