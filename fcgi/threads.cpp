// Threads: the caller's conversations. Statements: sql/queries/threads.sql.
#include "queries/threads.h"
#include "fcgi/handlers.h"
#include "fcgi/input.h"
#include "fcgi/one_statement.h"
#include "fcgi/services.h"
#include "queries/runs.h"

namespace hostler {

Task<Response> create_thread(Services& services, Request& request) {
  Fields fields = Fields::of_optional_body(request);
  std::optional<std::string> title = fields.optional_text("title", {.most = 200});
  bool is_private = fields.optional_boolean("is_private").value_or(false);
  fields.check();
  Params params;
  params.text_or_null(title).boolean(is_private);
  Result made = co_await services.query(request, query::thread_create, std::move(params));
  co_return Response::json_row(201, std::move(made));
}

Task<Response> list_threads(Services& services, Request& request) {
  return list_page(services, request, query::thread_page);
}

Task<Response> search_threads(Services& services, Request& request) {
  Query query(request);
  Params params;
  params.text(query.required_text("q", {.least = 1, .most = 200}));
  return list_page(services, request, std::move(query), query::thread_search, std::move(params));
}

Task<Response> show_thread(Services& services, Request& request) {
  return one_row(services, request, query::thread_show,
                 Params().text(request.path_value("thread_id")));
}

Task<Response> update_thread(Services& services, Request& request) {
  Fields fields = Fields::of_body(request);
  Nullable<std::string> title = fields.nullable_text("title", {.most = 200});
  fields.check_patch();
  Params params;
  params.text(request.path_value("thread_id")).text_or_null(title.value);
  Result changed = co_await services.query(request, query::thread_update, std::move(params));
  co_return Response::json_row(200, std::move(changed));
}

Task<Response> delete_thread(Services& services, Request& request) {
  Params params;
  params.text(request.path_value("thread_id"));
  Result deleted = co_await services.query(request, query::thread_delete, std::move(params));
  Params stopped;
  stopped.text(deleted.front().text("stopped"));
  services.ring(request, query::run_control_bell, std::move(stopped));
  co_return Response::no_content();
}

}  // namespace hostler
