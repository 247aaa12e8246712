// Runs that are there: shown, listed, retried, cancelled (run_begin.cpp makes them). Statements:
// sql/queries/runs.sql.
#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <vector>

#include "fcgi/api/handlers.h"
#include "fcgi/api/runs/marks.h"
#include "fcgi/http/input.h"
#include "lib/answer_repair.h"
#include "lib/ascii.h"
#include "lib/tool_names.h"
#include "queries/runs.h"

namespace hostler {
namespace {

// Returns 0, which no turn has, for anything that is not a number as this API writes it.
int64_t turn_named(std::string_view text) {
  constexpr size_t digits_max = 9;
  bool is_number = !text.empty() && text.size() <= digits_max && text.front() != '0' &&
                   std::all_of(text.begin(), text.end(), ascii::is_digit);
  int64_t turn = 0;
  if (is_number) std::from_chars(text.data(), text.data() + text.size(), turn);
  return turn;
}

}  // namespace

std::optional<postgres::BoundStatement> runs_that_stopped(const postgres::Result& result) {
  if (result.front().is_null("stopped")) return std::nullopt;
  return query::RunControlNotify{
      .run_ids = postgres::param::Uuids::as_written(result.front().text("stopped"))};
}

OneStatement retry_run(const Input& input) {
  return OneStatement::row(
             query::RunRetry{
                 .thread_id = input.path_value("thread_id"),
                 .limit_concurrent_runs = input.settings.integer("limit.concurrent_runs"),
                 .limit_concurrent_runs_per_user =
                     input.settings.integer("limit.concurrent_runs_per_user"),
                 .limit_queued_runs = input.settings.integer("limit.queued_runs"),
                 .limit_stored_bytes = input.settings.integer("limit.stored_bytes"),
                 .credit_run_hold = input.settings.integer("credit.run_hold"),
                 .limit_waiting_runs = input.settings.integer("limit.waiting_runs")},
             201)
      .notify(query::RunNotify{})
      .share_commit();
}

OneStatement list_thread_runs(const Input& input) {
  Page page = input.page();
  return OneStatement::items(
      input,
      query::ThreadRunPage{
          .thread_id = input.path_value("thread_id"), .limit = page.limit, .before = page.before},
      {.limit = page.limit});
}

OneStatement list_runs(const Input& input) {
  QueryFields fields = input.query();
  std::optional<std::string> status =
      fields.choice("status", {"running", "waiting_for_input", "completed", "failed", "cancelled"});
  std::optional<std::string> end_user = fields.text("end_user", end_user_bounds);
  std::optional<MetadataFilter> metadata = read_metadata_filter(input.routed.target, fields);
  Page page = Input::page_of(fields);
  fields.check();
  if (end_user || metadata) {
    query::RunMarkedPage wanted{.status = status,
                                .end_user = end_user,
                                .metadata_name = std::nullopt,
                                .metadata_value = std::nullopt,
                                .limit = page.limit,
                                .before = page.before};
    if (metadata) {
      wanted.metadata_name = metadata->name;
      wanted.metadata_value = metadata->value;
    }
    return OneStatement::items(input, std::move(wanted), {.limit = page.limit, .ends_early = true});
  }
  return OneStatement::items(
      input, query::RunPage{.status = status, .limit = page.limit, .before = page.before},
      {.limit = page.limit, .ends_early = true});
}

OneStatement show_run(const Input& input) {
  std::string_view run_id = input.path_value("run_id");
  return OneStatement::item(query::RunShow{.run_id = run_id})
      .otherwise(query::RunShowAny{.run_id = run_id});
}

OneStatement list_run_turns(const Input& input) {
  Page page = input.page();
  return OneStatement::items(
      input,
      query::RunTurnPage{
          .run_id = input.path_value("run_id"), .limit = page.limit, .before = page.before},
      {.limit = page.limit});
}

OneStatement show_turn_request(const Input& input) {
  std::vector<std::string> built_in(tool_names.begin(), tool_names.end());
  return OneStatement::row(query::RunTurnRequest{
      .run_id = input.path_value("run_id"),
      .turn = turn_named(input.path_value("turn")),
      .built_in_tools = built_in,
      .limit_history_tool_bytes = input.settings.integer("limit.history_tool_bytes"),
      .repair_opening = std::string(answer_repair_opening),
      .repair_closing = std::string(answer_repair_closing)});
}

OneStatement update_run(const Input& input) {
  Fields fields = input.body();
  std::optional<std::string> metadata = read_metadata(fields);
  fields.check_patch();
  return OneStatement::item(
      query::RunUpdate{.run_id = input.path_value("run_id"), .metadata = metadata.value_or("{}")});
}

OneStatement show_run_to_admin(const Input& input) {
  return OneStatement::row(query::RunAdminShow{.run_id = input.path_value("run_id")});
}

// A run that nobody owned is over now, and the next of its thread may begin; an owner is notified.
OneStatement cancel_run(const Input& input) {
  std::string run_id(input.path_value("run_id"));
  return OneStatement::ok(query::RunCancel{.run_id = run_id})
      .notify(query::RunNotify{})
      .notify(query::RunControlNotify{.run_ids = std::vector{run_id}});
}

}  // namespace hostler
