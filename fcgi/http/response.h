// One answer as a plain value, and the ways to make one. Written to the wire by fcgi/worker.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/postgres/database.h"

namespace hostler {

struct Response {
  int status = 204;
  std::string_view content_type;  // empty: no body
  std::string text;               // the body, unless it is kept in rows
  postgres::Result rows;          // keeps what body_view points into
  std::string_view body_view;     // set: the body, without a copy
  std::vector<std::pair<std::string, std::string>> headers;
  // For a body in pieces, of which the first is above: their number, and the statement that loads
  // one (column content), from the second on. Of a gzip file it is text that is compressed when it
  // is sent; else bytes.
  int64_t pieces = 1;
  std::function<postgres::BoundStatement(int64_t nth)> piece;

  std::string_view body() const { return body_view.data() == nullptr ? text : body_view; }
  void add_header(std::string name, std::string value);

  static Response json_text(int status, std::string text);
  // The JSON that a statement made: the first column of its first row, passed on without a copy.
  static Response json_row(int status, postgres::Result result);
  // Like json_row, with a further member that the database never sees: a secret shown once.
  static Response json_row_with(int status, const postgres::Result& result, std::string_view name,
                                std::string_view value);
  static Response no_content();
  // 200 {"ok":true}
  static Response ok();
};

// A page of a list, as page_of() makes it in SQL: a row with the columns body (a JSON array) and
// next (the id or the like of the last item when more exist, else null). Then Link rel="next"
// repeats the request's query with the cursor moved there. The body is passed on without a copy.
// uri: as it was asked for.
Response page_response(std::string_view uri, postgres::Result page, std::string_view cursor_name);

// The value of such a Link header. cursor: percent-encoded where it has to be.
std::string next_link(std::string_view uri, std::string_view cursor_name, std::string_view cursor);

}  // namespace hostler
