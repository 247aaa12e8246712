// See runner/tools/basic_fetch.h.
#include "runner/tools/basic_fetch.h"

#include <algorithm>

#include "runner/tools/html_text.h"
#include "runner/tools/page_charset.h"

namespace hostler::runner {
namespace {

enum class PageForm { none, html, text };

// A page without a type is looked at: binary forms hold NUL near their beginning.
PageForm form_by_sight(std::string_view body) {
  std::string_view head = body.substr(0, 1024);
  if (head.find('\0') != std::string_view::npos) return PageForm::none;
  size_t first = head.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  bool is_html = first != std::string_view::npos && head[first] == '<';
  return is_html ? PageForm::html : PageForm::text;
}

PageForm form_of(const std::string& media_type, std::string_view body) {
  if (media_type.empty()) return form_by_sight(body);
  if (media_type == "text/html" || media_type == "application/xhtml+xml") return PageForm::html;
  bool is_text = media_type.starts_with("text/") || media_type == "application/json" ||
                 media_type.ends_with("+json") || media_type == "application/xml" ||
                 media_type.ends_with("+xml");
  return is_text && media_type != "image/svg+xml" ? PageForm::text : PageForm::none;
}

}  // namespace

http::HttpRequest page_request(const std::string& url) {
  constexpr int redirects_max = 5;
  http::HttpRequest request;
  request.url = url;
  request.guarded = true;
  request.follow_redirects_max = redirects_max;
  request.headers.emplace_back("Accept",
                               "text/html, application/xhtml+xml, text/*;q=0.9, "
                               "application/json;q=0.9, */*;q=0.1");
  return request;
}

std::optional<FetchedPage> read_page(const http::HttpHead& head, std::string_view body,
                                     bool truncated, size_t text_chars_max) {
  constexpr size_t char_bytes_max = 4;
  std::string_view content_type = head.header("content-type");
  PageForm form = form_of(media_type_of(content_type), body);
  if (form == PageForm::none) return std::nullopt;
  FetchedPage page;
  page.url = head.final_url;
  page.content = page_to_utf8(body, content_type, form == PageForm::html);
  page.truncated = truncated;
  if (form == PageForm::text) return page;
  HtmlLimits limits;
  limits.text_bytes_max = text_chars_max * char_bytes_max;
  PageText text = html_to_text(page.content, limits);
  page.title = std::move(text.title);
  page.content = std::move(text.content);
  page.truncated = truncated || text.truncated;
  return page;
}

}  // namespace hostler::runner
