// Credits: the account and ledger of an organization, and what administrators do to them.
// Statements: sql/queries/credits.sql.
#include "queries/credits.h"
#include "fcgi/api/handlers.h"
#include "fcgi/http/input.h"
#include "lib/json_whole.h"

namespace hostler {
namespace {

constexpr TextBounds note_text{.max = 1000, .takes_control = true};

int64_t read_amount(Fields& fields) {
  int64_t amount = fields.required_integer("amount");
  const Json* given = fields.any("amount");
  bool is_zero = given != nullptr && whole_of(*given) && amount == 0;
  if (is_zero) fields.fault("amount", "out_of_range", "must not be 0");
  return amount;
}

}  // namespace

OneStatement show_own_credits(const Input& input) {
  Page page = input.page("cursor");
  return OneStatement::page(
      input, query::OwnCreditsShow{.limit = page.limit, .before = page.before}, "cursor");
}

OneStatement show_credits(const Input& input) {
  QueryFields fields = input.query();
  std::string org_id = fields.required_id("org_id");
  Page page = Input::page_of(fields, "cursor");
  fields.check();
  return OneStatement::page(
      input, query::CreditsShow{.org_id = org_id, .limit = page.limit, .before = page.before},
      "cursor");
}

OneStatement adjust_credits(const Input& input) {
  Fields fields = input.body();
  std::string org_id = fields.required_id("org_id");
  int64_t amount = read_amount(fields);
  std::optional<std::string> note = fields.nullable_text("note", note_text).value;
  fields.check();
  return OneStatement::row(query::CreditAdjust{.org_id = org_id, .amount = amount, .note = note});
}

OneStatement bulk_adjust_credits(const Input& input) {
  Fields fields = input.body();
  int64_t amount = read_amount(fields);
  std::optional<std::string> note = fields.nullable_text("note", note_text).value;
  bool is_dry_run = fields.optional_boolean("dry_run").value_or(false);
  fields.check();
  if (is_dry_run) return OneStatement::row(query::CreditBulkPreview{.amount = amount});
  return OneStatement::row(query::CreditBulkAdjust{.amount = amount, .note = note});
}

OneStatement reset_all_credits(const Input& input) {
  Fields fields = input.optional_body();
  std::optional<std::string> note = fields.nullable_text("note", note_text).value;
  bool is_dry_run = fields.optional_boolean("dry_run").value_or(false);
  fields.check();
  if (is_dry_run) return OneStatement::row(query::CreditBulkPreview{.amount = std::nullopt});
  return OneStatement::row(query::CreditResetAll{.note = note});
}

}  // namespace hostler
