// Web pages: the first line is the content type, the rest the page. Whatever it is becomes bounded
// UTF-8 text without tags of its own making, within its time.
#include "lib/utf8.h"
#include "runner/tools/basic_fetch.h"
#include "runner/tools/html_text.h"
#include "runner/tools/page_charset.h"

#include "tests/fuzz/target.h"
#include "tests/fuzz/targets.h"

namespace hostler::fuzz {
namespace {

constexpr size_t text_bytes_max = 3000;
// libxml2 hands text out in pieces; the last one may pass the bound.
constexpr size_t text_bytes_slack = 16 * 1024;

void check_text(const std::string& title, const std::string& content) {
  require(is_utf8(title) && is_utf8(content), "a page becomes UTF-8");
  require(title.find_first_of("\r\n") == std::string::npos, "a title is one line");
  require(content.find('\0') == std::string::npos, "text holds no NUL");
}

}  // namespace

void html(std::string_view input) {
  std::string_view content_type = take_line(input);
  std::string utf8 = runner::page_to_utf8(input, content_type, true);
  require(is_utf8(utf8) && utf8.find('\0') == std::string::npos, "every page becomes UTF-8");
  std::string media_type = runner::media_type_of(content_type);
  require(media_type.find(';') == std::string::npos, "a media type has no parameters");
  runner::PageText text = runner::html_to_text(utf8, {text_bytes_max, 2000});
  check_text(text.title, text.content);
  require(text.content.size() <= text_bytes_max + text_bytes_slack, "a page's text is bounded");
  require(runner::page_request("https://example.org/").guarded, "a page is asked for guardedly");
  http::HttpHead head;
  head.status = 200;
  head.final_url = "https://example.org/";
  head.headers.emplace_back("content-type", content_type);
  std::optional<runner::FetchedPage> page = runner::read_page(head, input, false, text_bytes_max);
  if (page) check_text(page->title, page->content);
}

}  // namespace hostler::fuzz
