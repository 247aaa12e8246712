// Heads of answers, a line each: fields have lower-case names and values without blanks around
// them, and the wait that a server asks for is bounded.
#include "lib/http/client.h"
#include "tests/fuzz/target.h"
#include "tests/fuzz/targets.h"

namespace hostler::fuzz {

void http_head(std::string_view input) {
  http::HttpHead head;
  size_t lines = 0;
  while (!input.empty()) {
    std::string_view line = take_line(input);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;  // the head's end, which the exchange sees
    head.take_line(line);
    ++lines;
    require(!line.starts_with("HTTP/") || head.headers.empty(), "a status line begins anew");
  }
  require(head.headers.size() <= lines, "a line is one field at most");
  for (const auto& [name, value] : head.headers) {
    require(std::none_of(name.begin(), name.end(), [](char c) { return c >= 'A' && c <= 'Z'; }),
            "names are in lower case");
    require(name.find(':') == std::string::npos, "a name ends before the colon");
    require(value.empty() || (value.front() != ' ' && value.back() != ' '), "no blanks around");
    require(head.header(name).data() != nullptr, "a field is found by its name");
  }
  std::optional<int64_t> wait_ms = head.retry_after_ms();
  require(!wait_ms || (*wait_ms >= 0 && *wait_ms <= 86'400'000), "a wait is at most a day");
}

}  // namespace hostler::fuzz
