// URLs, and where a Location (the second line) leads from them: what is taken is a plain http or
// https address whose host is checked as it is dialled, and its normal form reads the same.
#include "lib/http/client_url.h"

#include "lib/net/address_guard.h"
#include "tests/fuzz/target.h"
#include "tests/fuzz/targets.h"

namespace hostler::fuzz {
namespace {

void check_url(const http::HttpUrl& url) {
  require(url.scheme == "http" || url.scheme == "https", "http or https");
  require(url.port >= 1 && url.port <= 65535, "a port is one");
  require(!url.host.empty(), "a URL has a host");
  require(std::none_of(url.host.begin(), url.host.end(),
                       [](char c) { return (c >= 'A' && c <= 'Z') || c == '@' || c == '/'; }),
          "a host is a host in lower case");
  require(std::none_of(url.text.begin(), url.text.end(),
                       [](char c) { return static_cast<unsigned char>(c) <= ' ' || c == 0x7f; }),
          "no blank and no control character is sent");
  require(url.same_origin(url), "an origin is its own");
  // A host of digits and dots that is no dotted quad would be checked as a name and dialled as an
  // address by some resolvers.
  bool is_odd = !net::IpAddress::parse(url.host) && net::ends_in_number(url.host);
  std::optional<http::HttpUrl> again = http::parse_http_url(url.text);
  require(again.has_value() || is_odd, "the normal form is a URL");
  if (!again) return;
  require(again->host == url.host && again->port == url.port && again->scheme == url.scheme,
          "the normal form leads to the same place");
  require(again->has_user_info == url.has_user_info, "and says of itself the same");
}

}  // namespace

void url(std::string_view input) {
  std::string_view first = take_line(input);
  std::optional<http::HttpUrl> read = http::parse_http_url(first);
  if (!read) return;
  check_url(*read);
  std::optional<http::HttpUrl> next = http::resolve_http_url(*read, input);
  if (next) check_url(*next);
}

}  // namespace hostler::fuzz
