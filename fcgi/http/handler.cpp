// See fcgi/http/handler.h.
#include "fcgi/http/handler.h"

#include <fmt/format.h>

#include <utility>

#include "fcgi/http/query_names.h"
#include "fcgi/http/route.h"

namespace hostler {

const Request& Input::request() const { return routed.request; }

std::string_view Input::path_value(std::string_view name) const {
  for (const auto& [known, value] : routed.path_values) {
    if (known == name) return value;
  }
  throw Error(ErrorCode::internal_error, {}, fmt::format("the route has no {{{}}}", name));
}

namespace {

// Steps of an open route begin without a look at their input; they report the faults of the query
// too.
Fields with_unknown_parameters(const Routed& routed, Fields fields) {
  if (!is_open(routed.route)) return fields;
  for (FieldFault& unknown : unknown_parameters(routed)) {
    fields.fault(unknown.field, std::move(unknown.code), std::move(unknown.message));
  }
  return fields;
}

}  // namespace

Fields Input::body() const { return with_unknown_parameters(routed, Fields::of_body(request())); }

Fields Input::optional_body() const {
  return with_unknown_parameters(routed, Fields::of_optional_body(request()));
}

QueryFields Input::query() const { return QueryFields(routed.target); }

Page Input::page_of(QueryFields& fields, std::string_view cursor_name) {
  Page page;
  page.limit = fields.limit();
  page.before = fields.id(cursor_name);
  return page;
}

Page Input::page(std::string_view cursor_name) const {
  QueryFields fields = query();
  Page page = page_of(fields, cursor_name);
  fields.check();
  return page;
}

bool Input::is_org_scope() const {
  const std::string* scope = routed.target.query_value("scope");
  return scope != nullptr && *scope == "org";
}

OneStatement OneStatement::row(postgres::BoundStatement query, int status) {
  return {std::move(query), [status](postgres::Result result) {
            return Response::json_row(status, std::move(result));
          }};
}

OneStatement OneStatement::new_or_changed(postgres::BoundStatement query) {
  return {std::move(query), [](postgres::Result result) {
            int status = result.front().boolean("is_new") ? 201 : 200;
            return Response::json_row(status, std::move(result));
          }};
}

OneStatement OneStatement::ok(postgres::BoundStatement query) {
  return {std::move(query), [](const postgres::Result&) { return Response::ok(); }};
}

OneStatement OneStatement::no_content(postgres::BoundStatement query) {
  return {std::move(query), [](const postgres::Result&) { return Response::no_content(); }};
}

OneStatement OneStatement::page(const Input& input, postgres::BoundStatement query,
                                std::string_view cursor_name) {
  std::string_view uri = input.request().uri;
  return {std::move(query), [uri, cursor_name](postgres::Result result) {
            return page_response(uri, std::move(result), cursor_name);
          }};
}

OneStatement OneStatement::item(postgres::BoundStatement query, int status) {
  query.answers_binary = true;
  return {std::move(query), [status](const postgres::Result& result) {
            return Response::json_text(status, item_json(result));
          }};
}

OneStatement OneStatement::items(const Input& input, postgres::BoundStatement query,
                                 PageShape shape) {
  query.answers_binary = true;
  std::string_view uri = input.request().uri;
  return {std::move(query), [uri, shape](const postgres::Result& result) {
            ItemPage page = item_page(result, shape);
            Response response = Response::json_text(200, std::move(page.body));
            if (!page.next.empty()) {
              response.add_header("Link", next_link(uri, shape.cursor_name, page.next));
            }
            return response;
          }};
}

OneStatement OneStatement::notify(postgres::BoundStatement notification) && {
  notifications_.add(std::move(notification));
  return std::move(*this);
}

OneStatement OneStatement::notify_of(Notice notice) && {
  notice_ = std::move(notice);
  return std::move(*this);
}

OneStatement OneStatement::otherwise(postgres::BoundStatement query) && {
  query.answers_binary = query_.answers_binary;
  otherwise_ = std::move(query);
  return std::move(*this);
}

std::optional<OneStatement> OneStatement::otherwise_of(const postgres::Result& result) {
  if (!otherwise_ || !result.empty()) return std::nullopt;
  return OneStatement(*std::exchange(otherwise_, std::nullopt), render_);
}

OneStatement OneStatement::share_commit() && {
  shares_commit_ = true;
  return std::move(*this);
}

std::optional<postgres::BoundStatement> OneStatement::notification_of(
    const postgres::Result& result) const {
  if (!notice_) return std::nullopt;
  return notice_(result);
}

}  // namespace hostler
