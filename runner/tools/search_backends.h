// The wire forms of the two search back ends (contract section 5): alpha is Tavily's, beta is
// SearXNG's. Pure: requests and answers as data. Called by web_search.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/http/client.h"
#include "runner/tools/tool_provider.h"

namespace hostler::runner {

struct SearchQuery {
  std::string text;
  int64_t results_max = 5;  // 1 to 20
};

struct SearchResult {
  std::string title;
  std::string url;
  std::string content;
};

http::HttpRequest search_request(const ToolProvider& provider, const SearchQuery& query);

// The results that have an address, at most results_max, their texts cut to what a model can bear.
// Nothing: the answer cannot be read, or says that no engine behind the back end answered.
std::optional<std::vector<SearchResult>> read_search_answer(std::string_view body, bool truncated,
                                                            int64_t results_max);

}  // namespace hostler::runner
