// See fcgi/api/billing/budget_input.h.
#include "fcgi/api/billing/budget_input.h"

#include "lib/json.h"

namespace hostler {
namespace {

constexpr size_t digits_max = 40;

}  // namespace

std::optional<std::string> read_budget_amount(Fields& fields, bool is_required) {
  const Json* written = fields.any("amount");
  if (written == nullptr) {
    if (is_required) fields.fault("amount", "required", "is required");
    return std::nullopt;
  }
  std::optional<double> number = written->as_number();
  if (!number) {
    fields.fault("amount", "wrong_type", "must be a number");
    return std::nullopt;
  }
  const std::string* text = written->number_text();
  std::string amount = text != nullptr ? *text : written->dump();
  if (*number <= 0 || amount.size() > digits_max) {
    fields.fault("amount", "out_of_range", "must be above 0");
    return std::nullopt;
  }
  return amount;
}

std::optional<std::string> read_run_budget(Fields& fields) {
  Nullable<Fields> budget = fields.nullable_object("budget");
  if (!budget.value) return std::nullopt;
  JsonWriter json;
  json.begin_object();
  json.member("unit", budget.value->required_choice("unit", {"credits", "usd"}));
  json.member("amount", read_budget_amount(*budget.value, true).value_or(""));
  return json.end_object().take();
}

}  // namespace hostler
