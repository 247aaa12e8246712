// See runner/tools/held_calls.h.
#include "runner/tools/held_calls.h"

#include <exception>
#include <utility>

#include "lib/crypto.h"
#include "lib/json.h"
#include "lib/log.h"
#include "queries/mcp_tasks.h"
#include "runner/tools/mcp_outcome.h"
#include "runner/tools/webhook_call.h"

namespace hostler::runner {
namespace {

constexpr int64_t limit_ms = 600'000;  // of a call, with all that its server asks
constexpr int64_t poll_ms = 1000;
// So long a stream counts as held after this daemon was heard of last.
constexpr int claim_seconds = 20;
constexpr std::string_view no_answer = R"({"action":"cancel"})";

void log_call_failure(const std::string& name, std::exception_ptr failure) {
  log_error("mcp_held_call_failed", {{"call", name}, {"cause", loop::cause_of(failure)}});
}

// Answer of the person in the form for the server of this stream, or empty while it is missing.
std::string answer_in(std::string_view json) {
  std::optional<Json> answers = parse_json_or_nothing(json);
  if (!answers || !answers->is_object() || answers->as_object()->empty()) return {};
  return answers->as_object()->front().second.dump();
}

}  // namespace

struct HeldCalls::Entry {
  Entry(HeldKey of, std::string task, ToolPermits::Permit taken)
      : key(std::move(of)), name(std::move(task)), permit(std::move(taken)) {}
  HeldKey key;
  std::string name;  // of its task
  std::optional<ToolPermits::Permit> permit;
  bool asks_nobody = false;
  McpState state;  // the question that is open
  bool is_asking = false;
  bool is_let_go = false;
  std::string answer;                      // that a person gave
  std::optional<RemoteOutcome> outcome;    // the end
  const RemoteSession* session = nullptr;  // while its task is at it
  loop::Signal changed;
};

// Nobody is left with a session that ended because its call was broken off.
struct HeldCalls::SessionEnd {
  Entry& entry;
  ~SessionEnd() { entry.session = nullptr; }
};

HeldCalls::HeldCalls(OAuthServices services)
    : services_(services),
      claim_id_(make_id()),
      self_(std::make_shared<HeldCalls*>(this)),
      tasks_(services.loop, log_call_failure) {}

HeldCalls::~HeldCalls() { *self_ = nullptr; }

HeldCalls::Call::Call(HeldCalls& calls, std::shared_ptr<Entry> entry)
    : calls_(&calls), entry_(std::move(entry)) {}

HeldCalls::Call::Call(Call&& other) noexcept
    : calls_(other.calls_), entry_(std::move(other.entry_)) {}

HeldCalls::Call::~Call() {
  if (entry_ && !entry_->is_let_go && !entry_->outcome) calls_->cancel(entry_);
}

Task<std::optional<RemoteOutcome>> HeldCalls::Call::next() {
  std::shared_ptr<Entry> entry = entry_;
  while (!entry->outcome && !entry->is_asking) co_await entry->changed.wait();
  co_return entry->outcome;
}

const McpState& HeldCalls::Call::state() const { return entry_->state; }

std::string HeldCalls::Call::connection_id() const {
  return entry_->session == nullptr ? std::string() : entry_->session->connection_id();
}

void HeldCalls::Call::let_go(ToolPermits::Permit permit) {
  entry_->is_let_go = true;
  entry_->permit.emplace(std::move(permit));
  if (entry_->outcome) {
    calls_->tasks_.add(calls_->store_outcome(entry_));
  } else {
    calls_->held_.emplace(entry_->name, entry_);
  }
}

HeldCalls::Call HeldCalls::begin(HeldKey key, RemoteCall call, bool asks_nobody,
                                 ToolPermits::Permit permit) {
  auto entry = std::make_shared<Entry>(std::move(key), make_id(), std::move(permit));
  entry->asks_nobody = asks_nobody;
  call.limit_ms = limit_ms;
  call.ask = [this, entry](std::string params) { return ask(entry, std::move(params)); };
  tasks_.add(entry->name, carry_out(entry, std::move(call)));
  return Call(*this, std::move(entry));
}

// The outcome is reported before the session is ended, because nobody waits for that end.
Task<void> HeldCalls::carry_out(std::shared_ptr<Entry> entry, RemoteCall call) {
  RemoteSession session(services_, session_of(call));
  entry->session = &session;
  SessionEnd at_end{*entry};
  Task<RemoteOutcome> calling = call_remote(services_, session, std::move(call));
  std::optional<RemoteOutcome> came =
      co_await loop::with_timeout(services_.loop, std::move(calling), limit_ms);
  entry->session = nullptr;
  if (!came) {
    came.emplace();
    came->ending = RemoteOutcome::Ending::unknown;
    came->message = "The server did not answer in ten minutes.";
  }
  entry->outcome = std::move(came);
  if (entry->is_let_go) {
    held_.erase(entry->name);
    co_await store_outcome(entry);
  } else {
    entry->changed.notify();
  }
  entry->permit.reset();
  Task<void> ending = session.end();
  co_await ending;
}

// Answers a request of the server on its stream with the result of elicitation/create. A server may
// ask on the call's stream and beside it at once. The person gets one question after the other.
Task<std::string> HeldCalls::ask(std::shared_ptr<Entry> entry, std::string params) {
  while (entry->is_asking) co_await entry->changed.wait();
  McpState& state = entry->state;
  state.rounds += 1;
  std::string key = "question-" + std::to_string(state.rounds);
  JsonWriter json;
  json.begin_object().key(key).begin_object().member("method", "elicitation/create");
  json.member_raw("params", params).end_object().end_object();
  std::optional<std::string> questions = askable(json.take(), false);
  bool may_ask = questions && !entry->asks_nobody && state.rounds <= question_rounds_max;
  if (!may_ask) co_return std::string(no_answer);
  state.stage = McpState::Stage::questions;
  state.away = McpState::Away::stream;
  state.questions = std::move(*questions);
  state.answers = "{}";
  entry->answer.clear();
  entry->is_asking = true;
  entry->changed.notify();
  if (entry->is_let_go) co_await show_question(entry);
  while (entry->answer.empty()) co_await entry->changed.wait();
  std::string answer = std::exchange(entry->answer, std::string());
  entry->is_asking = false;
  // Not from here: who waits would ask before this answer is on its way.
  services_.loop.defer([entry] { entry->changed.notify(); });
  co_return answer;
}

// The run continues and asks. While it is busy with another call, it is notified later.
Task<void> HeldCalls::show_question(std::shared_ptr<Entry> entry) {
  for (;;) {
    Task<bool> asking = end_in_postgres(entry, "asks", mcp_state_json(entry->state), std::nullopt);
    bool goes_on = co_await asking;
    if (goes_on) co_return;
    co_await loop::sleep_ms(services_.loop, poll_ms);
  }
}

Task<void> HeldCalls::store_outcome(std::shared_ptr<Entry> entry) {
  bool is_idempotent = entry->key.is_idempotent;
  ToolOutcome outcome = tool_outcome_of(*entry->outcome, is_idempotent);
  std::string own = early_json(entry->key.tool_call_id, outcome);
  Task<bool> storing = end_in_postgres(entry, "result", std::nullopt, std::move(own));
  co_await storing;
}

Task<bool> HeldCalls::end_in_postgres(std::shared_ptr<Entry> entry, std::string verdict,
                                      std::optional<std::string> kept,
                                      std::optional<std::string> own) {
  postgres::BoundStatement ending = query::McpTaskEnd{.run_id = entry->key.run_id,
                                                      .tool_call_id = entry->key.tool_call_id,
                                                      .claim_id = claim_id_,
                                                      .verdict = std::move(verdict),
                                                      .remote_state = kept,
                                                      .result = own,
                                                      .due_ms = claim_seconds * 1000,
                                                      .has_failed = false};
  postgres::Result ended = co_await ask_postgres(services_, std::move(ending));
  bool goes_on = ended.front().boolean("goes_on");
  Task<void> telling = tell_of_run(services_, entry->key.run_id, goes_on);
  co_await telling;
  co_return goes_on;
}

// Not from within the call's own coroutine, which may have woken who cancels.
void HeldCalls::cancel(const std::shared_ptr<Entry>& entry) {
  held_.erase(entry->name);
  services_.loop.defer([self = self_, entry] {
    if (*self == nullptr || entry->outcome) return;
    std::optional<Task<void>> telling;
    if (entry->session != nullptr) telling = entry->session->cancelling();
    (*self)->tasks_.erase(entry->name);
    if (telling) (*self)->tasks_.add(std::move(*telling));
  });
}

void HeldCalls::look() {
  again_ = true;
  notified_.notify();
}

Task<void> HeldCalls::watch_forever() {
  for (;;) {
    if (!again_) co_await notified_.wait_for(services_.loop, poll_ms);
    again_ = false;
    if (!held_.empty()) co_await check();
  }
}

// Its result is stored before the server is notified, if that is allowed.
Task<void> HeldCalls::refuse(std::shared_ptr<Entry> entry, std::string refusal) {
  cancel(entry);
  ToolOutcome outcome = refused_away(refusal);
  std::string own = early_json(entry->key.tool_call_id, outcome);
  Task<bool> storing = end_in_postgres(entry, "result", std::nullopt, std::move(own));
  co_await storing;
}

// Answers go to their calls; those that nobody waits for any more end.
Task<void> HeldCalls::check() {
  postgres::Batch batch;
  batch.add(query::McpStreamsHeld{.claim_id = claim_id_, .claim_seconds = claim_seconds});
  auto known = held_;
  postgres::BatchOutcome outcome = co_await services_.db.attempt(std::move(batch));
  if (outcome.error) co_return;
  const postgres::Result& rows = outcome.results.at(0);
  for (auto& [name, entry] : known) {
    bool is_wanted = false;
    std::string refusal;
    for (int i = 0; i < rows.size(); ++i) {
      bool is_its = rows[i].text("run_id") == entry->key.run_id &&
                    rows[i].text("tool_call_id") == entry->key.tool_call_id;
      if (!is_its || rows[i].boolean("is_over")) continue;
      is_wanted = true;
      bool is_answered = rows[i].integer("rounds") == entry->state.rounds && entry->is_asking;
      if (is_answered) entry->answer = answer_in(rows[i].text("answers"));
      refusal = rows[i].text_or_null("refusal").value_or("");
      // If the tool changed meanwhile, its result is accepted, but nothing more is sent.
      if (refusal == "changed" && entry->answer.empty()) refusal.clear();
    }
    bool is_refused = is_wanted && !refusal.empty() && held_.contains(name);
    if (is_refused) {
      entry->answer.clear();
      co_await refuse(entry, refusal);
      continue;
    }
    if (!is_wanted && held_.contains(name)) cancel(entry);
    if (is_wanted && !entry->answer.empty()) entry->changed.notify();
  }
}

}  // namespace hostler::runner
