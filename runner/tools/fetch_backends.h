// The wire forms of the two page readers (contract section 5): gamma is Jina Reader's, delta is
// Firecrawl's. Pure: requests and answers as data. Called by web_fetch.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lib/http/client.h"
#include "runner/tools/tool_provider.h"

namespace hostler::runner {

struct FetchedPage {
  std::string url;  // where the page is in the end
  std::string title;
  std::string content;
  bool truncated = false;
};

// url: as parse_http_url normalized and web_fetch checked it; what is checked is what is sent.
http::HttpRequest reader_request(const ToolProvider& provider, const std::string& url);

// Returns nothing if the answer cannot be read, or reports a failure.
std::optional<FetchedPage> read_reader_answer(Backend backend, std::string_view body,
                                              bool truncated, const std::string& url);

}  // namespace hostler::runner
