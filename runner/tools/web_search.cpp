// See runner/tools/web_search.h.
#include "runner/tools/web_search.h"

#include <functional>
#include <memory>

#include "lib/config/live_settings.h"
#include "lib/loop/wait.h"
#include "runner/tools/arguments.h"
#include "runner/tools/backend_answer.h"
#include "runner/tools/search_backends.h"
#include "runner/tools/tool_admission.h"
#include "runner/tools/tool_provider.h"

namespace hostler::runner {
namespace {

constexpr CallPolicy policy{"tool.search_failed", "The search service", false};

SearchQuery read_query(const Json& arguments, std::string& fault) {
  constexpr size_t query_chars_max = 1000;
  constexpr WholeNumber results{.fallback = 5, .min = 1, .max = 20};
  SearchQuery query;
  query.text = read_text(arguments, "query", query_chars_max, fault);
  query.results_max = read_whole_number(arguments, "max_results", results, fault);
  return query;
}

std::string results_json(const std::vector<SearchResult>& results, bool is_truncated) {
  JsonWriter json;
  json.begin_object().key("results").begin_array();
  for (const SearchResult& result : results) {
    json.begin_object().member("title", result.title).member("url", result.url);
    json.member("content", result.content).end_object();
  }
  json.end_array();
  if (is_truncated) json.member("truncated", true);
  return json.end_object().take();
}

ToolOutcome outcome_of(const http::HttpAnswer& answer, int64_t results_max) {
  std::optional<std::vector<SearchResult>> results =
      read_search_answer(answer.body, answer.truncated, results_max);
  // A cut answer may have lost all results.
  bool is_cut_away = answer.truncated && results && results->empty();
  if (!results || is_cut_away) {
    return tool_failed("tool.search_failed", "The search service's answer cannot be read.");
  }
  ToolOutcome outcome;
  outcome.result = results_json(*results, answer.truncated);
  return outcome;
}

Task<ToolOutcome> search(ToolServices& services, ToolContext context, ToolProvider provider,
                         SearchQuery query) {
  http::HttpRequest request = search_request(provider, query);
  limit_call(request, services.settings.current()->integer("tool.search_timeout_ms"));
  http::HttpAnswer answer = co_await services.http.fetch(std::move(request));
  std::optional<ToolOutcome> failure = fault_of(answer, policy);
  if (failure) {
    log_tool_failure(context, provider.backend, *failure, answer);
    co_return *failure;
  }
  // Megabytes of JSON would hold up every other run of the loop.
  auto kept = std::make_shared<const http::HttpAnswer>(std::move(answer));
  std::function<ToolOutcome()> read = [kept, results_max = query.results_max] {
    return outcome_of(*kept, results_max);
  };
  ToolOutcome outcome = co_await loop::on_thread(services.loop, std::move(read));
  if (!outcome.error_code.empty()) {
    log_tool_failure(context, provider.backend, outcome, *kept);
  }
  co_return outcome;
}

}  // namespace

std::string web_search_fault(const Json& arguments) {
  std::string fault;
  read_query(arguments, fault);
  return fault;
}

Task<ToolOutcome> web_search(ToolServices& services, ToolContext context, Json arguments) {
  std::string fault;
  SearchQuery query = read_query(arguments, fault);
  std::optional<ToolProvider> provider =
      co_await resolve_tool_provider(services, context, "web_search");
  if (!provider) {
    co_return tool_failed("tool.not_configured", "web_search is not configured.");
  }
  ToolAdmission admission = co_await admit_call(services, context, *provider);
  if (admission.refusal) co_return *admission.refusal;
  ToolOutcome outcome =
      co_await search(services, std::move(context), *std::move(provider), std::move(query));
  outcome.cost = admission.cost;
  co_return outcome;
}

}  // namespace hostler::runner
