// See fcgi/api/scim/exchange.h.
#include "fcgi/api/scim/exchange.h"

#include <algorithm>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "fcgi/http/input.h"
#include "fcgi/http/route.h"
#include "lib/ascii.h"
#include "lib/error.h"
#include "lib/http/scim_error.h"
#include "lib/json_bounds.h"

namespace hostler::scim {
namespace {

constexpr int64_t count_max = 200;
constexpr int64_t index_max = 1'000'000'000;
constexpr TextBounds filter_bounds{.max = 4096};
constexpr TextBounds names_bounds{.max = 1000};

Error bad_body(std::string detail) { return Error(ErrorCode::http_bad_json, std::move(detail)); }

// Whether a list of names, parted by commas, has `members`.
bool names_members(std::string_view names) {
  while (!names.empty()) {
    std::string_view one = names.substr(0, names.find(','));
    if (ascii::equal_ignoring_case(ascii::trimmed(one, ascii::blanks), "members")) return true;
    names.remove_prefix(std::min(one.size() + 1, names.size()));
  }
  return false;
}

}  // namespace

Json body_of(const Input& input) {
  const Request& request = input.request();
  std::string_view type = request.content_type.substr(0, request.content_type.find(';'));
  type = ascii::trimmed(type, ascii::blanks);
  bool is_taken = ascii::equal_ignoring_case(type, http::scim_type) ||
                  ascii::equal_ignoring_case(type, "application/json");
  std::string_view coding = request.header("HTTP_CONTENT_ENCODING");
  bool is_plain = coding.empty() || ascii::equal_ignoring_case(coding, "identity");
  if (!is_taken || !is_plain) {
    throw Error(ErrorCode::http_unsupported_media_type,
                "Send Content-Type: application/scim+json, without Content-Encoding.");
  }
  if (request.body.empty()) throw bad_body("The body is empty; send a JSON object.");
  std::variant<Json, JsonFault> parsed = parse_bounded_json(request.body, json_values_of_body_max);
  if (const JsonFault* fault = std::get_if<JsonFault>(&parsed)) {
    throw bad_body(fmt::format("{} at byte {}", fault->message, fault->offset));
  }
  Json json = std::move(std::get<Json>(parsed));
  if (!json.is_object()) throw bad_body("The body must be a JSON object.");
  return json;
}

std::string site_of(const config::Settings& settings) {
  std::string site = settings.text("mail.site_url");
  while (site.ends_with('/')) site.pop_back();
  return site;
}

Response response_of(int status, std::string text) {
  Response response = Response::json_text(status, std::move(text));
  response.content_type = http::scim_type;
  return response;
}

Response resource_response(int status, const postgres::Result& result) {
  postgres::Row row = result.front();
  Response response = response_of(status, std::string(row.text("item")));
  if (status == 201) response.add_header("Location", std::string(row.text("location")));
  return response;
}

ListPage list_page(const Input& input) {
  QueryFields query = input.query();
  ListPage page;
  int64_t start = query.integer("startIndex").value_or(1);
  int64_t count = query.integer("count").value_or(page.count);
  std::optional<std::string> filter = query.text("filter", filter_bounds);
  query.check();
  page.start_index = std::clamp<int64_t>(start, 1, index_max);
  page.count = std::clamp<int64_t>(count, 0, count_max);
  if (filter && !ascii::trimmed(*filter, ascii::white_space).empty()) {
    page.filter = parse_filter(*filter);
  }
  return page;
}

bool wants_members(const Input& input) {
  QueryFields query = input.query();
  std::optional<std::string> wanted = query.text("attributes", names_bounds);
  std::optional<std::string> excluded = query.text("excludedAttributes", names_bounds);
  query.check();
  if (wanted && !wanted->empty()) return names_members(*wanted);
  return !excluded || !names_members(*excluded);
}

void refuse_value(std::string_view name, std::string_view what) {
  throw Error(ErrorCode::scim_invalid_value, fmt::format("{} {}.", name, what));
}

}  // namespace hostler::scim
