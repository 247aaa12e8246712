// See fcgi/api/billing/entitlement_input.h.
#include "fcgi/api/billing/entitlement_input.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "lib/config/settings_table.h"

namespace hostler {
namespace {

// The settings that are limits of an organization: what entitlements may change.
constexpr std::array<std::string_view, 21> org_limits{"limit.agent_turns",
                                                      "limit.api_keys",
                                                      "limit.budgets",
                                                      "limit.concurrent_runs",
                                                      "limit.file_bytes",
                                                      "limit.input_bytes",
                                                      "limit.llm_models",
                                                      "limit.mcp_servers",
                                                      "limit.members",
                                                      "limit.personas",
                                                      "limit.queued_runs",
                                                      "limit.requests_per_minute",
                                                      "limit.platform_tool_calls_per_day",
                                                      "limit.run_seconds",
                                                      "limit.stored_bytes",
                                                      "limit.streams",
                                                      "limit.tool_calls",
                                                      "limit.tools",
                                                      "limit.upload_bytes_per_day",
                                                      "limit.waiting_runs",
                                                      "limit.webhook_endpoints"};

constexpr std::string_view monthly_grant = "credits.monthly_grant";

}  // namespace

bool is_org_limit(std::string_view key) {
  return std::find(org_limits.begin(), org_limits.end(), key) != org_limits.end();
}

std::string entitlement_warning(const std::vector<std::string>& keys) {
  std::string unread;
  for (const std::string& key : keys) {
    if (key == monthly_grant || is_org_limit(key)) continue;
    unread += (unread.empty() ? "" : ", ") + key;
  }
  if (unread.empty()) return "";
  return fmt::format(
      "Hostler does not read the entitlement {}. GET /v1/entitlements lists the ones that it "
      "reads. Others are only for your own programs.",
      unread);
}

Response row_with_warning(int status, postgres::Result result, const std::string& warning) {
  return warning.empty() ? Response::json_row(status, std::move(result))
                         : Response::json_row_with(status, result, "warning", warning);
}

std::optional<int64_t> integer_of(const std::string& text) {
  int64_t value = 0;
  const char* end = text.data() + text.size();
  auto [stopped, failure] = std::from_chars(text.data(), end, value);
  bool is_whole = failure == std::errc() && stopped == end && !text.empty();
  return is_whole ? std::optional<int64_t>(value) : std::nullopt;
}

bool is_integer_key(const std::string& key) {
  return key == monthly_grant || key.starts_with("limit.");
}

int64_t entitlement_min(const std::string& key) {
  size_t index = config::find_setting(key);
  return index == config::setting_count ? 0 : config::setting_rows[index].min;
}

std::string read_entitlement(Fields& fields, JsonWriter& json) {
  std::string key = fields.required_text("key", {.min = 1, .max = 128, .trims = true});
  std::string value = fields.required_text("value", {.max = 1000});
  std::string type = fields.required_choice("value_type", {"integer", "boolean", "string"});
  std::optional<int64_t> number = integer_of(value);
  bool fits =
      (type != "integer" || number) && (type != "boolean" || value == "true" || value == "false");
  if (!type.empty() && !fits && fields.has("value")) {
    fields.fault("value", "bad_format",
                 "must be " + std::string(type == "integer" ? "a whole number within 64 bits"
                                                            : "true or false"));
  }
  if (is_integer_key(key) && !type.empty() && type != "integer") {
    fields.fault("value_type", "out_of_range", "must be integer for " + key);
  }
  int64_t least = entitlement_min(key);
  if (is_integer_key(key) && type == "integer" && number && *number < least) {
    fields.fault("value", "out_of_range", "must be at least " + std::to_string(least));
  }
  json.member("key", key).member("value", value).member("value_type", type);
  return key;
}

}  // namespace hostler
