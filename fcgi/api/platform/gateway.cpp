// How clients are recognized, for platform administrators: three live settings as one document.
// Statements: sql/queries/gateway.sql and settings.sql. What they do: lib/client/gateway.h.
#include "lib/client/gateway.h"

#include <algorithm>

#include <fmt/format.h>

#include "fcgi/api/handlers.h"
#include "fcgi/http/input.h"
#include "lib/config/live_settings.h"
#include "lib/json.h"
#include "queries/gateway.h"
#include "queries/settings.h"

namespace hostler {
namespace {

constexpr size_t trusted_cidrs_max = 1000;
constexpr size_t cidr_characters_max = 50;

std::string gateway_json(const config::Settings& settings) {
  JsonWriter json;
  json.begin_object().member("ip_mode", settings.text("gateway.ip_mode"));
  json.key("trusted_cidrs").begin_array();
  for (const std::string& cidr : settings.strings("gateway.trusted_cidrs")) json.text(cidr);
  json.end_array();
  json.member("risk_reject_threshold", settings.number("gateway.risk_reject_threshold"));
  return json.end_object().take();
}

// In the form in which they are compared, each once.
void read_trusted(Fields& fields, JsonWriter& wanted) {
  std::optional<std::vector<std::string>> given =
      fields.optional_texts("trusted_cidrs", trusted_cidrs_max, {.max = cidr_characters_max});
  if (!given) return;
  std::vector<std::string> cidrs;
  for (size_t i = 0; i < given->size(); ++i) {
    const std::string& text = (*given)[i];
    std::string name = fmt::format("trusted_cidrs.{}", i);
    std::optional<std::string> cidr = net::canonical_network(text);
    if (!cidr) {
      fields.fault(name, "bad_format", json_quote(text) + " is neither an address nor a CIDR");
    } else if (net::is_too_wide(*cidr)) {
      fields.fault(name, "out_of_range", "must not be wider than /8");
    } else if (std::find(cidrs.begin(), cidrs.end(), *cidr) == cidrs.end()) {
      cidrs.push_back(std::move(*cidr));
    }
  }
  wanted.key("gateway.trusted_cidrs").begin_array();
  for (const std::string& cidr : cidrs) wanted.text(cidr);
  wanted.end_array();
}

}  // namespace

OneStatement show_gateway_config(const Input& input) {
  // Not this worker's snapshot, so that a caller who just changed it sees the change.
  return {query::SettingsAll{}, [&input](const postgres::Result& stored) {
            config::Settings settings =
                config::settings_with_stored(input.configured, stored, &input.secret_box);
            return Response::json_text(200, gateway_json(settings));
          }};
}

Task<Response> set_gateway_config(Call& call) {
  Fields fields = call.input.body();
  JsonWriter wanted;
  wanted.begin_object();
  std::optional<std::string> mode = fields.optional_choice("ip_mode", {"direct", "proxy", "cdn"});
  if (mode) wanted.member("gateway.ip_mode", *mode);
  read_trusted(fields, wanted);
  std::optional<double> threshold = fields.optional_number("risk_reject_threshold", {0, 1});
  if (threshold) wanted.member("gateway.risk_reject_threshold", *threshold);
  wanted.end_object();
  fields.check();
  postgres::Batch batch;
  batch.add(query::GatewayConfigSet{.wanted = wanted.take()}).add(query::SettingsAll{});
  postgres::Batch nothing;
  postgres::Results results = co_await call.database.batch(std::move(batch), std::move(nothing));
  config::Settings settings =
      config::settings_with_stored(call.input.configured, results.back(), &call.input.secret_box);
  co_return Response::json_text(200, gateway_json(settings));
}

}  // namespace hostler
