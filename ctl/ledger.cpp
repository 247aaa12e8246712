// The ledger; see ctl/ledger.h.
#include "ctl/ledger.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "ctl/output.h"
#include "ctl/owner_session.h"
#include "lib/account/account_rules.h"
#include "lib/control_characters.h"
#include "lib/error.h"
#include "lib/json.h"
#include "lib/utf8.h"
#include "queries/credits.h"
#include "queries/ledger.h"
#include "queries/operator.h"

namespace hostler {
namespace {

constexpr const char* first_id = "00000000-0000-0000-0000-000000000000";
constexpr const char* last_id = "ffffffff-ffff-ffff-ffff-ffffffffffff";
constexpr int64_t page_rows = 50'000;  // of the ledger; some 100 MB with what belongs to them

int print_fault(const postgres::Row& fault, bool as_json) {
  if (as_json) {
    JsonWriter json;
    json.begin_object().member("ok", false).member("origin", fault.text("origin"));
    json.member("id", fault.text("id")).member("org_id", fault.text("org_id"));
    json.member("what", fault.text("what")).end_object();
    print_out(json.take() + "\n");
    return exit_bad_input;
  }
  return fail(exit_bad_input,
              fmt::format("{} {} of organization {}: {}", fault.text("origin"), fault.text("id"),
                          fault.text("org_id"), fault.text("what")));
}

// Page by page, so that no more is held or locked at once than a page's rows.
int verify_ledger(const CommandCall& call) {
  OwnerSession owner = open_migrated(call.settings().text("database.url"), "hostlerctl ledger");
  if (!owner.session) return fail(owner.status, owner.refusal);
  int64_t transactions = 0;
  int64_t accounts = 0;
  std::string after = first_id;
  while (after != last_id) {
    postgres::Result page =
        owner.session->run(query::LedgerPage{.after_org_id = after, .rows_max = page_rows});
    const postgres::Row& found = page.front();
    // The last look goes past the last account: nothing may be there.
    std::string last(found.is_null("last_org_id") ? last_id : found.text("last_org_id"));
    postgres::Result fault =
        owner.session->run(query::LedgerFault{.after_org_id = after, .last_org_id = last});
    if (!fault.empty()) return print_fault(fault.front(), call.as_json);
    transactions += found.integer("transactions");
    accounts += found.integer("accounts");
    after = last;
  }
  JsonWriter json;
  json.begin_object().member("ok", true).member("transactions", transactions);
  json.member("accounts", accounts).end_object();
  return answer(
      call.as_json, json.take(),
      fmt::format("the ledger is right: {} of {}\n", count_text(transactions, "transaction"),
                  count_text(accounts, "account")));
}

struct CreditAdjustment {
  std::string org;     // id, slug, or a login for somebody's personal organization
  int64_t amount = 0;  // positive adds
  std::optional<std::string> note;
};

// Like over HTTP, because members of the organization read it.
bool is_note(std::string_view text) {
  constexpr size_t characters_max = 1000;
  return is_utf8(text) && !has_control(text) && character_count(text) <= characters_max;
}

// Throws Error (orgs_not_found, credits_insufficient, validation_error).
int adjust_credits(const CommandCall& call, const CreditAdjustment& adjustment) {
  if (adjustment.amount == 0) return fail(exit_usage, "--amount must not be 0");
  if (adjustment.note && !is_note(*adjustment.note)) {
    return fail(exit_usage, "--note must have at most 1000 characters and no control characters");
  }
  OwnerSession owner = open_migrated(call.settings().text("database.url"), "hostlerctl credits");
  if (!owner.session) return fail(owner.status, owner.refusal);
  owner.session->begin();
  owner.session->run(query::OperatorSetContext{});
  postgres::Result adjusted =
      owner.session->run(query::OperatorCreditAdjust{.org_name = account::login_key(adjustment.org),
                                                     .amount = adjustment.amount,
                                                     .note = adjustment.note});
  std::string account(adjusted.text());
  owner.session->commit();
  std::optional<Json> shown = parse_json_or_nothing(account);
  int64_t balance = shown ? shown->integer_or("balance", 0) : 0;
  return answer(call.as_json, account, fmt::format("the balance is {}\n", balance));
}

}  // namespace

void add_ledger_commands(CommandLine& line) {
  CommandWord ledger = line.topic("ledger", "check the ledger of credits");
  line.command(ledger, "verify", "print the first row that is wrong, or none", verify_ledger);
  CommandWord credits = line.topic("credits", "change credits by hand");
  auto adjustment = std::make_shared<CreditAdjustment>();
  CommandWord adjust = line.command(
      credits, "adjust", "add or take credits of an organization",
      [adjustment](const CommandCall& call) { return adjust_credits(call, *adjustment); });
  adjust.add_option("--org", adjustment->org, "id or slug, or a login for that user's own")
      .required();
  adjust.add_option("--amount", adjustment->amount, "negative takes")
      .within(-INT64_MAX, INT64_MAX)
      .required();
  adjust.add_option("--note", adjustment->note, "the reason, for the ledger");
}

}  // namespace hostler
