// Budgets of organizations; see ctl/budgets.h.
#include "ctl/budgets.h"

#include <charconv>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "ctl/output.h"
#include "ctl/owner_session.h"
#include "lib/account/account_rules.h"
#include "lib/ids.h"
#include "lib/json.h"
#include "queries/operator.h"
#include "queries/operator_budgets.h"

namespace hostler {
namespace {

struct BudgetOrder {
  std::string org;  // id, slug, or a login for somebody's personal organization
  std::string budget_id;
  std::optional<std::string> name;
  std::string subject_type = "org";
  std::optional<std::string> subject_id;
  std::string unit = "credits";
  std::optional<std::string> amount;
  std::string window = "month";
  std::string time_zone = "UTC";
  std::optional<std::string> on_exhausted;
  std::optional<std::string> percents;  // with commas between
  std::optional<std::string> is_active;
};

OwnerSession open_session(const CommandCall& call) {
  return open_migrated(call.settings().text("database.url"), "hostlerctl budget");
}

// Digits, with a point among them at most.
bool is_amount(std::string_view text) {
  bool has_digit = text.find_first_of("123456789") != text.npos;
  bool is_plain = text.find_first_not_of("0123456789.") == text.npos;
  return has_digit && is_plain && text.find('.') == text.rfind('.') && text.size() <= 40 &&
         !text.starts_with('.') && !text.ends_with('.');
}

// "50,80,100" as JSON; nothing when they are no ascending percents.
std::optional<std::string> percents_json(std::string_view text) {
  std::string json = "[";
  int last = 0;
  while (!text.empty()) {
    std::string_view digits = text.substr(0, text.find(','));
    text.remove_prefix(std::min(digits.size() + 1, text.size()));
    int percent = 0;
    auto read = std::from_chars(digits.data(), digits.data() + digits.size(), percent);
    bool is_whole = read.ec == std::errc() && read.ptr == digits.data() + digits.size();
    if (!is_whole || percent <= last || percent > 100) return std::nullopt;
    if (last > 0) json += ',';
    json += std::to_string(percent);
    last = percent;
  }
  return json + "]";
}

// The members that a new budget and a change have in common; a usage fault, or empty.
std::string write_members(const BudgetOrder& order, JsonWriter& json) {
  if (order.name) json.member("name", *order.name);
  if (order.amount) {
    if (!is_amount(*order.amount)) return "--amount must be a number above 0";
    json.member("amount", *order.amount);
  }
  if (order.percents) {
    std::optional<std::string> percents = percents_json(*order.percents);
    if (!percents) return "--alert-percents must be ascending, from 1 to 100, such as 50,80,100";
    json.member_raw("alert_percents", *percents);
  }
  if (order.on_exhausted) json.member("on_exhausted", *order.on_exhausted);
  return {};
}

int list_budgets_of(const CommandCall& call, const BudgetOrder& order) {
  OwnerSession owner = open_session(call);
  if (!owner.session) return fail(owner.status, owner.refusal);
  postgres::Result budgets =
      owner.session->run(query::OperatorBudgets{.org_name = account::login_key(order.org)});
  std::string lines;
  std::string json = "[";
  for (int i = 0; i < budgets.size(); ++i) {
    postgres::Row budget = budgets[i];
    if (i > 0) json += ',';
    json += budget.text("item");
    lines += fmt::format("{}  {} {}  {} of {} {} spent, {} held  {} {}  {}{}\n", budget.text("id"),
                         budget.text("subject_type"), budget.text("subject_id"),
                         budget.text("spent").empty() ? "-" : budget.text("spent"),
                         budget.text("amount"), budget.text("unit"),
                         budget.text("held").empty() ? "-" : budget.text("held"),
                         budget.text("period"), budget.text("time_zone"), budget.text("name"),
                         budget.boolean("is_active") ? "" : "  (inactive)");
  }
  return answer(call.as_json, json + "]", lines);
}

int create_budget_of(const CommandCall& call, const BudgetOrder& order) {
  JsonWriter wanted;
  wanted.begin_object();
  std::string fault = write_members(order, wanted);
  if (!fault.empty()) return fail(exit_usage, fault);
  if (!order.subject_id && order.subject_type != "org") {
    return fail(exit_usage, "say --subject-id, since the subject is not the organization");
  }
  if (!order.on_exhausted) wanted.member("on_exhausted", "wait");
  if (!order.percents) wanted.member_raw("alert_percents", "[]");
  wanted.member("subject_type", order.subject_type).member("unit", order.unit);
  if (order.subject_id) wanted.member("subject_id", *order.subject_id);
  wanted.member("window", order.window).member("time_zone", order.time_zone).end_object();
  OwnerSession owner = open_session(call);
  if (!owner.session) return fail(owner.status, owner.refusal);
  owner.session->begin();
  owner.session->run(query::OperatorSetContext{});
  postgres::Result made = owner.session->run(query::OperatorBudgetCreate{
      .org_name = account::login_key(order.org), .wanted = wanted.take()});
  std::string item(made.text());
  owner.session->commit();
  std::optional<Json> budget = parse_json_or_nothing(item);
  std::string id(budget ? budget->text_or("id") : "");
  return answer(call.as_json, item, fmt::format("budget {} made\n", id));
}

int update_budget_of(const CommandCall& call, const BudgetOrder& order) {
  if (!is_uuid(order.budget_id)) {
    return fail(exit_usage, fmt::format("{} is no id of a budget", order.budget_id));
  }
  JsonWriter changes;
  changes.begin_object();
  std::string fault = write_members(order, changes);
  if (!fault.empty()) return fail(exit_usage, fault);
  if (order.is_active) changes.member("is_active", *order.is_active == "true");
  std::string written = changes.end_object().take();
  if (written == "{}") return fail(exit_usage, "say what is to change");
  OwnerSession owner = open_session(call);
  if (!owner.session) return fail(owner.status, owner.refusal);
  owner.session->begin();
  owner.session->run(query::OperatorSetContext{});
  postgres::Result changed = owner.session->run(
      query::OperatorBudgetUpdate{.budget_id = order.budget_id, .changes = written});
  std::string item(changed.text());
  owner.session->commit();
  return answer(call.as_json, item, fmt::format("budget {} changed\n", order.budget_id));
}

int delete_budget_of(const CommandCall& call, const BudgetOrder& order) {
  if (!is_uuid(order.budget_id)) {
    return fail(exit_usage, fmt::format("{} is no id of a budget", order.budget_id));
  }
  OwnerSession owner = open_session(call);
  if (!owner.session) return fail(owner.status, owner.refusal);
  owner.session->begin();
  owner.session->run(query::OperatorSetContext{});
  owner.session->run(query::OperatorBudgetDelete{.budget_id = order.budget_id});
  owner.session->commit();
  return answer(call.as_json, R"({"ok":true})",
                fmt::format("budget {} deleted\n", order.budget_id));
}

void add_changes(CommandWord& command, BudgetOrder& order) {
  command.add_option("--name", order.name, "what people read");
  command.add_option("--amount", order.amount, "credits, or dollars with at most 9 decimals");
  command.add_option("--alert-percents", order.percents, "such as 50,80,100");
  command.add_option("--on-exhausted", order.on_exhausted, "what runs do when little is left")
      .one_of({"wait", "fail"});
}

}  // namespace

void add_budget_commands(CommandLine& line) {
  constexpr const char* named = "id or slug, or a login for somebody's own";
  CommandWord budgets = line.topic("budget", "what organizations may spend");
  auto order = std::make_shared<BudgetOrder>();
  CommandWord list = line.command(budgets, "list", "show an organization's",
                                  [order](const auto& c) { return list_budgets_of(c, *order); });
  list.add_option("ORG", order->org, named).required();
  CommandWord create =
      line.command(budgets, "create", "add one that the organization cannot change",
                   [order](const CommandCall& call) { return create_budget_of(call, *order); });
  create.add_option("ORG", order->org, named).required();
  add_changes(create, *order);
  create.add_option("--subject-type", order->subject_type, "whose runs it bounds")
      .one_of({"org", "member", "api_key", "end_user", "persona", "thread"})
      .shows_default();
  create.add_option("--subject-id", order->subject_id, "which; of org nothing is needed");
  create.add_option("--unit", order->unit, "of the amount")
      .one_of({"credits", "usd"})
      .shows_default();
  create.add_option("--window", order->window, "in which it is spent")
      .one_of({"day", "month", "total"})
      .shows_default();
  create.add_option("--time-zone", order->time_zone, "by whose clock").shows_default();
  CommandWord update =
      line.command(budgets, "update", "change one",
                   [order](const CommandCall& call) { return update_budget_of(call, *order); });
  update.add_option("BUDGET_ID", order->budget_id, "which one").required();
  add_changes(update, *order);
  update.add_option("--active", order->is_active, "whether it bounds runs")
      .one_of({"true", "false"});
  CommandWord remove =
      line.command(budgets, "delete", "take one away",
                   [order](const CommandCall& call) { return delete_budget_of(call, *order); });
  remove.add_option("BUDGET_ID", order->budget_id, "which one").required();
}

}  // namespace hostler
