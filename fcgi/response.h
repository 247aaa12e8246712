// One answer as a plain value, and the ways to make one. Written to the wire by fcgi/worker.cpp.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/loop/db.h"

namespace hostler {

struct Request;

struct Response {
  int status = 204;
  std::string_view content_type;  // empty: no body
  std::string text;               // the body, unless it is kept in rows
  Result rows;                    // keeps what body_view points into
  std::string_view body_view;     // set: the body, without a copy
  std::vector<std::pair<std::string, std::string>> headers;

  std::string_view body() const { return body_view.data() == nullptr ? text : body_view; }
  void add_header(std::string name, std::string value);

  static Response json_text(int status, std::string text);
  // The JSON that a statement made: the first column of its first row, passed on without a copy.
  static Response json_row(int status, Result result);
  static Response no_content();
  // 200 {"ok":true}
  static Response ok();
};

// On which side of the rows the one stands that shows that there is more.
enum class MoreAt { end, beginning };

// A list whose statement was asked for limit + 1 rows of (id, item): a bare array of the items, and
// while more exist, Link rel="next": the request's own query with the cursor moved to the last id seen.
// A page ends early at 4 MiB of text.
Response page_response(const Request& request, const Result& rows, int64_t limit,
                       std::string_view cursor_name, MoreAt more_at = MoreAt::end);
// A whole list: the items of all rows.
Response list_response(const Result& rows);

// The value of such a Link header.
std::string next_link(const Request& request, std::string_view cursor_name,
                      std::string_view cursor);

}  // namespace hostler
