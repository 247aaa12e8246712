// The access log, for platform administrators. Statement: sql/queries/access_log.sql. Its rows come
// from nginx's files by way of the daemon (runner/access_log); nothing here writes one.
#include <algorithm>

#include "fcgi/api/handlers.h"
#include "fcgi/http/input.h"
#include "lib/ascii.h"
#include "lib/json.h"
#include "lib/net/client_address.h"
#include "queries/access_log.h"

namespace hostler {
namespace {

// Letters only, as upper case; else a fault.
std::optional<std::string> read_letters(QueryFields& query, std::string_view name, size_t min,
                                        size_t max) {
  std::optional<std::string> text = query.text(name, {.min = min, .max = max});
  if (!text) return std::nullopt;
  if (!std::all_of(text->begin(), text->end(), ascii::is_letter)) {
    query.fault(name, "bad_format", "must be letters");
  }
  return ascii::upper_case(*text);
}

std::optional<std::string> read_address(QueryFields& query) {
  std::optional<std::string> text = query.text("ip", {.min = 1, .max = 50, .trims = true});
  if (!text) return std::nullopt;
  std::optional<net::IpAddress> address = net::parse_hop(*text);
  if (address) return address->text();
  query.fault("ip", "bad_format", "must be an IP address");
  return std::nullopt;
}

void member_if(JsonWriter& json, std::string_view name, const std::optional<std::string>& text) {
  if (text) json.member(name, *text);
}

std::string read_filters(QueryFields& query) {
  JsonWriter wanted;
  wanted.begin_object().member("limit", query.limit());
  member_if(wanted, "before", query.id("before"));
  member_if(wanted, "since", query.id("since"));
  member_if(wanted, "method", read_letters(query, "method", 1, 32));
  member_if(wanted, "path", query.text("path", {.max = 2000}));
  member_if(wanted, "ip", read_address(query));
  member_if(wanted, "country", read_letters(query, "country", 2, 2));
  member_if(wanted, "ua_type", query.choice("ua_type", {"browser", "bot", "tool", "unknown"}));
  std::optional<double> risk_min = query.number("risk_min", {0, 1});
  if (risk_min) wanted.member("risk_min", *risk_min);
  return wanted.end_object().take();
}

}  // namespace

OneStatement list_access_log(const Input& input) {
  QueryFields fields = input.query();
  std::string wanted = read_filters(fields);
  fields.check();
  bool is_forward = input.routed.target.query_value("since") != nullptr;
  return OneStatement::page(input, query::AccessLogPage{.wanted = wanted},
                            is_forward ? "since" : "before");
}

}  // namespace hostler
