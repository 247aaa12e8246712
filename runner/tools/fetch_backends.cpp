// See runner/tools/fetch_backends.h.
#include "runner/tools/fetch_backends.h"

#include "lib/http/client_url.h"
#include "lib/json.h"
#include "lib/utf8.h"
#include "runner/tools/backend_answer.h"

namespace hostler::runner {
namespace {

constexpr size_t title_chars_max = 300;

// The address stands in the path as it is; only what a request line cannot hold is encoded.
std::string path_form(std::string_view url) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string out;
  for (char c : url) {
    unsigned char byte = static_cast<unsigned char>(c);
    if (byte > ' ' && byte < 0x7f) {
      out += c;
    } else {
      out += {'%', digits[byte >> 4], digits[byte & 15]};
    }
  }
  return out;
}

std::string text_or(const Json& object, std::string_view name, const std::string& fallback) {
  std::string_view text = object.text_or(name);
  return text.empty() ? fallback : std::string(text);
}

}  // namespace

http::HttpRequest reader_request(const ToolProvider& provider, const std::string& url) {
  http::HttpRequest request;
  request.guarded = provider.guarded;
  request.headers.emplace_back("Accept", "application/json");
  request.headers.emplace_back("Authorization", "Bearer " + provider.api_key);
  if (provider.backend == Backend::gamma) {
    request.url = provider.base_url + "/" + path_form(url);
    return request;
  }
  request.method = "POST";
  request.url = provider.base_url + "/v1/scrape";
  request.headers.emplace_back("Content-Type", "application/json");
  JsonWriter body;
  body.begin_object().member("url", url);
  body.key("formats").begin_array().text("markdown").end_array();
  request.body = body.member("onlyMainContent", true).end_object().take();
  return request;
}

std::optional<FetchedPage> read_reader_answer(Backend backend, std::string_view body,
                                              bool truncated, const std::string& url) {
  std::optional<Json> answer = read_backend_json(body, truncated);
  if (!answer || !answer->is_object()) return std::nullopt;
  const Json* payload = answer->find("data");
  if (payload == nullptr || !payload->is_object()) return std::nullopt;
  bool is_gamma = backend == Backend::gamma;
  const Json* content = payload->find(is_gamma ? "content" : "markdown");
  if (content == nullptr || !content->is_text()) return std::nullopt;
  FetchedPage page;
  page.content = *content->as_text();
  page.truncated = truncated;
  const Json none;
  const Json* metadata = is_gamma ? payload : payload->find("metadata");
  if (metadata == nullptr) metadata = &none;
  page.title = metadata->text_or("title");
  cut_to_characters(page.title, title_chars_max);
  page.url = text_or(*metadata, is_gamma ? "url" : "sourceURL", url);
  if (page.url.size() > http::url_bytes_max) page.url = url;
  return page;
}

}  // namespace hostler::runner
