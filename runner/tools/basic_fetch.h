// The page reader of our own, used only when the setting web_fetch.provider says basic. Pure:
// request and page as data. Called by web_fetch.
#pragma once

#include <optional>
#include <string>

#include "lib/http/client.h"
#include "runner/tools/fetch_backends.h"

namespace hostler::runner {

// Guarded, with at most five redirects, each checked again.
http::HttpRequest page_request(const std::string& url);

// The page as text: HTML as a reader sees it, other text as it is. Nothing: it is no text. Takes
// its time (a large page some 100 ms): not for a loop's thread. text_chars_max: more is not needed.
std::optional<FetchedPage> read_page(const http::HttpHead& head, std::string_view body,
                                     bool truncated, size_t text_chars_max);

}  // namespace hostler::runner
