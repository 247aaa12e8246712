// RFC 3339, read and written without locale or time zone; see lib/time_text.h.
#include "lib/time_text.h"

#include <chrono>

#include <fmt/format.h>

namespace hostler {
namespace {

using namespace std::chrono;

// 0001-01-01T00:00:00Z and 9999-12-31T23:59:59.999Z: an offset may lead out of the years that have
// four digits.
constexpr int64_t first_ms = -62'135'596'800'000;
constexpr int64_t last_ms = 253'402'300'799'999;

// The digits at [at, at + count) as a number, or -1.
int digits(std::string_view text, size_t at, size_t count) {
  if (at + count > text.size()) return -1;
  int value = 0;
  for (size_t i = at; i < at + count; ++i) {
    if (text[i] < '0' || text[i] > '9') return -1;
    value = value * 10 + (text[i] - '0');
  }
  return value;
}

}  // namespace

int64_t unix_now_ms() {
  return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
}

std::string rfc3339(int64_t unix_ms) {
  sys_time<milliseconds> when{milliseconds{unix_ms}};
  sys_days day = floor<days>(when);
  year_month_day date{day};
  auto of_day = static_cast<unsigned>((when - day).count());
  int years = static_cast<int>(date.year());
  if (years < 0 || years > 9999) {
    hh_mm_ss<milliseconds> clock{when - day};
    return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", years,
                       static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                       clock.hours().count(), clock.minutes().count(), clock.seconds().count(),
                       clock.subseconds().count());
  }
  // Lists write thousands a second.
  std::string text = "0000-00-00T00:00:00.000Z";
  auto put = [&text](size_t end, unsigned value) {
    for (; value > 0; value /= 10) text[--end] = static_cast<char>('0' + value % 10);
  };
  put(4, static_cast<unsigned>(years));
  put(7, static_cast<unsigned>(date.month()));
  put(10, static_cast<unsigned>(date.day()));
  put(13, of_day / 3'600'000);
  put(16, of_day / 60'000 % 60);
  put(19, of_day / 1000 % 60);
  put(23, of_day % 1000);
  return text;
}

std::string rfc3339_now() { return rfc3339(unix_now_ms()); }

std::optional<int64_t> parse_date(std::string_view text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return std::nullopt;
  int y = digits(text, 0, 4);
  int m = digits(text, 5, 2);
  int d = digits(text, 8, 2);
  if (y < 1 || m < 1 || d < 1) return std::nullopt;
  year_month_day date{year{y}, month{static_cast<unsigned>(m)}, day{static_cast<unsigned>(d)}};
  if (!date.ok()) return std::nullopt;
  return sys_days{date}.time_since_epoch().count();
}

std::optional<int64_t> parse_rfc3339(std::string_view text) {
  if (text.size() < 20) return std::nullopt;
  std::optional<int64_t> day = parse_date(text.substr(0, 10));
  int hour = digits(text, 11, 2);
  int minute = digits(text, 14, 2);
  int second = digits(text, 17, 2);
  char separator = text[10];
  bool separated = (separator == 'T' || separator == 't' || separator == ' ') && text[13] == ':' &&
                   text[16] == ':';
  if (!day || !separated || hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 ||
      second > 59) {
    return std::nullopt;
  }
  size_t at = 19;
  int64_t ms = 0;
  if (text[at] == '.') {
    size_t first = ++at;
    int64_t scale = 100;
    while (at < text.size() && text[at] >= '0' && text[at] <= '9') {
      ms += scale * (text[at] - '0');
      scale /= 10;
      ++at;
    }
    if (at == first || at - first > 9) return std::nullopt;
  }
  if (at >= text.size()) return std::nullopt;
  int64_t offset_minutes = 0;
  if (text[at] == 'Z' || text[at] == 'z') {
    ++at;
  } else if (text[at] == '+' || text[at] == '-') {
    int offset_hour = digits(text, at + 1, 2);
    int offset_minute = digits(text, at + 4, 2);
    if (at + 6 != text.size() || text[at + 3] != ':' || offset_hour < 0 || offset_hour > 23 ||
        offset_minute < 0 || offset_minute > 59) {
      return std::nullopt;
    }
    offset_minutes = offset_hour * 60 + offset_minute;
    if (text[at] == '-') offset_minutes = -offset_minutes;
    at += 6;
  } else {
    return std::nullopt;
  }
  if (at != text.size()) return std::nullopt;
  int64_t unix_ms =
      ((*day * 24 + hour) * 60 + minute - offset_minutes) * 60'000 + second * 1000 + ms;
  if (unix_ms < first_ms || unix_ms > last_ms) return std::nullopt;
  return unix_ms;
}

}  // namespace hostler
