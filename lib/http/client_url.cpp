// The curl URL parser behind HttpUrl. See lib/http/client_url.h.
#include "lib/http/client_url.h"

#include <curl/curl.h>

#include <algorithm>
#include <charconv>
#include <memory>

#include "lib/ascii.h"

namespace hostler::http {
namespace {

struct UrlCloser {
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
};
using UrlOwner = std::unique_ptr<CURLU, UrlCloser>;

std::optional<std::string> part_of(CURLU* url, CURLUPart part, unsigned flags = 0) {
  char* text = nullptr;
  if (curl_url_get(url, part, &text, flags) != CURLUE_OK) return std::nullopt;
  std::string value(text);
  curl_free(text);
  return value;
}

bool is_readable(std::string_view text) {
  return text.size() <= url_bytes_max && std::none_of(text.begin(), text.end(), [](char c) {
           return static_cast<unsigned char>(c) <= ' ' || c == 0x7f || c == '\\';
         });
}

// Where the text leads when it is read once more.
std::optional<std::string> host_of(const std::string& text) {
  UrlOwner url(curl_url());
  if (curl_url_set(url.get(), CURLUPART_URL, text.c_str(), 0) != CURLUE_OK) return std::nullopt;
  return part_of(url.get(), CURLUPART_HOST);
}

std::optional<HttpUrl> read_parts(CURLU* url) {
  std::optional<std::string> scheme = part_of(url, CURLUPART_SCHEME);
  std::optional<std::string> host = part_of(url, CURLUPART_HOST);
  std::optional<std::string> port = part_of(url, CURLUPART_PORT, CURLU_DEFAULT_PORT);
  if (!scheme || !host || !port || host->empty()) return std::nullopt;
  if (*scheme != "http" && *scheme != "https") return std::nullopt;
  HttpUrl result;
  result.has_user_info = part_of(url, CURLUPART_USER) || part_of(url, CURLUPART_PASSWORD);
  result.has_query = part_of(url, CURLUPART_QUERY).has_value();
  result.has_fragment = part_of(url, CURLUPART_FRAGMENT).has_value();
  curl_url_set(url, CURLUPART_FRAGMENT, nullptr, 0);
  result.text = part_of(url, CURLUPART_URL).value_or("");
  // A host in percent escapes may be another once they are read: %35 is 5, and 5 is 0.0.0.5.
  if (host_of(result.text) != host) return std::nullopt;
  result.scheme = std::move(*scheme);
  result.host = ascii::lower_case(*host);
  if (result.host.starts_with('[')) result.host = result.host.substr(1, result.host.size() - 2);
  // A zone names one of our own interfaces.
  if (part_of(url, CURLUPART_ZONEID)) return std::nullopt;
  std::from_chars(port->data(), port->data() + port->size(), result.port);
  if (result.port < 1 || result.port > 65535) return std::nullopt;
  // Percent escapes of a host are decoded: what stands behind them may be no host.
  if (!is_readable(result.host) || !is_readable(result.text)) return std::nullopt;
  return result;
}

// curl also reads http:/host and http:///host; nobody means them.
bool has_two_slashes(std::string_view text) {
  size_t slashes = text.find("://");
  return slashes != std::string_view::npos && slashes <= 5 &&
         !text.substr(slashes + 3).starts_with('/');
}

}  // namespace

std::optional<HttpUrl> parse_http_url(std::string_view text) {
  if (!is_readable(text) || !has_two_slashes(text)) return std::nullopt;
  UrlOwner url(curl_url());
  if (curl_url_set(url.get(), CURLUPART_URL, std::string(text).c_str(), 0) != CURLUE_OK) {
    return std::nullopt;
  }
  std::optional<HttpUrl> result = read_parts(url.get());
  // curl reports none if the text ends at the #.
  if (result) result->has_fragment = text.find('#') != std::string_view::npos;
  return result;
}

std::optional<HttpUrl> resolve_http_url(const HttpUrl& from, std::string_view location) {
  if (!is_readable(location) || location.empty()) return std::nullopt;
  UrlOwner url(curl_url());
  if (curl_url_set(url.get(), CURLUPART_URL, from.text.c_str(), 0) != CURLUE_OK ||
      curl_url_set(url.get(), CURLUPART_URL, std::string(location).c_str(), 0) != CURLUE_OK) {
    return std::nullopt;
  }
  return read_parts(url.get());
}

}  // namespace hostler::http
