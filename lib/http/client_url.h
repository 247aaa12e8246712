// URLs as the HTTP client reads them: one parser for what is checked and what is dialled.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace hostler::http {

constexpr size_t url_bytes_max = 8192;

struct HttpUrl {
  std::string text;    // normalized, without the fragment
  std::string scheme;  // http or https
  std::string host;    // lower case; an IPv6 literal without brackets
  int port = 0;        // the scheme's own when none is written
  bool has_user_info = false;
  bool has_query = false;
  bool has_fragment = false;

  bool same_origin(const HttpUrl& other) const {
    return scheme == other.scheme && host == other.host && port == other.port;
  }
};

// An absolute http or https URL with a host, or nothing. Numeric hosts in odd forms (decimal,
// octal, hexadecimal) come out as the dotted address they mean.
std::optional<HttpUrl> parse_http_url(std::string_view text);
// The target of a Location field, seen from the URL that answered with it.
std::optional<HttpUrl> resolve_http_url(const HttpUrl& from, std::string_view location);

}  // namespace hostler::http
