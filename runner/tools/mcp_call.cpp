// See runner/tools/mcp_call.h.
#include "runner/tools/mcp_call.h"

#include <optional>
#include <utility>

#include "lib/crypto.h"
#include "lib/json.h"
#include "lib/loop/wait.h"
#include "lib/postgres/database.h"
#include "queries/mcp_calls.h"
#include "queries/mcp_tasks.h"
#include "runner/mcp/remote_call.h"
#include "runner/oauth/server_credentials.h"
#include "runner/tools/held_calls.h"
#include "runner/tools/mcp_outcome.h"
#include "runner/tools/mcp_state.h"
#include "runner/tools/webhook_call.h"

namespace hostler::runner {
namespace {

constexpr int tries_max = 3;
constexpr int64_t first_pause_ms = 250;    // doubled from try to try
constexpr int64_t limit_ms = 300'000;      // of one request and its answer
constexpr int64_t authorizations_max = 3;  // of one call
constexpr size_t request_state_bytes_max = 64 << 10;
constexpr int64_t held_ms = 20'000;  // as HeldCalls renews it

OAuthServices mcp_services(ToolServices& services) {
  return {services.loop, services.db, services.http, services.secrets, services.settings};
}

ToolOutcome nobody_to_ask() {
  return tool_failed("tool.denied",
                     "The tool's server asks a person, but this protocol cannot ask anybody.");
}

// Why the call is not made.
ToolOutcome refusal_of(std::string_view state) {
  if (state == "unknown") return outcome_unknown();
  if (state == "used_up") {
    return tool_failed("tool.timeout", "The tool was called three times without an answer.");
  }
  if (state == "changed") {
    return tool_failed(
        "tool.definition_changed",
        "Its server has changed the tool since it was approved. It must be approved again.");
  }
  if (state == "gone") {
    return tool_failed("tool.unknown",
                       "The tool does not exist any more, or its server has another address now.");
  }
  return tool_failed("tool.timeout", "Another daemon has taken the run.");
}

// One call, from its first try to its end or to a wait.
class CallUnderWay {
 public:
  CallUnderWay(ToolServices& services, HeldCalls& held, ToolContext context, McpCall call)
      : services_(services), held_(held), context_(std::move(context)), call_(std::move(call)) {}

  Task<McpOutcome> make();

 private:
  Task<postgres::Result> begin();
  Task<void> keep(McpState state, int more_authorizations);
  Task<McpOutcome> end(ToolOutcome outcome);
  Task<McpOutcome> authorize(int64_t authorizations);
  Task<McpOutcome> deny();
  Task<McpOutcome> begin_task(std::optional<std::string> task_id, std::string connection_id,
                              int64_t due_ms);
  Task<McpOutcome> go_on_away(int64_t authorizations);
  Task<std::optional<McpOutcome>> asked(RemoteOutcome came);
  Task<std::optional<McpOutcome>> asked_on_stream(HeldCalls::Call held);
  Task<std::optional<McpOutcome>> answered(RemoteOutcome came, int64_t authorizations);
  Task<std::optional<McpOutcome>> send(postgres::Result begun, ToolPermits::Permit permit);
  RemoteCall request_of(const postgres::Row& row) const;

  ToolServices& services_;
  HeldCalls& held_;
  ToolContext context_;
  McpCall call_;
  McpState state_;
  int64_t tries_ = 0;
  int repeated_ = 0;  // tries of ours that may be followed by another
  bool is_kept_ = false;
  std::string server_key_;
  std::string url_;  // of the first try: another address ends the call
};

Task<postgres::Result> CallUnderWay::begin() {
  postgres::BoundStatement beginning =
      query::McpCallBegin{.run_id = context_.run_id,
                          .epoch = context_.epoch,
                          .turn = call_.turn,
                          .tool_call_id = call_.call.id,
                          .tool_name = call_.call.name,
                          .server_id = call_.tool.server_id,
                          .tool = call_.tool.tool,
                          .hash = call_.tool.hash,
                          .is_idempotent = call_.tool.is_idempotent,
                          .tries_known = tries_,
                          .tries_max = tries_max,
                          .try_id = to_hex(random_bytes(16))};
  Task<postgres::Result> work = ask_postgres(mcp_services(services_), std::move(beginning));
  postgres::Result begun = co_await work;
  co_return begun;
}

// A run that is fenced goes on without: what it says is not kept either.
Task<void> CallUnderWay::keep(McpState state, int more_authorizations) {
  is_kept_ = true;
  postgres::BoundStatement keeping = query::McpCallKeep{.run_id = context_.run_id,
                                                        .epoch = context_.epoch,
                                                        .tool_call_id = call_.call.id,
                                                        .remote_state = mcp_state_json(state),
                                                        .more_authorizations = more_authorizations};
  Task<postgres::Result> work = ask_postgres(mcp_services(services_), std::move(keeping));
  co_await work;
}

// State that nobody may repeat is stored before the step that shows it, and stored state for
// continuing is deleted.
Task<McpOutcome> CallUnderWay::end(ToolOutcome outcome) {
  bool is_kept = is_kept_ || state_.away != McpState::Away::no;
  if (!call_.tool.is_idempotent || is_kept) {
    postgres::BoundStatement ending =
        query::McpCallEnd{.run_id = context_.run_id,
                          .epoch = context_.epoch,
                          .tool_call_id = call_.call.id,
                          .result = early_json(call_.call.id, outcome)};
    Task<postgres::Result> work = ask_postgres(mcp_services(services_), std::move(ending));
    co_await work;
  }
  co_return outcome;
}

Task<McpOutcome> CallUnderWay::authorize(int64_t authorizations) {
  if (authorizations >= authorizations_max) {
    ToolOutcome refused =
        tool_failed("tool.not_connected", "The server has refused the authorization three times.");
    Task<McpOutcome> ending = end(std::move(refused));
    McpOutcome ended = co_await ending;
    co_return ended;
  }
  state_.stage = McpState::Stage::authorize;
  // The server was not contacted so far, so the person may connect with another address.
  if (state_.questions.empty()) state_.url.clear();
  co_await keep(state_, 1);
  co_return McpAuthorization{call_.tool.server_id, server_key_};
}

Task<McpOutcome> CallUnderWay::deny() {
  Task<McpOutcome> ending = end(nobody_to_ask());
  McpOutcome ended = co_await ending;
  co_return ended;
}

// The call goes on without the run: as a task, or on its stream, where its server asks.
Task<McpOutcome> CallUnderWay::begin_task(std::optional<std::string> task_id,
                                          std::string connection_id, int64_t due_ms) {
  std::optional<std::string> holder;
  if (!task_id) holder = held_.claim_id();
  std::optional<std::string> connection;
  if (!connection_id.empty()) connection = std::move(connection_id);
  postgres::BoundStatement beginning =
      query::McpTaskBegin{.run_id = context_.run_id,
                          .epoch = context_.epoch,
                          .tool_call_id = call_.call.id,
                          .server_id = call_.tool.server_id,
                          .task_id = task_id,
                          .url = url_,
                          .tool = call_.tool.tool,
                          .hash = call_.tool.hash,
                          .connection_id = connection,
                          .is_idempotent = call_.tool.is_idempotent,
                          .remote_state = mcp_state_json(state_),
                          .claim_id = holder,
                          .due_ms = due_ms};
  Task<postgres::Result> work = ask_postgres(mcp_services(services_), std::move(beginning));
  co_await work;
  std::optional<McpQuestion> question = open_question(state_);
  if (question) co_return *std::move(question);
  co_return McpAway{};
}

// The server's request to a person, and its answer.
Task<McpOutcome> CallUnderWay::go_on_away(int64_t authorizations) {
  bool is_asking = state_.stage == McpState::Stage::questions;
  std::optional<McpQuestion> question;
  if (is_asking) question = open_question(state_);
  bool wants_person = question || state_.stage == McpState::Stage::unauthorized;
  if (wants_person && call_.asks_nobody) {
    Task<McpOutcome> denying = deny();
    McpOutcome denied = co_await denying;
    co_return denied;
  }
  if (question) co_return *std::move(question);
  if (state_.stage == McpState::Stage::unauthorized) {
    Task<McpOutcome> authorizing = authorize(authorizations);
    McpOutcome outcome = co_await authorizing;
    co_return outcome;
  }
  if (state_.stage != McpState::Stage::away) {
    state_.stage = McpState::Stage::away;
    postgres::BoundStatement resuming =
        query::McpTaskResume{.run_id = context_.run_id,
                             .epoch = context_.epoch,
                             .tool_call_id = call_.call.id,
                             .remote_state = mcp_state_json(state_)};
    Task<postgres::Result> work = ask_postgres(mcp_services(services_), std::move(resuming));
    co_await work;
    held_.look();
  }
  co_return McpAway{};
}

// Returns nothing if the server only wants to be asked again, with its state.
Task<std::optional<McpOutcome>> CallUnderWay::asked(RemoteOutcome came) {
  state_.rounds += 1;
  std::optional<std::string> questions = askable(came.questions, came.request_state.has_value());
  bool is_too_much = came.request_state && came.request_state->size() > request_state_bytes_max;
  if (is_too_much) questions.reset();
  if (state_.rounds > question_rounds_max || !questions) {
    ToolOutcome refused = tool_failed(
        "tool.failed",
        "The server asks for something other than a form for a person, or more than 16 times.");
    Task<McpOutcome> ending = end(std::move(refused));
    McpOutcome ended = co_await ending;
    co_return ended;
  }
  state_.stage = McpState::Stage::questions;
  state_.questions = std::move(*questions);
  state_.request_state = std::move(came.request_state);
  state_.url = url_;
  state_.answers = "{}";
  co_await keep(state_, 0);
  std::optional<McpQuestion> question = open_question(state_);
  if (!question) co_return std::nullopt;
  co_return *std::move(question);
}

// An older server asks: its stream is held from here on.
Task<std::optional<McpOutcome>> CallUnderWay::asked_on_stream(HeldCalls::Call held) {
  state_ = held.state();
  ToolPermits::Permit permit = co_await services_.held.take(context_.org_id, context_.user_id);
  Task<McpOutcome> beginning = begin_task(std::nullopt, held.connection_id(), held_ms);
  McpOutcome question = co_await beginning;
  held.let_go(std::move(permit));
  co_return question;
}

RemoteCall CallUnderWay::request_of(const postgres::Row& row) const {
  RemoteCall request;
  request.server.id = call_.tool.server_id;
  request.server.url = row.text("url");
  request.server.is_org_scope = row.boolean("is_org_scope");
  request.server.protocol_version = row.text_or_null("protocol_version").value_or("");
  request.credential.server_id = call_.tool.server_id;
  request.credential.url = row.text("url");
  request.credential.org_id = row.text("org_id");
  request.credential.user_id = row.text("creator_id");
  request.credential.by_key = row.boolean("is_by_key");
  request.tool = call_.tool.tool;
  request.may_repeat = call_.tool.is_idempotent || call_.tool.is_read_only;
  request.definition = row.text("definition");
  std::optional<Json> arguments = parse_json_or_nothing(call_.call.arguments);
  request.arguments = arguments && arguments->is_object() ? arguments->dump() : "{}";
  request.limit_ms = limit_ms;
  request.trace_id = context_.trace_id;
  if (!state_.questions.empty()) {
    request.input_responses = state_.answers;
    request.request_state = state_.request_state;
  }
  return request;
}

// Converts the server's answer into the outcome of the call. Returns nothing to try again, because
// the call was not carried out, or may be carried out twice.
Task<std::optional<McpOutcome>> CallUnderWay::answered(RemoteOutcome came, int64_t authorizations) {
  using Ending = RemoteOutcome::Ending;
  Ending ending = came.ending;
  if (ending == Ending::never_sent || (ending == Ending::unknown && call_.tool.is_idempotent)) {
    if (++repeated_ < tries_max) co_return std::nullopt;
  }
  if (ending == Ending::input_required) {
    Task<std::optional<McpOutcome>> asking = asked(std::move(came));
    std::optional<McpOutcome> question = co_await asking;
    co_return question;
  }
  if (ending == Ending::task) {
    state_ = McpState();
    state_.stage = McpState::Stage::away;
    state_.away = McpState::Away::task;
    Task<McpOutcome> beginning =
        begin_task(std::move(came.task_id), std::move(came.connection_id), came.poll_ms);
    McpOutcome away = co_await beginning;
    co_return away;
  }
  bool is_unauthorized = ending == Ending::needs_authorization;
  ToolOutcome outcome = tool_outcome_of(came, call_.tool.is_idempotent);
  Task<McpOutcome> work = is_unauthorized ? authorize(authorizations) : end(std::move(outcome));
  McpOutcome ended = co_await work;
  co_return ended;
}

// One request, and what comes of it; nothing: it is to be tried again.
Task<std::optional<McpOutcome>> CallUnderWay::send(postgres::Result begun,
                                                   ToolPermits::Permit permit) {
  postgres::Row row = begun.front();
  int64_t authorizations = row.integer("authorizations");
  RemoteCall request = request_of(row);
  RemoteOutcome came;
  if (request.server.protocol_version == modern_version) {
    RemoteSession session(mcp_services(services_), session_of(request));
    Task<RemoteOutcome> sending = call_remote(mcp_services(services_), session, std::move(request));
    came = co_await sending;
  } else {
    HeldKey key{context_.run_id, call_.call.id, call_.tool.is_idempotent};
    HeldCalls::Call held =
        held_.begin(std::move(key), std::move(request), call_.asks_nobody, std::move(permit));
    std::optional<RemoteOutcome> ended = co_await held.next();
    if (!ended) {
      Task<std::optional<McpOutcome>> asking = asked_on_stream(std::move(held));
      std::optional<McpOutcome> question = co_await asking;
      co_return question;
    }
    came = std::move(*ended);
  }
  Task<std::optional<McpOutcome>> answering = answered(std::move(came), authorizations);
  std::optional<McpOutcome> outcome = co_await answering;
  co_return outcome;
}

Task<McpOutcome> CallUnderWay::make() {
  for (;;) {
    // Not while it pauses between tries: that costs nobody anything.
    ToolPermits::Permit permit = co_await services_.calls.take(context_.org_id, context_.user_id);
    postgres::Result begun = co_await begin();
    postgres::Row row = begun.front();
    std::string state(row.text("state"));
    if (state == "result") co_return early_outcome(row.text("early"));
    server_key_ = row.text("server_key");
    state_ = read_mcp_state(row.text_or_null("remote_state").value_or(""));
    if (state == "away") {
      Task<McpOutcome> going_on = go_on_away(row.integer("authorizations"));
      McpOutcome outcome = co_await going_on;
      co_return outcome;
    }
    // Its server asked, and is gone or switched off since: it was not told to go on.
    bool was_asked =
        state_.stage == McpState::Stage::questions || state_.stage == McpState::Stage::authorize;
    if (state == "unknown" && was_asked) state = "gone";
    if (state == "send" && url_.empty()) url_ = row.text("url");
    if (state == "send" && url_ != row.text("url")) state = "gone";
    if (state != "send") co_return refusal_of(state);
    tries_ = row.integer("tries");
    std::optional<McpQuestion> question;
    if (state_.stage == McpState::Stage::questions) question = open_question(state_);
    if (question) co_return *std::move(question);
    McpState before = state_;
    bool goes_on = before.stage != McpState::Stage::fresh;
    state_.stage = McpState::Stage::sent;
    state_.url = url_;
    if (goes_on) co_await keep(state_, 0);
    Task<std::optional<McpOutcome>> sending = send(std::move(begun), std::move(permit));
    std::optional<McpOutcome> outcome = co_await sending;
    if (outcome) co_return *std::move(outcome);
    if (goes_on && state_.stage == McpState::Stage::sent) co_await keep(before, 0);
    co_await loop::sleep_ms(services_.loop, first_pause_ms << repeated_);
  }
}

}  // namespace

Task<McpOutcome> call_mcp_tool(ToolServices& services, HeldCalls& held, ToolContext context,
                               McpCall call) {
  CallUnderWay under_way(services, held, std::move(context), std::move(call));
  Task<McpOutcome> making = under_way.make();
  McpOutcome outcome = co_await making;
  co_return outcome;
}

}  // namespace hostler::runner
