// Budgets: what may be spent for an organization or a part of it in a window of time. Statements:
// sql/queries/budgets.sql. The daemon bounds turns by them (runner/agent/turn_holds.h).
#include <optional>
#include <string>

#include "fcgi/api/billing/budget_input.h"
#include "fcgi/api/handlers.h"
#include "fcgi/api/runs/marks.h"
#include "fcgi/http/input.h"
#include "lib/json.h"
#include "queries/budgets.h"

namespace hostler {
namespace {

constexpr TextBounds name_bounds{.min = 1, .max = 200, .trims = true, .is_name = true};
constexpr TextBounds subject_bounds{.min = 1, .max = 256};
constexpr TextBounds zone_bounds{.min = 1, .max = 64};
constexpr size_t percents_max = 10;

void read_subject(Fields& fields, JsonWriter& wanted) {
  Nullable<Fields> subject = fields.nullable_object("subject");
  if (!subject.value) {
    // One that is no object has its fault already.
    const Json* written = fields.any("subject");
    if (written == nullptr || written->is_null()) {
      fields.fault("subject", "required", "is required");
    }
    return;
  }
  wanted.member("subject_type",
                subject.value->required_choice(
                    "type", {"org", "member", "api_key", "end_user", "persona", "thread"}));
  wanted.member("subject_id", subject.value->required_text("id", subject_bounds));
}

// Ascending whole numbers from 1 to 100, as JSON text; nothing after a fault, or without the
// member.
std::optional<std::string> read_percents(Fields& fields) {
  const Json* written = fields.any("alert_percents");
  if (written == nullptr) return std::nullopt;
  auto refuse = [&](std::string code, std::string message) -> std::optional<std::string> {
    fields.fault("alert_percents", std::move(code), std::move(message));
    return std::nullopt;
  };
  const Json::Array* percents = written->as_array();
  if (percents == nullptr) return refuse("wrong_type", "must be an array of whole numbers");
  if (percents->size() > percents_max) return refuse("too_long", "must have at most 10 numbers");
  int64_t last = 0;
  for (const Json& percent : *percents) {
    const int64_t* number = percent.as_integer();
    if (number == nullptr) return refuse("wrong_type", "must be an array of whole numbers");
    if (*number < 1 || *number > 100) {
      return refuse("out_of_range", "must be numbers from 1 to 100");
    }
    if (*number <= last) return refuse("bad_format", "must be in ascending order, each once");
    last = *number;
  }
  return written->dump();
}

}  // namespace

OneStatement list_budgets(const Input& input) {
  QueryFields fields = input.query();
  std::optional<std::string> subject_type =
      fields.choice("subject_type", {"org", "member", "api_key", "end_user", "persona", "thread"});
  std::optional<std::string> end_user = fields.text("end_user", end_user_bounds);
  Page page = Input::page_of(fields, "cursor");
  fields.check();
  return OneStatement::items(input,
                             query::BudgetPage{.limit = page.limit,
                                               .before = page.before,
                                               .subject_type = subject_type,
                                               .end_user = end_user},
                             {.limit = page.limit, .cursor_name = "cursor"});
}

OneStatement create_budget(const Input& input) {
  Fields fields = input.body();
  JsonWriter wanted;
  wanted.begin_object().member("name", fields.required_text("name", name_bounds));
  read_subject(fields, wanted);
  wanted.member("unit", fields.required_choice("unit", {"credits", "usd"}));
  wanted.member("amount", read_budget_amount(fields, true).value_or(""));
  wanted.member("window", fields.required_choice("window", {"day", "month", "total"}));
  wanted.member("time_zone", fields.optional_text("time_zone", zone_bounds).value_or("UTC"));
  wanted.member_raw("alert_percents", read_percents(fields).value_or("[]"));
  wanted.member("on_exhausted",
                fields.optional_choice("on_exhausted", {"wait", "fail"}).value_or("wait"));
  wanted.end_object();
  std::optional<std::string> org_id = fields.nullable_id("org_id").value;
  fields.check();
  return OneStatement::row(
      query::BudgetCreate{.wanted = wanted.take(),
                          .org_id = org_id,
                          .limit_budgets = input.settings.integer("limit.budgets")},
      201);
}

OneStatement show_budget(const Input& input) {
  QueryFields fields = input.query();
  std::optional<std::string> end_user = fields.text("end_user", end_user_bounds);
  fields.check();
  return OneStatement::row(
      query::BudgetShow{.budget_id = input.path_value("budget_id"), .end_user = end_user});
}

OneStatement update_budget(const Input& input) {
  Fields fields = input.body();
  JsonWriter changes;
  changes.begin_object();
  std::optional<std::string> name = fields.optional_text("name", name_bounds);
  if (name) changes.member("name", *name);
  std::optional<std::string> amount = read_budget_amount(fields, false);
  if (amount) changes.member("amount", *amount);
  std::optional<std::string> percents = read_percents(fields);
  if (percents) changes.member_raw("alert_percents", *percents);
  std::optional<std::string> on_exhausted =
      fields.optional_choice("on_exhausted", {"wait", "fail"});
  if (on_exhausted) changes.member("on_exhausted", *on_exhausted);
  std::optional<bool> is_active = fields.optional_boolean("is_active");
  if (is_active) changes.member("is_active", *is_active);
  changes.end_object();
  fields.check_patch();
  return OneStatement::row(
      query::BudgetUpdate{.budget_id = input.path_value("budget_id"), .changes = changes.take()});
}

OneStatement delete_budget(const Input& input) {
  return OneStatement::no_content(query::BudgetDelete{.budget_id = input.path_value("budget_id")});
}

}  // namespace hostler
