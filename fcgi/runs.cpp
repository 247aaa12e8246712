// Runs: made here, executed by the daemon, which hears of them by a bell. Statements:
// sql/queries/runs.sql.
#include "fcgi/handlers.h"
#include "fcgi/input.h"
#include "fcgi/services.h"
#include "queries.h"

namespace hostler {
namespace {

constexpr int64_t queued_runs_max = 100;  // of an organization (contract section 11, runs)

// persona_key, or persona_key@version.
bool is_persona_id(std::string_view text) {
  auto is_word = [](std::string_view word, size_t most) {
    if (word.empty() || word.size() > most) return false;
    for (char c : word) {
      bool fits = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '.' || c == '_' || c == '-';
      if (!fits) return false;
    }
    return true;
  };
  size_t at = text.find('@');
  if (at == std::string_view::npos) return is_word(text, 64);
  return is_word(text.substr(0, at), 64) && is_word(text.substr(at + 1), 32);
}

// An empty persona_id means the default (description, 4.9).
std::optional<std::string> read_persona_id(Fields& fields) {
  std::optional<std::string> persona_id = fields.optional_text("persona_id", {.most = 97});
  if (!persona_id || persona_id->empty()) return std::nullopt;
  if (!is_persona_id(*persona_id)) {
    fields.fault("persona_id", "bad_format", "must be persona_key or persona_key@version");
  }
  return persona_id;
}

}  // namespace

Task<Response> create_run(Services& services, Request& request) {
  Fields fields = Fields::of_optional_body(request);
  std::optional<std::string> route_id = fields.optional_id("route_id");
  std::optional<std::string> persona_id = read_persona_id(fields);
  std::optional<std::string> strategy =
      fields.optional_choice("multitask_strategy", {"reject", "enqueue", "interrupt"});
  fields.check();
  Params params;
  params.text(request.path_value("thread_id")).text_or_null(route_id).text_or_null(persona_id);
  params.text(strategy.value_or("reject"));
  params.integer(services.settings().integer("limit.concurrent_runs")).integer(queued_runs_max);
  Result made = co_await services.query(request, query::run_create, std::move(params));
  services.ring(query::run_bell);
  if (strategy == "interrupt") services.ring(query::run_control_bell, Params().text(""));
  co_return Response::json_row(201, std::move(made));
}

Task<Response> retry_run(Services& services, Request& request) {
  Params params;
  params.text(request.path_value("thread_id"));
  params.integer(services.settings().integer("limit.concurrent_runs")).integer(queued_runs_max);
  Result made = co_await services.query(request, query::run_retry, std::move(params));
  services.ring(query::run_bell);
  co_return Response::json_row(201, std::move(made));
}

Task<Response> list_thread_runs(Services& services, Request& request) {
  Query query(request);
  int64_t limit = query.limit();
  std::optional<std::string> before = query.id("before");
  query.check();
  Params params;
  params.text(request.path_value("thread_id")).integer(limit).text_or_null(before);
  Result page = co_await services.query(request, query::thread_run_page, std::move(params));
  co_return page_response(request, std::move(page), "before");
}

Task<Response> list_runs(Services& services, Request& request) {
  Query query(request);
  int64_t limit = query.limit();
  std::optional<std::string> before = query.id("before");
  std::optional<std::string> status =
      query.choice("status", {"running", "waiting_for_input", "completed", "failed", "cancelled"});
  query.check();
  Params params;
  params.integer(limit).text_or_null(before).text_or_null(status);
  Result page = co_await services.query(request, query::run_page, std::move(params));
  co_return page_response(request, std::move(page), "before");
}

Task<Response> show_run(Services& services, Request& request) {
  Params params;
  params.text(request.path_value("run_id"));
  Result found = co_await services.query(request, query::run_show, std::move(params));
  co_return Response::json_row(200, std::move(found));
}

Task<Response> show_run_to_admin(Services& services, Request& request) {
  Params params;
  params.text(request.path_value("run_id"));
  Result found = co_await services.query(request, query::run_admin_show, std::move(params));
  co_return Response::json_row(200, std::move(found));
}

Task<Response> cancel_run(Services& services, Request& request) {
  std::string run_id(request.path_value("run_id"));
  Params params;
  params.text(run_id);
  co_await services.query(request, query::run_cancel, std::move(params));
  services.ring(query::run_control_bell, Params().text(run_id));
  // The next run of its thread may have become active.
  services.ring(query::run_bell);
  co_return Response::ok();
}

Task<Response> answer_run(Services& services, Request& request) {
  Fields fields = Fields::of_body(request);
  std::string content =
      fields.required_text("content", {.bytes_most = 32 << 10, .takes_control = true});
  if (content.find_first_not_of(" \t\r\n") == std::string::npos) {
    fields.fault("content", "required", "must not be blank");
  }
  fields.check();
  std::string run_id(request.path_value("run_id"));
  Params params;
  params.text(run_id).text(content);
  co_await services.query(request, query::run_input, std::move(params));
  services.ring(query::run_bell);
  services.ring(query::run_control_bell, Params().text(run_id));
  co_return Response::ok();
}

}  // namespace hostler
