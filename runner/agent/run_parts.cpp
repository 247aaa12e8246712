// See runner/agent/run_parts.h.
#include "runner/agent/run_parts.h"

#include <algorithm>
#include <functional>
#include <limits>

#include "lib/json.h"
#include "lib/loop/wait.h"
#include "lib/postgres/with_retry.h"
#include "lib/tool_names.h"
#include "queries/daemon.h"
#include "queries/webhook_calls.h"
#include "runner/agent/conversation.h"
#include "runner/agent/given_history.h"
#include "runner/agent/run_history.h"
#include "runner/agent/thread_turns.h"
#include "runner/models/model_traits.h"
#include "runner/models/run_failure.h"
#include "runner/tools/result_words.h"
#include "runner/tools/tool_box.h"

namespace hostler::runner {
namespace {

ModelRequest request_of(AgentServices& services, const RunPtr& run, const Route& route) {
  std::shared_ptr<const config::Settings> settings = services.settings.current();
  ModelRequest request;
  request.endpoint = route.endpoint;
  request.traits = route.traits;
  request.trace_id = run->claim.trace_id;
  request.timeouts.connect_ms = settings->integer("model.connect_timeout_ms");
  request.timeouts.first_byte_ms = settings->integer("model.first_byte_timeout_ms");
  request.timeouts.idle_ms = settings->integer("model.idle_timeout_ms");
  return request;
}

RunLimits limits_of(const postgres::Row& row) {
  constexpr int64_t seconds_max =
      10LL * 366 * 86'400;  // as the setting; entitlements have no bound
  RunLimits limits;
  limits.turns = row.integer("limit_turns");
  limits.tool_calls = row.integer("limit_tool_calls");
  limits.seconds = std::min(row.integer("limit_seconds"), seconds_max);
  return limits;
}

std::vector<std::string> texts_of(std::string_view json) {
  std::vector<std::string> texts;
  std::optional<Json> parsed = parse_json_or_nothing(json);
  if (!parsed || !parsed->is_array()) return texts;
  for (const Json& item : *parsed->as_array()) {
    if (item.is_text()) texts.push_back(*item.as_text());
  }
  return texts;
}

void add_steps(RunParts& parts, const postgres::Result& turns, const postgres::Result& results,
               const postgres::Result& inputs) {
  // The provider may have got another address while the run waited.
  std::string origin = origin_of(parts.request.endpoint.base_url, parts.request.endpoint.model);
  for (int i = 0; i < turns.size(); ++i) {
    postgres::Row row = turns[i];
    FinishedTurn turn;
    turn.turn = static_cast<int>(row.integer("turn"));
    turn.parts = parts_from(row.text("parts"));
    keep_opaque_of(turn.parts, origin);
    parts.turns.push_back(std::move(turn));
    parts.last_step_seq = std::max(parts.last_step_seq, row.integer("last_seq"));
  }
  for (int i = 0; i < results.size(); ++i) {
    postgres::Row row = results[i];
    ToolResult result;
    result.name = row.text("tool_name");
    result.content = row.is_null("error_code")
                         ? words_of_result(row.text("result"))
                         : tool_error_json(std::string(row.text("error_code")),
                                           std::string(row.text("error_message")));
    result.error_code = row.text_or_null("error_code").value_or("");
    CallKey key{static_cast<int>(row.integer("turn")), std::string(row.text("tool_call_id"))};
    parts.results.emplace(std::move(key), std::move(result));
    parts.last_step_seq = std::max(parts.last_step_seq, row.integer("last_seq"));
  }
  for (int i = 0; i < inputs.size(); ++i) {
    postgres::Row row = inputs[i];
    CallKey key{static_cast<int>(row.integer("turn")), std::string(row.text("tool_call_id"))};
    HumanInput input;
    input.content = row.text("content");
    input.decision = row.text_or_null("decision").value_or("");
    input.arguments = row.text_or_null("arguments").value_or("");
    input.reason = row.text_or_null("reason").value_or("");
    parts.inputs.emplace(std::move(key), std::move(input));
  }
}

// Each request uses the provider's own mode. The prompt has the parts that the mode lacks.
void add_format(RunParts& parts, std::string_view declared) {
  parts.format = read_answer_format(declared);
  const ResponseFormat& wanted = parts.format->declared;
  parts.request.response_format = wanted;
  parts.format_words = format_instruction(parts.request.endpoint.provider_kind, wanted);
  add_to_prompt(parts, parts.format_words);
}

int64_t history_bytes_of(const Route& route) {
  int64_t context_tokens = route.context_tokens;
  int64_t learned_tokens = route.traits.context_tokens;
  if (learned_tokens > 0) context_tokens = std::min(context_tokens, learned_tokens);
  return history_bytes_max(context_tokens);
}

// Puts the words for a format that the other provider needs in place of this one's.
void replace_format_words(RunParts& parts) {
  std::string words =
      format_instruction(parts.request.endpoint.provider_kind, parts.format->declared);
  if (words == parts.format_words) return;
  size_t at =
      parts.format_words.empty() ? std::string::npos : parts.system_prompt.find(parts.format_words);
  if (at != std::string::npos) parts.system_prompt.erase(at, parts.format_words.size());
  add_to_prompt(parts, words);
  parts.format_words = std::move(words);
}

// Reads the parts of a run that come from its persona.
void add_persona(AgentServices& services, const RunPtr& run, const postgres::Row& row,
                 RunParts& parts) {
  parts.system_prompt = row.text("system_prompt");
  parts.tools = texts_of(row.text("tools"));
  parts.confirm_tools = texts_of(row.text("confirm_tools"));
  if (!row.is_null("temperature")) parts.request.temperature = row.number("temperature");
  if (!row.is_null("max_turns") && row.integer("max_turns") < parts.limits.turns) {
    parts.limits.turns = row.integer("max_turns");
    parts.limits.has_turns_of_persona = true;
  }
  if (run->claim.asks_nobody()) {
    std::erase_if(parts.tools,
                  [&](const std::string& name) { return services.tools.is_question(name); });
  }
}

RunParts parts_of(AgentServices& services, const RunPtr& run, const postgres::Row& row) {
  RunParts parts;
  parts.route = route_of(services.secrets, row);
  parts.has_chain = row.boolean("has_chain");
  if (!parts.route.has_readable_key && !parts.has_chain) {
    throw RunFailure("model.rejected", "The provider's key cannot be read; store it again.");
  }
  parts.request = request_of(services, run, parts.route);
  parts.limits = limits_of(row);
  if (!row.boolean("is_bare")) add_persona(services, run, row, parts);
  if (!row.is_null("sampling")) add_sampling(parts.request, row.text("sampling"));
  if (!row.is_null("function_tools")) parts.functions = DeclaredTools(row.text("function_tools"));
  parts.credits_exhausted = row.boolean("credits_exhausted");
  parts.funds = {row.boolean("is_budgeted"), row.integer("unheld_max")};
  parts.history_bytes = history_bytes_of(parts.route) - parts.functions.bytes();
  parts.history_messages =
      run->claim.has_own_history ? std::numeric_limits<size_t>::max() : history_messages_max;
  if (!row.is_null("client_context")) add_to_prompt(parts, row.text("client_context"));
  if (!row.is_null("response_format")) add_format(parts, row.text("response_format"));
  return parts;
}

// Reads the claim's answer for a run that begins. For a run that continues its events and steps
// must be read as well.
std::optional<ClaimedRow> claimed_row(const RunPtr& run) {
  std::optional<ClaimedRow> claimed = std::exchange(run->claimed_row, std::nullopt);
  if (run->claim.last_seq > 0 || run->claim.turns > 0) return std::nullopt;
  return claimed;
}

// Returns nothing if the thread has no messages. The run may then be gone.
Task<std::optional<RunParts>> claimed_parts(AgentServices& services, RunPtr run) {
  std::optional<ClaimedRow> claimed = claimed_row(run);
  if (!claimed) co_return std::nullopt;
  postgres::Row row = claimed->rows[claimed->index];
  RunParts parts = parts_of(services, run, row);
  if (!row.is_null("history")) {
    std::optional<std::vector<ChatMessage>> history = history_of(row.text("history"));
    if (!history) co_return std::nullopt;
    parts.history = *std::move(history);
    co_return parts;
  }
  if (!row.is_null("given_history")) {
    std::string given(row.text("given_history"));
    std::vector<EarlierTurn> none;
    co_await add_given_history(services, parts, std::move(given), std::move(none));
    co_return parts;
  }
  postgres::Batch load;
  load.add(history_statement(run));
  ask_for_earlier_turns(run, load);
  postgres::Results loaded = co_await load_with_retry(services, std::move(load));
  if (loaded.at(0).empty()) co_return std::nullopt;
  co_await add_history(services, run, parts, loaded.at(0), loaded);
  co_return parts;
}

// The webhook and remote tools that the persona names are asked for apart: few runs have any.
Task<void> offer_tools(AgentServices& services, RunPtr run, RunParts& parts) {
  std::vector<std::string> names;
  for (const std::string& name : parts.tools) {
    if (!is_tool_name(name)) names.push_back(name);
  }
  if (names.empty()) co_return;
  std::vector<std::string> taken;
  for (const ToolDefinition& tool : parts.functions.definitions()) taken.push_back(tool.name);
  postgres::Batch batch;
  batch.add(query::RunOfferTools{
      .run_id = run->claim.id, .epoch = run->claim.epoch, .names = names, .taken = taken});
  // It locks the run, so it has a connection of its own.
  Task<postgres::Results> work = load_with_retry(services, std::move(batch));
  postgres::Results offered = co_await work;
  postgres::Row row = offered.at(0).front();
  if (row.is_null("offered")) co_return;  // fenced: nothing of the run is written
  parts.offered = DeclaredTools(row.text("offered"));
  if (!parts.offered.definitions().empty()) parts.history_bytes -= parts.offered.bytes();
  run->writer->count_stored(row.integer("added"));
}

Task<void> leave_out_unserved(AgentServices& services, RunPtr run, RunParts& parts) {
  Task<std::vector<std::string>> asking = services.tools.unserved(run->claim.org_id, parts.tools);
  parts.unserved = co_await asking;
}

}  // namespace

Task<postgres::Results> read_with_retry(AgentServices& services, postgres::Batch batch) {
  return postgres::pipelined_with_retry(services.loop, services.db, std::move(batch));
}

std::string tool_error_json(const std::string& code, const std::string& message) {
  JsonWriter json;
  json.begin_object().key("error").begin_object();
  json.member("code", code).member("message", message).end_object();
  return json.end_object().take();
}

bool RunParts::has_open_calls() const {
  if (turns.empty()) return false;
  const FinishedTurn& last = turns.back();
  return std::any_of(last.parts.begin(), last.parts.end(), [&](const Part& part) {
    const ToolCall* call = std::get_if<ToolCall>(&part);
    return call != nullptr && !has_result(last.turn, call->id);
  });
}

bool RunParts::is_answered() const {
  return !turns.empty() && !has_calls(turns.back().parts) && turns.back().repair.empty();
}

std::vector<std::string> RunParts::offered_names() const {
  std::vector<std::string> names = tools;
  for (const std::string& name : unserved) std::erase(names, name);
  return names;
}

int RunParts::repairs() const {
  return static_cast<int>(std::count_if(
      turns.begin(), turns.end(), [](const FinishedTurn& turn) { return !turn.repair.empty(); }));
}

size_t RunParts::prompt_bytes() const {
  size_t bytes = system_prompt.size();
  for (const ChatMessage& message : history) bytes += bytes_of(message.parts);
  for (const FinishedTurn& turn : turns) bytes += bytes_of(turn.parts);
  for (const auto& [key, result] : results) bytes += result.content.size();
  return std::min(bytes, static_cast<size_t>(std::max<int64_t>(history_bytes, 0)));
}

std::vector<ChatMessage> RunParts::messages_within(int64_t bytes_max) const {
  std::vector<Exchange> exchanges;
  for (const FinishedTurn& turn : turns) {
    Exchange exchange;
    exchange.answer = ChatMessage(ChatRole::assistant, turn.parts);
    for (const ToolCall& call : turn.calls()) {
      // A turn follows when every call has its result. If one is missing anyway, the model gets a
      // note, because providers refuse a call without a result.
      auto found = results.find({turn.turn, call.id});
      ChatMessage& answer = exchange.results.emplace_back(
          ChatRole::tool, found == results.end()
                              ? tool_error_json("tool.timeout", "The call was not finished.")
                              : found->second.content);
      answer.tool_call_id = call.id;
    }
    if (!turn.repair.empty()) {
      // Providers refuse an answer without words.
      if (is_blank(turn.text())) exchange.answer.first_text() = "(The answer was empty.)";
      exchange.results.emplace_back(ChatRole::user, turn.repair);
    }
    exchanges.push_back(std::move(exchange));
  }
  return fitted_messages(system_prompt, history, std::move(exchanges), bytes_max, history_messages);
}

int64_t history_bytes_at(const RunParts& parts, const Route& route) {
  int64_t bytes = history_bytes_of(route) - parts.functions.bytes();
  if (!parts.offered.definitions().empty()) bytes -= parts.offered.bytes();
  return std::min(parts.history_bytes, bytes);
}

void take_route(RunParts& parts, const Route& route) {
  const ModelEndpoint& before = parts.request.endpoint;
  std::string old_origin = origin_of(before.base_url, before.model);
  std::string origin = origin_of(route.endpoint.base_url, route.endpoint.model);
  // Data without an origin came from a client, which has it from the route before.
  for (ChatMessage& message : parts.history) {
    name_origin(message.parts, old_origin);
    keep_opaque_of(message.parts, origin);
  }
  for (FinishedTurn& turn : parts.turns) keep_opaque_of(turn.parts, origin);
  parts.route = route;
  parts.request.endpoint = route.endpoint;
  parts.request.traits = route.traits;
  parts.request.adaptations_left = ModelRequest().adaptations_left;
  parts.fitted_tools.reset();
  parts.was_shortened = false;
  parts.history_bytes = history_bytes_at(parts, route);
  if (route.traits.wants_own_calls) {
    parts.history = without_foreign_calls(std::move(parts.history));
  }
  parts.history = with_shortened_results(std::move(parts.history), parts.history_bytes);
  if (parts.format) replace_format_words(parts);
}

Task<RunParts> load_run_parts(AgentServices& services, RunPtr run) {
  std::shared_ptr<const config::Settings> settings = services.settings.current();
  run->writer->limit_output(settings->integer("limit.run_event_bytes"));
  std::optional<RunParts> claimed = co_await claimed_parts(services, run);
  if (claimed) {
    co_await offer_tools(services, run, *claimed);
    co_await add_thread_turns(services, run, *claimed);
    co_await leave_out_unserved(services, run, *claimed);
    co_return *std::move(claimed);
  }
  postgres::Batch load;
  load.add(query::RunLoad{.run_id = run->claim.id,
                          .limit_agent_turns = settings->integer("limit.agent_turns"),
                          .limit_tool_calls = settings->integer("limit.tool_calls"),
                          .limit_run_seconds = settings->integer("limit.run_seconds")});
  load.add(history_statement(run));
  bool has_steps = run->claim.turns > 0;
  if (has_steps) {
    load.add(query::RunTurns{.run_id = run->claim.id});
    load.add(query::RunToolResults{.run_id = run->claim.id});
    load.add(query::RunInputs{.run_id = run->claim.id});
  }
  ask_for_earlier_turns(run, load);
  postgres::Results loaded = co_await load_with_retry(services, std::move(load));
  if (loaded.at(0).empty()) {
    // Postgres crashed before the commit that made it was on the disk. No client learned of it.
    throw Error(ErrorCode::runs_not_found, {}, "the run is gone");
  }
  RunParts parts = parts_of(services, run, loaded.at(0).front());
  co_await add_history(services, run, parts, loaded.at(1), loaded);
  if (has_steps) add_steps(parts, loaded.at(2), loaded.at(3), loaded.at(4));
  co_await offer_tools(services, run, parts);
  co_await add_thread_turns(services, run, parts);
  co_await leave_out_unserved(services, run, parts);
  co_return parts;
}

}  // namespace hostler::runner
