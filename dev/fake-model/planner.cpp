// The decisions of planner.h.
#include "dev/fake-model/planner.h"

#include <string>
#include <utility>

#include "dev/fake-model/answer_text.h"
#include "dev/fake-model/chat_checks.h"
#include "dev/fake-model/habits.h"
#include "dev/fake-model/own_members.h"
#include "dev/fake-model/refusal_forms.h"

namespace hostler::fake_model {
namespace {

constexpr size_t conversations_max = 4096;

Refusal failure(int64_t status, int64_t retry_after_s, std::string_view form = "") {
  Refusal refusal;
  refusal.status = static_cast<int>(status);
  refusal.retry_after_s = retry_after_s;
  refusal.message = "The script asks for status " + std::to_string(status) + ".";
  if (status < 400) {
    refusal.location = form;
    return refusal;
  }
  return form.empty() ? refusal : refusal_in_form(std::move(refusal), form);
}

Step say(std::string text) {
  Step step;
  step.text = std::move(text);
  return step;
}

// Demands of a request, unless the script names another action.
Step call_wanted(const ChatRequest& request) {
  Step step;
  step.kind = StepKind::tools;
  step.calls.push_back({{}, request.wanted_call, request.wanted_arguments});
  return step;
}

// Few requests do: reading all scripts of a history again would take time from those that do not.
bool may_have_own_members(const ChatRequest& request) {
  return request.history.find("[own ") != std::string::npos;
}

}  // namespace

std::string_view newest_script(std::string_view text) {
  std::string_view newest = text;
  int depth = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '[') ++depth;
    if (text[at] == ']' && depth > 0) --depth;
    bool is_parted = depth == 0 && text.substr(at).starts_with("\n\n");
    std::string_view rest = is_parted ? text.substr(at + 2) : std::string_view();
    if (rest.find('[') != std::string_view::npos) newest = rest;
  }
  return newest;
}

std::variant<Turn, Refusal> Planner::plan(const ChatRequest& request, const Json& body) {
  std::variant<std::vector<Turn>, ScriptFault> parsed =
      parse_script(newest_script(request.last_user_text));
  if (const ScriptFault* fault = std::get_if<ScriptFault>(&parsed)) {
    return refused("fake model script: " + fault->message);
  }
  std::vector<Turn>& turns = std::get<std::vector<Turn>>(parsed);
  if (auto refusal = refused_by_habit(turns, request, body)) return *std::move(refusal);
  if (may_have_own_members(request)) {
    if (auto refusal = refused_for_own_members(body, newest_script)) return *std::move(refusal);
  }
  size_t number = static_cast<size_t>(request.turn);
  bool is_first = request.turn == 0;
  std::string own_words = is_first ? friendly_answer(request) : answer_after_tools(request);
  bool is_told_nothing = turns.empty();
  if (is_told_nothing && is_first && !request.wanted_call.empty())
    return Turn{call_wanted(request)};
  if (is_told_nothing && !request.wanted_json.empty()) return Turn{say(request.wanted_json)};
  if (number >= turns.size()) return Turn{say(std::move(own_words))};
  Turn turn = std::move(turns[number]);
  if (!has_output(turn)) turn.push_back(say(std::move(own_words)));
  return with_failures(std::move(turn), request);
}

// Takes failures that have worn off out of the turn; a status that still applies is the answer.
std::variant<Turn, Refusal> Planner::with_failures(Turn turn, const ChatRequest& request) {
  Turn left;
  for (size_t i = 0; i < turn.size(); ++i) {
    Step& step = turn[i];
    uint64_t step_key = hash_of(std::to_string(request.conversation) + "/" + std::to_string(i));
    if (step.times > 0 && !fails_still(step, step_key)) continue;
    if (step.kind == StepKind::status) {
      return failure(step.number, step.retry_after_s, step.text);
    }
    bool is_last = step.times > 0;
    // An answer in one piece has no stream to put the error into.
    if (step.kind == StepKind::error_in_stream && !request.stream) return failure(500, 0);
    left.push_back(std::move(step));
    if (is_last) break;
  }
  if (!has_output(left)) {
    left.push_back(say(request.turn == 0 ? friendly_answer(request) : answer_after_tools(request)));
  }
  return left;
}

bool Planner::fails_still(const Step& step, uint64_t step_key) {
  auto [entry, is_new] = failures_.try_emplace(step_key, 0);
  if (is_new) {
    oldest_first_.push_back(step_key);
    if (oldest_first_.size() > conversations_max) {
      failures_.erase(oldest_first_.front());
      oldest_first_.pop_front();
    }
  }
  if (entry->second >= step.times) return false;
  ++entry->second;
  return true;
}

void Planner::reset() {
  failures_.clear();
  oldest_first_.clear();
}

}  // namespace hostler::fake_model
