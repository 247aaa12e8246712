// Answers of a human to a run that asks: a text, a decision, a form. Statements:
// sql/queries/runs.sql.
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "fcgi/api/handlers.h"
#include "fcgi/api/runs/confirmation.h"
#include "fcgi/api/runs/edited_arguments.h"
#include "fcgi/http/input.h"
#include "fcgi/identity/caller_database.h"
#include "lib/blank_text.h"
#include "lib/loop/wait.h"
#include "queries/runs.h"

namespace hostler {
namespace {

struct HumanAnswer {
  std::string content;
  std::optional<std::string> request_id;  // what it answers; nothing: whatever the run asks
  Confirmation confirmation;              // what it is, should the run ask for one
};

HumanAnswer read_answer(const Input& input) {
  Fields fields = input.body();
  HumanAnswer answer;
  answer.content = fields.required_text("content", {.bytes_max = 32 << 10, .takes_control = true});
  if (is_blank_text(answer.content)) fields.fault("content", "required", "must not be blank");
  if (fields.has("request_id")) answer.request_id = fields.required_id("request_id");
  fields.check();
  answer.confirmation = read_confirmation(answer.content);
  return answer;
}

// Throws the 422 of arguments that the tool does not take: the run still waits then. What is
// answered is what was checked, whatever the run asks by the time of the answer.
Task<void> check_edited(Call& call, const std::string& run_id, HumanAnswer& answer) {
  postgres::BoundStatement asking = query::RunConfirms{.run_id = run_id};
  postgres::Result asked = co_await call.database.query(std::move(asking));
  if (asked.empty()) co_return;
  std::string request_id(asked.front().text("request_id"));
  std::optional<std::string> parameters = asked.front().text_or_null("parameters");
  if (answer.request_id.value_or(request_id) != request_id) co_return;
  answer.request_id = std::move(request_id);
  if (!parameters) co_return;
  std::function<std::vector<std::string>()> check = [parameters = std::move(*parameters),
                                                     arguments = *answer.confirmation.arguments] {
    return edited_arguments_faults(parameters, arguments);
  };
  std::vector<std::string> wrong = co_await loop::on_thread(call.loop, std::move(check));
  Faults faults;
  // Only one fault of a field is reported, so this one names all of them.
  if (!wrong.empty()) {
    faults.add("content", "bad_format", fmt::format("{}", fmt::join(wrong, "; ")));
  }
  faults.check();
}

postgres::BoundStatement storing(const Input& input, std::string run_id, HumanAnswer answer) {
  Confirmation& confirmation = answer.confirmation;
  std::optional<int64_t> json_offset;
  std::optional<std::string> json_found = std::move(confirmation.member);
  if (confirmation.json_fault) {
    json_offset = static_cast<int64_t>(confirmation.json_fault->offset);
    json_found = std::move(confirmation.json_fault->message);
  }
  return query::RunInput{.run_id = std::move(run_id),
                         .content = std::move(answer.content),
                         .limit_input_bytes = input.settings.integer("limit.input_bytes"),
                         .decision = confirmation.decision,
                         .arguments = confirmation.arguments,
                         .reason = confirmation.reason,
                         .fault = confirmation.fault,
                         .json_offset = json_offset,
                         .json_found = json_found,
                         .request_id = answer.request_id};
}

}  // namespace

// Whether a question or a confirmation is asked for is known behind the run's lock.
Task<Response> answer_run(Call& call) {
  HumanAnswer answer = read_answer(call.input);
  std::string run_id(call.input.path_value("run_id"));
  if (answer.confirmation.arguments) co_await check_edited(call, run_id, answer);
  postgres::Batch statements;
  statements.add(storing(call.input, run_id, std::move(answer)));
  postgres::Batch notifications;
  notifications.add(query::RunNotify{})
      .add(query::RunControlNotify{.run_ids = std::vector{run_id}});
  co_await call.database.batch(std::move(statements), std::move(notifications));
  co_return Response::ok();
}

}  // namespace hostler
