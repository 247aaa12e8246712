// See runner/tools/search_backends.h.
#include "runner/tools/search_backends.h"

#include "lib/http/client_url.h"
#include "lib/http/request_target.h"
#include "lib/json.h"
#include "lib/utf8.h"
#include "runner/tools/backend_answer.h"

namespace hostler::runner {
namespace {

// Size of one result; twenty of them are some 20,000 tokens.
constexpr size_t title_chars_max = 300;
constexpr size_t content_chars_max = 4000;

std::string cut(std::string_view text, size_t chars_max) {
  std::string kept(text);
  cut_to_characters(kept, chars_max);
  return kept;
}

bool has_items(const Json& object, std::string_view name) {
  const Json* member = object.find(name);
  return member != nullptr && member->as_array() != nullptr && !member->as_array()->empty();
}

}  // namespace

http::HttpRequest search_request(const ToolProvider& provider, const SearchQuery& query) {
  http::HttpRequest request;
  request.guarded = provider.guarded;
  request.url = provider.base_url + "/search";
  request.headers.emplace_back("Accept", "application/json");
  if (provider.backend == Backend::beta) {
    request.url += "?q=" + http::percent_encoded(query.text) + "&format=json";
    return request;
  }
  request.method = "POST";
  request.headers.emplace_back("Authorization", "Bearer " + provider.api_key);
  request.headers.emplace_back("Content-Type", "application/json");
  JsonWriter body;
  body.begin_object().member("query", query.text).member("max_results", query.results_max);
  request.body = body.end_object().take();
  return request;
}

std::optional<std::vector<SearchResult>> read_search_answer(std::string_view body, bool truncated,
                                                            int64_t results_max) {
  std::optional<Json> answer = read_backend_json(body, truncated);
  if (!answer || !answer->is_object()) return std::nullopt;
  const Json* list = answer->find("results");
  if (list == nullptr || !list->is_array()) return std::nullopt;
  std::vector<SearchResult> results;
  for (const Json& item : *list->as_array()) {
    if (static_cast<int64_t>(results.size()) == results_max) break;
    std::string_view url = item.text_or("url");
    if (url.empty() || url.size() > http::url_bytes_max) continue;
    SearchResult result;
    result.title = cut(item.text_or("title"), title_chars_max);
    result.url = url;
    result.content = cut(item.text_or("content"), content_chars_max);
    results.push_back(std::move(result));
  }
  // SearXNG says 200 when all of its engines are dead.
  if (results.empty() && has_items(*answer, "unresponsive_engines")) return std::nullopt;
  return results;
}

}  // namespace hostler::runner
