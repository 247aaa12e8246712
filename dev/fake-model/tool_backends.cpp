// The four back ends of tool_backends.h, each in the form of the service it stands for: Tavily,
// SearXNG, Jina Reader, Firecrawl.
#include "dev/fake-model/tool_backends.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

#include "dev/fake-model/delayed_answer.h"
#include "lib/ascii.h"
#include "lib/json.h"

namespace hostler::fake_model {
namespace {

constexpr size_t huge_bytes = 6 * 1024 * 1024;
constexpr int64_t results_max = 20;
constexpr int64_t slow_ms_max = 600'000;

struct Reply {
  int status = 200;
  std::string body;
  std::string content_type = "application/json";
};

// Any key is taken but none, and one that begins with "bad".
bool has_key(const HttpRequest& request) {
  std::optional<std::string_view> given = request.field("authorization");
  return given && given->starts_with("Bearer ") && given->size() > 7 &&
         !given->substr(7).starts_with("bad");
}

std::string content_about(std::string_view topic, const QueryWish& wish) {
  std::string text = "What is known about " + std::string(topic) +
                     ": it is made up, and it is always the same. Größe, 世界, 😀.";
  if (wish.huge) {
    std::string line = "\n\nMore about " + std::string(topic.substr(0, 200)) + ", in a long text.";
    text.reserve(huge_bytes + line.size());
    while (text.size() < huge_bytes) text += line;
  }
  return text;
}

// The query in lower case, with '-' for what a path does not take as it is.
std::string slug_of(std::string_view query) {
  std::string slug;
  for (char c : query.substr(0, 40)) slug += ascii::is_letter_or_digit(c) ? ascii::lower(c) : '-';
  return slug;
}

void write_results(JsonWriter& writer, std::string_view query, int64_t count,
                   const QueryWish& wish) {
  writer.key("results").begin_array();
  int64_t shown = wish.empty ? 0 : wish.huge ? 1 : count;
  for (int64_t i = 1; i <= shown; ++i) {
    std::string number = std::to_string(i);
    writer.begin_object();
    writer.member("title", "Result " + number + " for " + std::string(query));
    writer.member("url", "https://example.org/" + slug_of(query) + "/" + number);
    writer.member("content", content_about(query, wish));
    writer.member("score", 1.0 / static_cast<double>(i)).member("engine", "fake-model");
    writer.end_object();
  }
  writer.end_array();
}

std::string detail(std::string_view message) {
  JsonWriter writer;
  writer.begin_object().key("detail").begin_object().member("error", message);
  return writer.end_object().end_object().take();
}

std::string failure(std::string_view message) {
  JsonWriter writer;
  return writer.begin_object()
      .member("success", false)
      .member("error", message)
      .end_object()
      .take();
}

Reply ask_alpha(const HttpRequest& request, QueryWish& wish) {
  if (request.path != "/alpha/search") return {404, detail("Not Found")};
  if (request.method != "POST") return {405, detail("Method Not Allowed")};
  if (!has_key(request)) return {401, detail("Unauthorized: missing or invalid API key.")};
  std::optional<Json> body = parse_json_or_nothing(request.body);
  std::string query(body ? body->text_or("query") : "");
  if (query.empty()) return {400, detail("Query is missing.")};
  const Json* wanted = body->find("max_results");
  int64_t count = body->integer_or("max_results", 5);
  if ((wanted != nullptr && !wanted->is_integer()) || count < 0 || count > results_max) {
    return {400, detail("max_results must be a whole number from 0 to 20.")};
  }
  wish = wish_of(query);
  JsonWriter writer;
  writer.begin_object().member("query", query).key("follow_up_questions").null();
  writer.key("answer").null().key("images").begin_array().end_array();
  write_results(writer, query, count, wish);
  writer.member("response_time", 0.01).end_object();
  return {200, writer.take()};
}

Reply ask_beta(const HttpRequest& request, QueryWish& wish) {
  if (request.path != "/beta/search") return {404, "not found\n", "text/plain"};
  if (request.method != "GET") return {405, "GET only\n", "text/plain"};
  std::string query = query_value(request.query, "q").value_or("");
  if (query.empty()) return {400, "No query\n", "text/plain"};
  if (query_value(request.query, "format") != "json") return {403, "Forbidden\n", "text/plain"};
  wish = wish_of(query);
  JsonWriter writer;
  writer.begin_object().member("query", query).member("number_of_results", 0);
  write_results(writer, query, 10, wish);
  for (std::string_view name : {"answers", "corrections", "infoboxes", "suggestions"}) {
    writer.key(name).begin_array().end_array();
  }
  writer.key("unresponsive_engines").begin_array().end_array().end_object();
  return {200, writer.take()};
}

Reply gamma_failure(int status, std::string_view name, std::string_view message) {
  JsonWriter writer;
  writer.begin_object().key("data").null().member("code", status).member("name", name);
  writer.member("status", status * 100).member("message", message).end_object();
  return {status, writer.take()};
}

Reply ask_gamma(const HttpRequest& request, QueryWish& wish) {
  if (request.method != "GET") return gamma_failure(405, "MethodNotAllowed", "GET only");
  if (!has_key(request)) {
    return gamma_failure(401, "AuthenticationFailedError", "Invalid API key");
  }
  std::string_view rest =
      std::string_view(request.target).substr(std::string_view("/gamma").size());
  rest.remove_prefix(rest.starts_with('/') ? 1 : 0);
  std::string url = rest.starts_with("http") && rest.find("://") != std::string_view::npos
                        ? std::string(rest)
                        : percent_decoded(rest);
  if (!url.starts_with("http://") && !url.starts_with("https://")) {
    return gamma_failure(400, "ParamValidationError", "Invalid URL");
  }
  wish = wish_of(percent_decoded(url));
  std::string content = content_about(url, wish);
  if (request.field("accept").value_or("").find("application/json") == std::string_view::npos) {
    return {200, "Title: Page\n\nURL Source: " + url + "\n\nMarkdown Content:\n" + content,
            "text/plain; charset=utf-8"};
  }
  JsonWriter writer;
  writer.begin_object().member("code", 200).member("status", 20000).key("data").begin_object();
  writer.member("title", "The page at " + url).member("description", "");
  writer.member("url", url).member("content", wish.empty ? "" : content);
  writer.key("usage").begin_object().member("tokens", static_cast<int64_t>(content.size() / 4));
  writer.end_object().end_object().end_object();
  return {200, writer.take()};
}

Reply ask_delta(const HttpRequest& request, QueryWish& wish) {
  if (request.path != "/delta/v1/scrape") return {404, failure("Not Found")};
  if (request.method != "POST") return {405, failure("Method Not Allowed")};
  if (!has_key(request)) return {401, failure("Unauthorized: Invalid token")};
  std::optional<Json> body = parse_json_or_nothing(request.body);
  std::string url(body ? body->text_or("url") : "");
  if (!url.starts_with("http://") && !url.starts_with("https://")) {
    return {400, failure("Bad Request: url must be a valid URL")};
  }
  const Json* formats = body->find("formats");
  bool wants_markdown = formats == nullptr;
  if (formats != nullptr && formats->is_array()) {
    for (const Json& format : *formats->as_array()) {
      wants_markdown = wants_markdown || (format.is_text() && *format.as_text() == "markdown");
    }
  }
  if (!wants_markdown) return {400, failure("Bad Request: only the format markdown is known")};
  wish = wish_of(percent_decoded(url));
  JsonWriter writer;
  writer.begin_object().member("success", true).key("data").begin_object();
  writer.member("markdown", wish.empty ? "" : "# The page\n\n" + content_about(url, wish));
  writer.key("metadata").begin_object().member("title", "The page at " + url);
  writer.member("sourceURL", url).member("statusCode", 200).end_object().end_object().end_object();
  return {200, writer.take()};
}

// The number behind the word, which may be joined by '-' instead of a space.
std::optional<int64_t> number_after(std::string_view text, std::string_view word) {
  for (size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    std::string_view rest = text.substr(at + word.size());
    if (rest.size() < 2 || (rest[0] != ' ' && rest[0] != '-')) continue;
    int64_t number = 0;
    auto [end, fault] = std::from_chars(rest.data() + 1, rest.data() + rest.size(), number);
    if (fault == std::errc() && number >= 0) return number;
  }
  return std::nullopt;
}

}  // namespace

QueryWish wish_of(std::string_view query) {
  auto has = [&](std::string_view words) {
    std::string joined(words);
    std::replace(joined.begin(), joined.end(), ' ', '-');
    return query.find(words) != std::string_view::npos ||
           query.find(joined) != std::string_view::npos;
  };
  QueryWish wish;
  int64_t status = number_after(query, "fail").value_or(200);
  if (status >= 400 && status <= 599) wish.status = static_cast<int>(status);
  wish.delay_ms = std::min(number_after(query, "slow").value_or(0), slow_ms_max);
  wish.huge = has("huge");
  wish.bad_json = has("bad json");
  wish.empty = has("no results");
  return wish;
}

bool is_tool_path(std::string_view path) {
  for (std::string_view prefix : {"/alpha", "/beta", "/gamma", "/delta"}) {
    if (path.starts_with(prefix) && (path.size() == prefix.size() || path[prefix.size()] == '/')) {
      return true;
    }
  }
  return false;
}

std::unique_ptr<Work> answer_tool(Wheel& wheel, Exchange& exchange, const HttpRequest& request) {
  QueryWish wish;
  Reply reply;
  switch (request.path[1]) {
    case 'a':
      reply = ask_alpha(request, wish);
      break;
    case 'b':
      reply = ask_beta(request, wish);
      break;
    case 'g':
      reply = ask_gamma(request, wish);
      break;
    default:
      reply = ask_delta(request, wish);
      break;
  }
  if (wish.status != 200) {
    reply = {wish.status, failure("The query asks for status " + std::to_string(wish.status))};
  }
  if (wish.bad_json) reply.body.resize(reply.body.size() / 2);
  AnswerHead head{reply.status, reply.content_type, {}};
  return answer_after(wheel, exchange, std::move(head), std::move(reply.body), wish.delay_ms);
}

std::string_view tools_help() {
  return R"(Tool back ends (any bearer key but one that begins with "bad"; beta needs none)
  POST /alpha/search       Tavily's form
  GET  /beta/search?q=&format=json   SearXNG's form
  GET  /gamma/{url}        Jina Reader's form
  POST /delta/v1/scrape    Firecrawl's form
  Words in query or address: "fail 503", "slow 3000" (ms), "huge" (6 MiB), "bad json",
  "no results"; in an address with '-': https://example.org/fail-503.
)";
}

}  // namespace hostler::fake_model
