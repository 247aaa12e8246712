// See runner/agent/model_turn.h.
#include "runner/agent/model_turn.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "lib/json.h"
#include "lib/log.h"
#include "lib/loop/wait.h"
#include "queries/model_tests.h"
#include "runner/agent/conversation.h"
#include "runner/agent/model_health.h"
#include "runner/agent/route_chain.h"
#include "runner/agent/run_images.h"
#include "runner/agent/thread_turns.h"
#include "runner/agent/tool_choice.h"
#include "runner/agent/turn_allowance.h"
#include "runner/models/model_client.h"
#include "runner/models/model_traits.h"
#include "runner/models/run_failure.h"
#include "runner/models/tool_schema.h"
#include "runner/tools/tool_box.h"

namespace hostler::runner {
namespace {

// Events of the model client while a turn streams.
class TurnObserver : public ModelObserver {
 public:
  // follows_text: the run said something before this turn.
  TurnObserver(RunWriter& writer, bool follows_text)
      : writer_(writer), follows_text_(follows_text) {}
  void on_text(TextChannel channel, std::string_view piece) override {
    // The stored answer joins the texts of turns likewise (append_turn_text).
    if (channel == TextChannel::answer && std::exchange(follows_text_, false)) {
      JsonWriter json;
      json.begin_object().member("content", turn_separator).end_object();
      writer_.append("message.delta", json.take());
    }
    writer_.append_delta(channel == TextChannel::thinking ? "thinking" : "", piece);
  }
  void on_retrying(int attempt, int64_t delay_ms, std::string_view reason) override {
    JsonWriter json;
    json.begin_object().member("attempt", attempt).member("delay_ms", delay_ms);
    json.member("reason", reason).end_object();
    writer_.append("run.retrying", json.take());
  }
  bool is_full() const override { return writer_.is_full(); }
  std::string full_message() const override { return writer_.output_failure().message; }
  bool is_blocked() const override { return writer_.log().is_full(); }
  Task<void> has_room() override { return writer_.log().has_room(); }
  bool is_behind() const override { return writer_.is_behind(); }
  Task<void> caught_up() override { return writer_.caught_up(); }

 private:
  RunWriter& writer_;
  bool follows_text_;
};

ModelRequest request_of_turn(const RunParts& parts) {
  ModelRequest request = parts.request;
  request.messages = parts.messages();
  request.sampling.tool_choice = choice_of_next_turn(parts);
  request.tools = *parts.fitted_tools;
  return request;
}

// Once a run: in its first turn.
void tell_left_out(const RunPtr& run, const RunParts& parts, const std::string& tool,
                   const std::string& reason) {
  if (!parts.turns.empty()) return;
  JsonWriter json;
  json.begin_object().member("tool_name", tool).member("reason", reason).end_object();
  run->writer->append("tool.left_out", json.take());
  log_warning("tool_left_out", {{"run_id", run->claim.id},
                                {"org_id", run->claim.org_id},
                                {"trace_id", run->claim.trace_id},
                                {"tool", tool},
                                {"cause", reason}});
}

// Once a run and daemon: makes the tools fit for the provider, and tells which ones cannot be. What
// is much is read on a thread of the pool.
Task<void> fit_run_tools(AgentServices& services, RunPtr run, RunParts& parts) {
  constexpr int64_t loop_bytes_max = 64 * 1024;
  std::vector<ToolDefinition> tools = services.tools.definitions(parts.offered_names());
  for (const DeclaredTools* declared : {&parts.offered, &parts.functions}) {
    for (ToolDefinition& tool : declared->definitions()) tools.push_back(std::move(tool));
  }
  ProviderKind kind = parts.request.endpoint.provider_kind;
  FittedTools all;
  if (parts.offered.bytes() + parts.functions.bytes() <= loop_bytes_max) {
    all = fit_tools(kind, std::move(tools));
  } else {
    std::function<FittedTools()> fit = [kind, tools = std::move(tools)] {
      return fit_tools(kind, tools);
    };
    all = co_await loop::on_thread<FittedTools>(services.loop, std::move(fit));
  }
  parts.fitted_tools = std::move(all.fitted);
  for (const LeftOutTool& tool : all.left_out) tell_left_out(run, parts, tool.name, tool.reason);
}

// The provider refuses the request for this tool, which looked fit.
void leave_out(const RunPtr& run, RunParts& parts, const ToolRefusal& refusal) {
  std::erase_if(*parts.fitted_tools,
                [&](const ToolDefinition& tool) { return tool.name == refusal.name; });
  tell_left_out(run, parts, refusal.name, refusal.reason);
}

int64_t bytes_of_all(const std::vector<ChatMessage>& messages) {
  size_t bytes = 0;
  for (const ChatMessage& message : messages) bytes += bytes_of(message.parts);
  return static_cast<int64_t>(bytes);
}

std::string name_of(const ChatMessage& message, bool is_newest) {
  switch (message.role) {
    case ChatRole::system:
      return "the system prompt";
    case ChatRole::tool:
      return "a tool's result";
    case ChatRole::assistant:
      return "an answer of the model";
    case ChatRole::user:
      return is_newest ? "the newest message" : "an earlier message";
  }
  return "a message";
}

RunFailure too_long(const std::vector<ChatMessage>& messages, const ContextExcess& excess) {
  auto longest = std::max_element(messages.begin(), messages.end(),
                                  [](const ChatMessage& a, const ChatMessage& b) {
                                    return bytes_of(a.parts) < bytes_of(b.parts);
                                  });
  std::string limit =
      excess.limit_tokens > 0 ? fmt::format(" ({} tokens)", excess.limit_tokens) : std::string();
  std::string message = fmt::format("The request is too long for the model{}.", limit);
  if (longest != messages.end()) {
    bool is_newest = std::none_of(longest + 1, messages.end(), [](const ChatMessage& later) {
      return later.role == ChatRole::user;
    });
    message += fmt::format(" Its longest part is {} with {} bytes: make it shorter or split it.",
                           name_of(*longest, is_newest), bytes_of(longest->parts));
  }
  return RunFailure("model.context_exceeded", std::move(message));
}

// Shortens the request until it fits, as far as the refusal says how. Once per run: a request that
// is still refused is too long by itself.
void shorten_history(RunParts& parts, const std::vector<ChatMessage>& sent,
                     const ContextExcess& excess) {
  int64_t sent_bytes = bytes_of_all(sent);
  int64_t bytes = sent_bytes / 2;
  if (excess.limit_tokens > 0 && excess.asked_tokens > excess.limit_tokens) {
    double share =
        static_cast<double>(excess.limit_tokens) / static_cast<double>(excess.asked_tokens);
    bytes = static_cast<int64_t>(static_cast<double>(sent_bytes) * share * 0.75);
  } else if (excess.limit_tokens > 0) {
    bytes = std::min(sent_bytes / 4 * 3, history_bytes_max(excess.limit_tokens));
  }
  parts.history_bytes = std::min(parts.history_bytes, std::max<int64_t>(bytes, 1));
  parts.history = with_shortened_results(std::move(parts.history), parts.history_bytes);
  bool is_shorter =
      !std::exchange(parts.was_shortened, true) && bytes_of_all(parts.messages()) < sent_bytes;
  if (!is_shorter) throw too_long(sent, excess);
}

// True: the request is made again in another form, since the provider refused this one.
bool asks_again(const RunPtr& run, RunParts& parts) {
  const ModelTurn& turn = run->progress.turn;
  if (turn.wants_other_history) {
    parts.history = without_foreign_calls(std::move(parts.history));
  } else if (turn.refused_tool) {
    leave_out(run, parts, *turn.refused_tool);
  } else if (turn.context_excess) {
    shorten_history(parts, parts.messages(), *turn.context_excess);
  } else {
    return false;
  }
  return true;
}

void note_health(AgentServices& services, const RunPtr& run, const RunParts& parts,
                 const RouteEnd& end, bool is_probe) {
  if (end.failure && !end.failure->is_outage) return;
  ModelHealth::Outcome outcome =
      end.failure ? ModelHealth::Outcome::failed : ModelHealth::Outcome::answered;
  services.model_health.note(parts.route.id, run->claim.org_id, outcome, is_probe);
}

}  // namespace

Task<void> keep_traits(AgentServices& services, RunPtr run, RunParts& parts) {
  const ModelTraits& traits = run->progress.turn.traits;
  if (traits == parts.request.traits) co_return;
  parts.request.traits = traits;
  const ModelEndpoint& endpoint = parts.request.endpoint;
  std::string learned = traits_json(traits, origin_of(endpoint.base_url, endpoint.model));
  postgres::Batch batch;
  batch.add(query::ModelLearn{.model_id = parts.route.id, .learned = learned});
  co_await services.db.attempt(std::move(batch));
}

Task<RouteEnd> ask_route(AgentServices& services, RunPtr run, RunParts& parts,
                         const RouteAttempt& attempt) {
  RunProgress& progress = run->progress;
  RouteEnd end;
  if (!parts.fitted_tools) co_await fit_run_tools(services, run, parts);
  std::optional<LongTurns::Permit> permit;
  int adaptations = 0;
  for (bool is_first = true;; is_first = false) {
    co_await await_images(services, run, parts);
    ModelRequest request = request_of_turn(parts);
    std::optional<TurnRefusal> refusal = co_await allow_turn(services, run, parts, request);
    if (refusal) {
      end.refusal = std::move(refusal);
      co_return end;
    }
    if (!permit && parts.prompt_bytes() + sent_image_bytes(request) > long_turn_bytes) {
      LongTurns::Permit taken =
          co_await services.long_turns.take(run->claim.org_id, run->claim.user_id);
      permit.emplace(std::move(taken));
    }
    co_await load_images(services, run, request);
    if (is_first && attempt.on_begin) attempt.on_begin();
    progress.turn = ModelTurn();
    progress.turn_is_open = true;
    progress.turn_is_paid = false;
    TurnObserver observer(*run->writer, !progress.text.empty());
    Task<std::optional<ModelFailure>> asking = try_model_turn(
        services.http, services.loop, std::move(request), progress.turn, observer, attempt.timing);
    std::optional<ModelFailure> failure = co_await asking;
    parts.request.adaptations_left -= progress.turn.adaptations;
    adaptations += progress.turn.adaptations;
    progress.turn.adaptations = adaptations;
    co_await keep_traits(services, run, parts);
    end.failure = std::move(failure);
    if (!end.failure && asks_again(run, parts)) continue;
    note_health(services, run, parts, end, attempt.is_probe);
    if (!end.failure) learn_from_turn(services, run, parts, progress.turn);
    co_return end;
  }
}

Task<bool> ask_model(AgentServices& services, RunPtr run, RunParts& parts) {
  if (parts.has_chain) {
    bool is_answered = co_await ask_chain(services, run, parts);
    co_return is_answered;
  }
  RouteAttempt attempt;
  RouteEnd end = co_await ask_route(services, run, parts, attempt);
  if (end.failure) throw RunFailure(end.failure->code, end.failure->message);
  if (end.refusal) co_await refuse_turn(services, run, *std::move(end.refusal));
  co_return end.is_answered();
}

}  // namespace hostler::runner
