// Reason phrase after the number in a status line (RFC 9110, section 15). nginx passes a program's
// `Status:` on unchanged. A line that ends with the number is invalid (RFC 9112, section 4), and
// some clients refuse to read such an answer.
#pragma once

#include <array>
#include <string_view>
#include <utility>

namespace hostler::http {

inline constexpr auto reasons = std::to_array<std::pair<int, std::string_view>>({
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {204, "No Content"},
    {303, "See Other"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {402, "Payment Required"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {409, "Conflict"},
    {410, "Gone"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {422, "Unprocessable Content"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
    {505, "HTTP Version Not Supported"},
});

constexpr std::string_view reason_of(int status) {
  for (const auto& [known, reason] : reasons) {
    if (known == status) return reason;
  }
  return status < 400 ? "Done" : "Error";
}

}  // namespace hostler::http
