// HTTP answers of the tools' back ends, whole or cut off by the first byte's parity: whatever they
// say becomes bounded UTF-8 or nothing. Whatever a model asks them is a request to their address.
#include "lib/http/client_url.h"
#include "lib/utf8.h"
#include "runner/tools/arguments.h"
#include "runner/tools/backend_answer.h"
#include "runner/tools/fetch_backends.h"
#include "runner/tools/search_backends.h"
#include "tests/fuzz/target.h"
#include "tests/fuzz/targets.h"

namespace hostler::fuzz {
namespace {

using namespace runner;

size_t characters(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

void check_page(Backend backend, std::string_view body, bool truncated) {
  std::optional<FetchedPage> page =
      read_reader_answer(backend, body, truncated, "https://example.org/");
  if (!page) return;
  require(!page->url.empty(), "a page has an address");
  require(characters(page->title) <= 300, "a title is bounded");
  require(is_utf8(page->title) && is_utf8(page->content), "a page is UTF-8");
  require(page->truncated == truncated, "what was cut says so");
}

void check_arguments(const Json& arguments) {
  std::string fault;
  std::string text = read_text(arguments, "query", 20, fault);
  require(!fault.empty() || (!text.empty() && characters(text) <= 20), "a text keeps its bounds");
  int64_t number = read_whole_number(arguments, "max_results", {5, 1, 20}, fault);
  require(number >= 1 && number <= 20, "a number keeps its bounds");
}

void check_status(std::string_view& input) {
  http::HttpAnswer answer;
  answer.head.status = static_cast<int>(take_byte(input)) * 3;
  if (take_byte(input) % 2 == 1) {
    answer.failure =
        http::HttpFailure{static_cast<http::HttpFailureKind>(take_byte(input) % 12), "why"};
  }
  CallPolicy policy{"tool.fetch_failed", "The page", take_byte(input) % 2 == 1};
  std::optional<ToolOutcome> fault = fault_of(answer, policy);
  bool is_good = !answer.failure && answer.head.status >= 200 && answer.head.status <= 299;
  require(fault.has_value() != is_good, "what is not 2xx is a fault");
  require(!fault || fault->error_code.starts_with("tool."), "a fault has a code");
  require(!fault || fault->error_message.find("why") == std::string::npos, "the cause stays here");
}

// The model's request goes to the provider's own host, in a URL and a body that can be read.
void check_requests(std::string_view input) {
  std::string asked(input);
  std::erase(asked, '\0');
  asked = utf8_lossy(asked);
  for (Backend backend : {Backend::alpha, Backend::beta, Backend::gamma, Backend::delta}) {
    ToolProvider provider{backend, "https://tools.example", "k", true};
    bool is_search = backend == Backend::alpha || backend == Backend::beta;
    http::HttpRequest request =
        is_search ? search_request(provider, {asked, 5}) : reader_request(provider, asked);
    limit_call(request, 1000);
    require(request.guarded && request.total_timeout_ms == 1000, "a request keeps its limits");
    require(request.body.empty() || parse_json_or_nothing(request.body), "a body is JSON");
    std::optional<http::HttpUrl> url = http::parse_http_url(request.url);
    bool is_long = request.url.size() > http::url_bytes_max;
    bool is_odd = asked.find('\\') != std::string::npos;
    require(url || is_long || is_odd, "a request has an address");
    require(!url || url->host == "tools.example", "and it is the provider's");
  }
}

}  // namespace

void tool_answer(std::string_view input) {
  check_status(input);
  check_requests(input);
  bool truncated = take_byte(input) % 2 == 1;
  std::optional<Json> json = read_backend_json(input, truncated);
  if (json) {
    require(parse_json_or_nothing(json->dump()).has_value(), "what was read can be written");
    check_arguments(*json);
  }
  auto results = read_search_answer(input, truncated, 3);
  if (results) {
    require(results->size() <= 3, "results are bounded");
    for (const SearchResult& result : *results) {
      require(!result.url.empty(), "a result has an address");
      require(characters(result.title) <= 300 && characters(result.content) <= 4000, "is bounded");
    }
  }
  check_page(Backend::gamma, input, truncated);
  check_page(Backend::delta, input, truncated);
  std::string text = utf8_lossy(input);
  bool was_cut = cut_to_characters(text, 10);
  require(characters(text) <= 10 && is_utf8(text), "a cut text ends with a character");
  require(was_cut == (characters(utf8_lossy(input)) > 10), "only a long text is cut");
}

}  // namespace hostler::fuzz
