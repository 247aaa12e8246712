// Redemption codes: made and switched by administrators, redeemed by users.
// Statements: sql/queries/credits.sql.
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "fcgi/api/billing/entitlement_input.h"
#include "fcgi/api/handlers.h"
#include "fcgi/http/input.h"
#include "lib/json.h"
#include "lib/unicode.h"
#include "queries/credits.h"

namespace hostler {
namespace {

constexpr int64_t codes_max = 1000;
constexpr int64_t uses_max = 1'000'000;
constexpr size_t key_max = 128;       // as an entitlement's
constexpr size_t letters_count = 16;  // of a code, beside its hyphens

// The type of the value of key=value, where a known key takes only what it means.
std::string entitlement_value_type(Fields& fields, const std::string& pair) {
  size_t sign = pair.find('=');
  bool has_key = sign != std::string::npos && sign > 0 && sign <= key_max;
  if (!has_key || pair[sign - 1] == ' ') {
    fields.fault("value", "bad_format", "must be key=value");
    return "";
  }
  std::string key = pair.substr(0, sign);
  std::string value = pair.substr(sign + 1);
  std::optional<int64_t> number = integer_of(value);
  int64_t least = entitlement_min(key);
  if (is_integer_key(key) && (!number || *number < least)) {
    fields.fault("value", number ? "out_of_range" : "bad_format",
                 fmt::format("must give {} a whole number of at least {}", key, least));
  }
  if (value == "true" || value == "false") return "boolean";
  return number ? "integer" : "string";
}

// The type of the value, read from itself; faulted when it does not fit the code's type.
std::string read_value_type(Fields& fields, const std::string& type, const std::string& value) {
  if (!fields.has("value") || value.empty() || type.empty()) return "";
  if (type == "entitlement") return entitlement_value_type(fields, value);
  if (integer_of(value).value_or(0) < 1) {
    fields.fault("value", "bad_format", "must be a positive whole number");
  }
  return "integer";
}

std::string read_batch(const Input& input) {
  Fields fields = input.body();
  JsonWriter wanted;
  wanted.begin_object().member("count", fields.required_integer("count", {1, codes_max}));
  std::string type = fields.required_choice("type", {"credits", "entitlement"});
  std::string value = fields.required_text("value", {.min = 1, .max = 1000, .trims = true});
  wanted.member("type", type).member("value", value);
  wanted.member("value_type", read_value_type(fields, type, value));
  std::string warning;
  if (type == "entitlement") warning = entitlement_warning({value.substr(0, value.find('='))});
  if (!warning.empty()) wanted.member("warning", warning);
  wanted.member("max_uses", fields.optional_integer("max_uses", {1, uses_max}).value_or(1));
  std::optional<std::string> expires_at = fields.nullable_time("expires_at").value;
  if (expires_at) wanted.member("expires_at", *expires_at);
  std::optional<std::string> batch_id = fields.nullable_text("batch_id", {.max = 200}).value;
  if (batch_id) wanted.member("batch_id", *batch_id);
  wanted.end_object();
  fields.check();
  return wanted.take();
}

// A code with the hyphens that it was made with, whether they were typed, or blanks, or nothing.
std::string as_made(const std::string& typed) {
  std::string letters = unicode::plain_code(typed);
  bool is_ascii =
      std::all_of(letters.begin(), letters.end(), [](char c) { return c > ' ' && c < 0x7f; });
  if (letters.size() != letters_count || !is_ascii) return typed;
  std::string_view part = letters;
  return fmt::format("{}-{}-{}-{}", part.substr(0, 4), part.substr(4, 4), part.substr(8, 4),
                     part.substr(12, 4));
}

}  // namespace

OneStatement create_redemption_codes(const Input& input) {
  return OneStatement::row(query::RedemptionCodeBatch{.wanted = read_batch(input)}, 201);
}

OneStatement list_redemption_codes(const Input& input) {
  QueryFields fields = input.query();
  std::optional<std::string> part = fields.text("q", {.max = 254});
  if (part == "") part.reset();
  std::optional<std::string> type = fields.choice("type", {"credits", "entitlement"});
  Page page = Input::page_of(fields, "cursor");
  fields.check();
  return OneStatement::items(
      input,
      query::RedemptionCodePage{
          .q = part, .type = type, .limit = page.limit, .before = page.before},
      {.limit = page.limit, .cursor_name = "cursor"});
}

OneStatement update_redemption_code(const Input& input) {
  Fields fields = input.body();
  std::optional<bool> is_active = fields.optional_boolean("is_active");
  fields.check_patch();
  return OneStatement::row(
      query::RedemptionCodeSwitch{.redemption_code_id = input.path_value("redemption_code_id"),
                                  .is_active = is_active.value_or(false)});
}

// The try is counted first and by itself: a wrong code is a try too.
Task<Response> redeem_code(Call& call) {
  Fields fields = call.input.body();
  std::string code = fields.required_text("code", {.min = 1, .max = 64, .trims = true});
  fields.check();
  postgres::BoundStatement counted =
      query::RedemptionTry{.limit_redeem_tries_per_minute =
                               call.input.settings.integer("limit.redeem_tries_per_minute")};
  co_await call.database.query_apart(std::move(counted));
  postgres::BoundStatement redemption = query::RedemptionRedeem{.code = as_made(code)};
  postgres::Result redeemed = co_await call.database.query(std::move(redemption));
  co_return Response::json_row(200, std::move(redeemed));
}

}  // namespace hostler
