// See runner/tools/web_fetch.h.
#include "runner/tools/web_fetch.h"

#include <algorithm>
#include <functional>
#include <memory>

#include "lib/config/live_settings.h"
#include "lib/loop/wait.h"
#include "lib/utf8.h"
#include "runner/tools/arguments.h"
#include "runner/tools/backend_answer.h"
#include "runner/tools/basic_fetch.h"
#include "runner/tools/fetch_backends.h"
#include "runner/tools/target_check.h"
#include "runner/tools/tool_admission.h"
#include "runner/tools/tool_provider.h"

namespace hostler::runner {
namespace {

constexpr int64_t lookup_limit_max_ms = 3000;

struct FetchWish {
  std::string url;
  int64_t chars_max = 20'000;
};

FetchWish read_wish(const Json& arguments, std::string& fault) {
  // A run keeps every page it fetched in its conversation: about 50,000 tokens at most for one.
  constexpr WholeNumber chars{.fallback = 20'000, .min = 1, .max = 200'000};
  FetchWish wish;
  wish.url = read_text(arguments, "url", http::url_bytes_max, fault);
  wish.chars_max = read_whole_number(arguments, "max_chars", chars, fault);
  return wish;
}

std::string page_json(const FetchedPage& page) {
  JsonWriter json;
  json.begin_object().member("url", page.url).member("title", page.title);
  json.member("content", page.content).member("truncated", page.truncated);
  return json.end_object().take();
}

// Converts an answer without fault, on a thread, because pages can be large.
ToolOutcome outcome_of(Backend backend, const http::HttpAnswer& answer, const FetchWish& wish) {
  size_t chars_max = static_cast<size_t>(wish.chars_max);
  std::optional<FetchedPage> page =
      backend == Backend::basic
          ? read_page(answer.head, answer.body, answer.truncated, chars_max)
          : read_reader_answer(backend, answer.body, answer.truncated, wish.url);
  if (!page) {
    return tool_failed("tool.fetch_failed", backend == Backend::basic
                                                ? "The page is not text."
                                                : "The page reader's answer cannot be read.");
  }
  page->truncated = cut_to_characters(page->content, chars_max) || page->truncated;
  ToolOutcome outcome;
  outcome.result = page_json(*page);
  return outcome;
}

net::CidrList allowed_networks(const config::Settings& settings) {
  return net::CidrList::parse(settings.strings("outbound.allow_cidrs")).value_or(net::CidrList());
}

// The wait for a look-up is part of the fetch's time.
Task<std::optional<std::string>> checked_target(ToolServices& services, ToolContext context,
                                                std::string url, int64_t due_ms) {
  ToolPermits::Permit permit =
      co_await services.look_ups.take(std::move(context.org_id), std::move(context.user_id));
  auto kept = std::make_shared<ToolPermits::Permit>(std::move(permit));
  int64_t rest_ms = std::max<int64_t>(due_ms - services.loop.now_ms(), 1);
  net::CidrList allowed = allowed_networks(*services.settings.current());
  std::optional<std::string> target =
      co_await check_target(services.loop, std::move(url), std::move(allowed),
                            std::min(rest_ms, lookup_limit_max_ms), std::move(kept));
  co_return target;
}

Task<ToolOutcome> read_page_at(ToolServices& services, ToolContext context, ToolProvider provider,
                               FetchWish wish, int64_t limit_ms) {
  bool is_basic = provider.backend == Backend::basic;
  http::HttpRequest request =
      is_basic ? page_request(wish.url) : reader_request(provider, wish.url);
  limit_call(request, limit_ms);
  http::HttpAnswer answer = co_await services.http.fetch(std::move(request));
  CallPolicy policy{"tool.fetch_failed", is_basic ? "The page" : "The page reader", is_basic};
  std::optional<ToolOutcome> failure = fault_of(answer, policy);
  if (failure) {
    log_tool_failure(context, provider.backend, *failure, answer);
    co_return *failure;
  }
  auto kept = std::make_shared<const http::HttpAnswer>(std::move(answer));
  std::function<ToolOutcome()> read = [kept, wish, backend = provider.backend] {
    return outcome_of(backend, *kept, wish);
  };
  ToolOutcome outcome = co_await loop::on_thread(services.loop, std::move(read));
  if (!outcome.error_code.empty()) {
    log_tool_failure(context, provider.backend, outcome, *kept);
  }
  co_return outcome;
}

}  // namespace

std::string web_fetch_fault(const Json& arguments) {
  std::string fault;
  read_wish(arguments, fault);
  return fault;
}

Task<ToolOutcome> web_fetch(ToolServices& services, ToolContext context, Json arguments) {
  std::string fault;
  FetchWish wish = read_wish(arguments, fault);
  std::optional<ToolProvider> provider =
      co_await resolve_tool_provider(services, context, "web_fetch");
  if (!provider) co_return tool_failed("tool.not_configured", "web_fetch is not configured.");

  std::shared_ptr<const config::Settings> settings = services.settings.current();
  int64_t due_ms = services.loop.now_ms() + settings->integer("tool.fetch_timeout_ms");
  bool is_basic = provider->backend == Backend::basic;
  if (!is_basic) {
    std::optional<std::string> target =
        co_await checked_target(services, context, wish.url, due_ms);
    if (!target) co_return tool_failed("tool.url_denied", "This address may not be opened.");
    wish.url = std::move(*target);
  }
  ToolAdmission admission = co_await admit_call(services, context, *provider);
  if (admission.refusal) co_return *admission.refusal;
  int64_t rest_ms = std::max<int64_t>(due_ms - services.loop.now_ms(), 1);
  ToolOutcome outcome = co_await read_page_at(services, std::move(context), *std::move(provider),
                                              std::move(wish), rest_ms);
  outcome.cost = admission.cost;
  co_return outcome;
}

}  // namespace hostler::runner
