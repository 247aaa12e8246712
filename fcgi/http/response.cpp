// Answers made; see fcgi/http/response.h.
#include "fcgi/http/response.h"

#include <algorithm>

#include "lib/http/request_target.h"
#include "lib/json.h"

namespace hostler {
namespace {

constexpr std::string_view json_type = "application/json";

// The client's own text, with what would end the link's brackets or the header line escaped.
void append_uri(std::string_view uri, std::string& out) {
  constexpr std::string_view hex = "0123456789ABCDEF";
  for (char c : uri) {
    auto byte = static_cast<unsigned char>(c);
    if (byte > ' ' && byte < 0x7F && c != '<' && c != '>' && c != '"') {
      out += c;
    } else {
      out += '%';
      out += hex[byte >> 4];
      out += hex[byte & 15];
    }
  }
}

}  // namespace

void Response::add_header(std::string name, std::string value) {
  headers.emplace_back(std::move(name), std::move(value));
}

Response Response::json_text(int status, std::string text) {
  Response response;
  response.status = status;
  response.content_type = json_type;
  response.text = std::move(text);
  return response;
}

Response Response::json_row(int status, postgres::Result result) {
  Response response;
  response.status = status;
  response.content_type = json_type;
  response.rows = std::move(result);
  response.body_view = response.rows.text();
  return response;
}

Response Response::json_row_with(int status, const postgres::Result& result, std::string_view name,
                                 std::string_view value) {
  std::string text(result.text());
  text.pop_back();  // the object's end
  text += ',' + json_quote(name) + ':' + json_quote(value) + '}';
  return json_text(status, std::move(text));
}

Response Response::no_content() { return {}; }

Response Response::ok() { return json_text(200, R"({"ok":true})"); }

Response page_response(std::string_view uri, postgres::Result page, std::string_view cursor_name) {
  Response response;
  response.status = 200;
  response.content_type = json_type;
  response.rows = std::move(page);
  postgres::Row row = response.rows.front();
  response.body_view = row.text("body");
  if (!row.is_null("next")) {
    response.add_header("Link",
                        next_link(uri, cursor_name, http::percent_encoded(row.text("next"))));
  }
  return response;
}

std::string next_link(std::string_view uri, std::string_view cursor_name, std::string_view cursor) {
  size_t question = std::min(uri.find('?'), uri.size());
  std::string link = "<";
  append_uri(uri.substr(0, question), link);
  char separator = '?';
  std::string_view rest = uri.substr(std::min(question + 1, uri.size()));
  while (!rest.empty()) {
    size_t end = std::min(rest.find('&'), rest.size());
    std::string_view pair = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    bool is_cursor = pair.substr(0, std::min(pair.find('='), pair.size())) == cursor_name;
    if (pair.empty() || is_cursor) continue;
    link += separator;
    append_uri(pair, link);
    separator = '&';
  }
  link += separator;
  link += cursor_name;
  link += '=';
  link += cursor;
  link += ">; rel=\"next\"";
  return link;
}

}  // namespace hostler
