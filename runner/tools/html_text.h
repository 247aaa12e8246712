// A web page as readable text: what a reader would see, in order, a line a block. Called by the
// page reader of our own, on a thread. The only user of libxml2, whose HTML parser reads broken
// pages too. Never fetches anything a page names, never fails, and ends early rather than late on
// a page that is made to cost time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hostler::runner {

struct PageText {
  std::string title;       // on one line, at most 300 characters; empty: none
  std::string content;     // UTF-8
  bool truncated = false;  // the page had more: it passed text_bytes_max or time_max_ms
};

struct HtmlLimits {
  size_t text_bytes_max = size_t{5} << 20;
  int64_t time_max_ms = 2000;
};

// html: UTF-8; what the page itself says of its encoding is not heard.
PageText html_to_text(std::string_view html, HtmlLimits limits = {});

}  // namespace hostler::runner
