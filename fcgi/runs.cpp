// Runs: made here, executed by the daemon, which hears of them by a bell. Statements:
// sql/queries/runs.sql.
#include <optional>

#include "fcgi/confirmation.h"
#include "fcgi/handlers.h"
#include "fcgi/input.h"
#include "fcgi/one_statement.h"
#include "fcgi/persona_id.h"
#include "fcgi/services.h"
#include "queries/runs.h"

namespace hostler {
namespace {

struct NewRun {
  std::optional<std::string> route_id;
  std::optional<std::string> persona_id;
  std::string strategy;
};

NewRun read_new_run(const Request& request) {
  Fields fields = Fields::of_optional_body(request);
  NewRun wanted;
  wanted.route_id = fields.optional_id("route_id");
  wanted.persona_id =
      fields.optional_text("persona_id", {.most = persona_key_most + 1 + persona_version_most});
  if (wanted.persona_id == "") wanted.persona_id.reset();  // the default (contract section 4)
  if (wanted.persona_id && !is_persona_id(*wanted.persona_id)) {
    fields.fault("persona_id", "bad_format", "must be persona_key or persona_key@version");
  }
  wanted.strategy = fields.optional_choice("multitask_strategy", {"reject", "enqueue", "interrupt"})
                        .value_or("reject");
  fields.check();
  return wanted;
}

// What the settings say; an organization's entitlements stand above its limits.
std::string run_limits_json(const Settings& settings) {
  JsonWriter json;
  json.begin_object().member("active_max", settings.integer("limit.concurrent_runs"));
  json.member("queued_max", settings.integer("limit.queued_runs"));
  json.member("run_hold", settings.integer("credit.run_hold")).end_object();
  return json.take();
}

}  // namespace

Task<Response> create_run(Services& services, Request& request) {
  NewRun wanted = read_new_run(request);
  Params params;
  params.text(request.path_value("thread_id"));
  params.text_or_null(wanted.route_id).text_or_null(wanted.persona_id).text(wanted.strategy);
  params.text(run_limits_json(services.settings()));
  Result made = co_await services.query_then_ring(request, query::run_create, std::move(params),
                                                  query::run_bell);
  if (!made.front().is_null("stopped")) {
    services.ring(request, query::run_control_bell, Params().text(made.front().text("stopped")));
  }
  co_return Response::json_row(201, std::move(made));
}

Task<Response> retry_run(Services& services, Request& request) {
  Params params;
  params.text(request.path_value("thread_id"));
  params.text(run_limits_json(services.settings()));
  Result made = co_await services.query_then_ring(request, query::run_retry, std::move(params),
                                                  query::run_bell);
  co_return Response::json_row(201, std::move(made));
}

Task<Response> list_thread_runs(Services& services, Request& request) {
  return list_page(services, request, query::thread_run_page,
                   Params().text(request.path_value("thread_id")));
}

Task<Response> list_runs(Services& services, Request& request) {
  Query query(request);
  Params params;
  params.text_or_null(
      query.choice("status", {"running", "waiting_for_input", "completed", "failed", "cancelled"}));
  return list_page(services, request, std::move(query), query::run_page, std::move(params));
}

Task<Response> show_run(Services& services, Request& request) {
  return one_row(services, request, query::run_show, Params().text(request.path_value("run_id")));
}

Task<Response> show_run_to_admin(Services& services, Request& request) {
  return one_row(services, request, query::run_admin_show,
                 Params().text(request.path_value("run_id")));
}

// A run that nobody owned is over now, and the next of its thread may begin; an owner is told.
Task<Response> cancel_run(Services& services, Request& request) {
  std::string run_id(request.path_value("run_id"));
  Params params;
  params.text(run_id);
  Result cancelled = co_await services.query_then_ring(request, query::run_cancel,
                                                       std::move(params), query::run_bell);
  services.ring(request, query::run_control_bell, Params().uuids({run_id}));
  co_return Response::ok();
}

// Whether a question or a confirmation is asked for is known behind the run's lock.
Task<Response> answer_run(Services& services, Request& request) {
  Fields fields = Fields::of_body(request);
  std::string content =
      fields.required_text("content", {.bytes_most = 32 << 10, .takes_control = true});
  if (content.find_first_not_of(" \t\r\n") == std::string::npos) {
    fields.fault("content", "required", "must not be blank");
  }
  fields.check();
  std::string run_id(request.path_value("run_id"));
  Confirmation confirmation = read_confirmation(content);
  Params params;
  params.text(run_id).text(content);
  params.integer(services.settings().integer("limit.input_bytes"));
  params.text_or_null(confirmation.decision).text_or_null(confirmation.arguments);
  params.text_or_null(confirmation.reason).text(confirmation.fault);
  Result given = co_await services.query_then_ring(request, query::run_input, std::move(params),
                                                   query::run_bell);
  services.ring(request, query::run_control_bell, Params().uuids({run_id}));
  co_return Response::ok();
}

}  // namespace hostler
