// Messages of a thread. Statements: sql/queries/threads.sql.
#include "fcgi/handlers.h"
#include "fcgi/input.h"
#include "fcgi/services.h"
#include "queries/threads.h"

namespace hostler {
namespace {

constexpr TextBounds content_bounds{.least = 1, .bytes_most = 64 << 10, .takes_control = true};

}  // namespace

Task<Response> create_message(Services& services, Request& request) {
  Fields fields = Fields::of_body(request);
  std::string content = fields.required_text("content", content_bounds);
  fields.check();
  Params params;
  params.text(request.path_value("thread_id")).text(content);
  Result made = co_await services.query(request, query::message_create, std::move(params));
  co_return Response::json_row(201, std::move(made));
}

Task<Response> list_messages(Services& services, Request& request) {
  Query query(request);
  int64_t limit = query.limit();
  std::optional<std::string> before = query.id("before");
  std::optional<std::string> after = query.id("after");
  query.check();
  bool goes_forward = after && !before;
  Params params;
  params.text(request.path_value("thread_id")).integer(limit);
  params.text_or_null(before).text_or_null(after);
  Result page = co_await services.query(request, query::message_page, std::move(params));
  co_return page_response(request, std::move(page), goes_forward ? "after" : "before");
}

}  // namespace hostler
