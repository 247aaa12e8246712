// See runner/models/model_client.h.
#include "runner/models/model_client.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>

#include "lib/client/trace.h"
#include "lib/crypto.h"
#include "lib/log.h"
#include "lib/loop/wait.h"
#include "runner/models/anthropic.h"
#include "runner/models/body_reader.h"
#include "runner/models/context_excess.h"
#include "runner/models/learned_traits.h"
#include "runner/models/openai.h"
#include "runner/models/refused_tool.h"
#include "runner/models/run_failure.h"
#include "runner/models/try_end.h"
#include "runner/models/turn_reader.h"

namespace hostler {
namespace {

// Framing of tokens sent one by one is about a hundred times their text.
constexpr size_t stream_bytes_max = size_t{512} << 20;
// Some 300 KB.
constexpr int64_t loop_tokens_max = 100'000;
// The end of a body comes with its last event or not at all; waiting for it keeps the connection.
constexpr int64_t body_end_wait_ms = 50;

// Passes on what is shown, and remembers that something was.
class StreamedText : public ModelObserver {
 public:
  explicit StreamedText(ModelObserver& observer) : observer_(observer) {}
  void on_text(TextChannel channel, std::string_view piece) override {
    is_any_ = true;
    ++pieces_;
    bytes_ += static_cast<int64_t>(piece.size());
    observer_.on_text(channel, piece);
  }
  void on_retrying(int, int64_t, std::string_view) override {}
  bool is_full() const override { return observer_.is_full(); }
  std::string full_message() const override { return observer_.full_message(); }
  bool is_blocked() const override { return observer_.is_blocked(); }
  Task<void> has_room() override { return observer_.has_room(); }
  bool is_behind() const override { return observer_.is_behind(); }
  Task<void> caught_up() override { return observer_.caught_up(); }
  bool is_any() const { return is_any_; }
  // Tokens that were shown at least: a piece has one or more, and hardly any token has 8 bytes.
  int64_t tokens_least() const { return std::max(pieces_, bytes_ / 8); }

 private:
  ModelObserver& observer_;
  bool is_any_ = false;
  int64_t pieces_ = 0;
  int64_t bytes_ = 0;
};

// Whether the provider goes on behind the limit that it was asked with, which bounds the cost.
bool passes_limit(const ModelRequest& request, const StreamedText& shown) {
  constexpr double share_max = 1.1;
  if (!request.cuts_at_limit || !request.output_tokens_max) return false;
  return static_cast<double>(shown.tokens_least()) >
         share_max * static_cast<double>(*request.output_tokens_max);
}

// The head's status was not 2xx: what the provider says about it.
Task<TryEnd> read_refused(loop::Loop& loop, http::HttpExchange& exchange,
                          const http::HttpHead& head, const ModelRequest& request,
                          std::string_view url) {
  constexpr size_t refusal_bytes_max = 64 * 1024;
  constexpr int64_t refusal_wait_ms = 2000;
  int status = head.status;
  std::optional<int64_t> retry_after_ms = head.retry_after_ms();
  std::string location(head.header("location"));
  std::string body;
  while (body.size() < refusal_bytes_max) {
    Task<std::optional<std::string>> next = exchange.next_piece();
    std::optional<std::optional<std::string>> piece =
        co_await loop::with_timeout(loop, std::move(next), refusal_wait_ms);
    if (!piece || !*piece) break;
    body += **piece;
  }
  ProviderError error = read_refusal(body);
  error.status = status;
  bool is_redirect = status >= 300 && status < 400 && !location.empty();
  if (is_redirect) error.message = redirect_words(location, url);
  TryEnd end = end_by_refusal(std::move(error), request.endpoint.api_key);
  end.retry_after_ms = retry_after_ms;
  co_return end;
}

// Meaning of a body that ended or broke.
TryEnd outcome_of_try(const http::HttpExchange& exchange, const http::HttpHead& head,
                      const BodyReader& body, const TurnReader& reader, std::string_view api_key) {
  if (reader.fault()) return end_by_fault(*reader.fault(), api_key);
  if (body.is_too_long()) return end_by_http_failure({http::HttpFailureKind::too_large, {}});
  if (reader.is_complete()) return TryEnd();
  if (exchange.failure()) return end_by_http_failure(*exchange.failure());
  // A stream may end with nothing but its server's comments.
  bool is_stream = head.header("content-type").starts_with("text/event-stream");
  if (body.is_no_stream() && !is_stream) {
    TurnFault nothing{TurnFault::Kind::bad_response, {.message = "it sent no answer"}};
    return end_by_fault(nothing, api_key);
  }
  return end_too_early();
}

http::HttpRequest written_request(const ModelRequest& request) {
  bool is_anthropic = request.endpoint.provider_kind == ProviderKind::anthropic;
  return is_anthropic ? anthropic_request(request) : openai_request(request);
}

bool shows_images(const ModelRequest& request) {
  return std::any_of(request.messages.begin(), request.messages.end(),
                     [](const ChatMessage& message) { return has_images(message.parts); });
}

// Megabytes of JSON are written on a thread of the pool: meanwhile every other run would wait.
Task<http::HttpRequest> write_request(loop::Loop& loop, const ModelRequest& request) {
  bool is_short = estimate_input_tokens(request) <= loop_tokens_max;
  if (is_short && !shows_images(request)) co_return written_request(request);
  std::function<http::HttpRequest()> write = [kept = std::make_shared<ModelRequest>(request)] {
    return written_request(*kept);
  };
  http::HttpRequest written = co_await loop::on_thread(loop, std::move(write));
  co_return written;
}

// Whether a stream is silent for too long. What its reader waits for meanwhile does not count.
class Silence {
 public:
  Silence(loop::Loop& loop, const ModelTimeouts& timeouts, int64_t asked_ms)
      : loop_(loop), timeouts_(timeouts), heard_ms_(asked_ms) {}
  void hear() {
    heard_ms_ = loop_.now_ms();
    has_begun_ = true;
  }
  void forgive(int64_t since_ms) { heard_ms_ += loop_.now_ms() - since_ms; }
  int64_t left_ms() const {
    int64_t limit_ms = has_begun_ ? timeouts_.idle_ms : timeouts_.first_byte_ms;
    return std::max<int64_t>(heard_ms_ + limit_ms - loop_.now_ms(), 0);
  }
  TryEnd end() const {
    return end_by_http_failure({has_begun_ ? http::HttpFailureKind::timeout_idle
                                           : http::HttpFailureKind::timeout_first_byte,
                                {}});
  }

 private:
  loop::Loop& loop_;
  const ModelTimeouts& timeouts_;
  int64_t heard_ms_;
  bool has_begun_ = false;
};

// The next piece of the body; nothing when it ended. is_silent: only comments came for too long.
Task<std::optional<std::string>> next_piece(loop::Loop& loop, http::HttpExchange& exchange,
                                            bool ignores_comments, const Silence& silence,
                                            bool& is_silent) {
  Task<std::optional<std::string>> next = exchange.next_piece();
  if (!ignores_comments) {
    std::optional<std::string> piece = co_await std::move(next);
    co_return piece;
  }
  std::optional<std::optional<std::string>> piece =
      co_await loop::with_timeout(loop, std::move(next), silence.left_ms());
  is_silent = !piece;
  co_return piece.value_or(std::nullopt);
}

// Reads what follows the last event: the usage, or the end of the body. True when the body ended.
Task<bool> read_rest(http::HttpExchange& exchange, BodyReader& body) {
  for (;;) {
    std::optional<std::string> piece = co_await exchange.next_piece();
    if (!piece) co_return true;
    if (!body.may_have_usage()) co_return false;
    body.feed(*piece);
  }
}

void bound_call(const ModelRequest& request, http::HttpRequest& call) {
  if (!request.trace_id.empty()) {
    call.headers.emplace_back("traceparent", client::traceparent_of(request.trace_id));
  }
  call.connect_timeout_ms = request.timeouts.connect_ms;
  call.first_byte_timeout_ms = request.timeouts.first_byte_ms;
  call.idle_timeout_ms = request.timeouts.idle_ms;
  call.response_bytes_max = stream_bytes_max;
  call.reads_on_demand = true;
}

// The answer went on behind the limit of output.
TryEnd end_at_limit(BodyReader& body, ModelTurn& turn, const StreamedText& shown) {
  body.end(true);
  turn.finish_reason = FinishReason::length;
  if (!turn.usage.measured) turn.usage.output_tokens = shown.tokens_least();
  return TryEnd();
}

Task<TryEnd> try_turn(http::HttpClient& http, loop::Loop& loop, const ModelRequest& request,
                      ModelTurn& turn, StreamedText& observer, bool ignores_comments) {
  Task<http::HttpRequest> writing = write_request(loop, request);
  http::HttpRequest call = co_await writing;
  bound_call(request, call);
  std::string url = call.url;
  Silence silence(loop, request.timeouts, loop.now_ms());
  http::HttpExchange exchange(http, std::move(call));
  const http::HttpHead* head = co_await exchange.head();
  if (head == nullptr) {
    log_warning("model_call_failed",
                {{"kind", std::string(http::http_failure_name(exchange.failure()->kind))},
                 {"cause", exchange.failure()->message}});
    co_return end_by_http_failure(*exchange.failure());
  }
  if (head->status < 200 || head->status > 299) {
    TryEnd refused = co_await read_refused(loop, exchange, *head, request, url);
    co_return refused;
  }
  if (head->header("content-type").starts_with("text/html")) {
    TurnFault page{TurnFault::Kind::bad_response, {.message = "it sent a web page"}};
    co_return end_by_fault(page, {});
  }
  turn.usage.input_tokens = estimate_input_tokens(request);
  std::unique_ptr<TurnReader> reader =
      make_turn_reader(request.endpoint.provider_kind, turn, observer);
  BodyReader body(*reader, observer);
  bool is_cut = false;
  bool is_silent = false;
  while (!body.is_over() && !is_cut) {
    int64_t waits_since_ms = loop.now_ms();
    if (observer.is_blocked()) co_await observer.has_room();
    if (observer.is_behind()) co_await observer.caught_up();
    silence.forgive(waits_since_ms);
    Task<std::optional<std::string>> next =
        next_piece(loop, exchange, ignores_comments, silence, is_silent);
    std::optional<std::string> piece = co_await next;
    if (!piece) break;
    body.feed(*piece);
    if (body.take_heard()) silence.hear();
    is_cut = !reader->saw_last_event() && passes_limit(request, observer);
  }
  if (is_cut) co_return end_at_limit(body, turn, observer);
  if (reader->saw_last_event() && !observer.is_full()) {
    Task<bool> rest = read_rest(exchange, body);
    co_await loop::with_timeout(loop, std::move(rest), body_end_wait_ms);
  }
  body.end(exchange.failure().has_value() || observer.is_full() || is_silent);
  if (is_silent) co_return silence.end();
  if (observer.is_full()) co_return end_full(observer);
  co_return outcome_of_try(exchange, *head, body, *reader, request.endpoint.api_key);
}

int64_t jittered(int64_t delay_ms) {
  unsigned char byte = static_cast<unsigned char>(random_bytes(1)[0]);
  return delay_ms * (800 + 400 * byte / 255) / 1000;
}

// One line for each trait that was learned of a model.
void announce_trait(const ModelRequest& request, ModelObserver& observer, const ModelTraits& before,
                    const ModelTraits& after, std::string_view excerpt) {
  std::string_view trait = trait_changed(before, after);
  if (trait.empty()) return;
  std::string_view host = request.endpoint.base_url;
  if (size_t scheme = host.find("://"); scheme != host.npos) host.remove_prefix(scheme + 3);
  host = host.substr(0, host.find('/'));
  log_info("model_trait_learned", {{"host", std::string(host)},
                                   {"model", request.endpoint.model},
                                   {"trait", std::string(trait)},
                                   {"excerpt", std::string(excerpt)}});
  observer.on_trait_learned(trait);
}

// Consequence of a refusal for the next request.
enum class Lesson { none, ask_again, hand_back };

// No text of the turn was shown.
Lesson learn(ModelRequest& request, ModelTurn& turn, ModelObserver& observer, const TryEnd& end,
             int& adaptations) {
  if (!end.refusal) return Lesson::none;
  const ProviderError& refusal = *end.refusal;
  std::string excerpt = safe_excerpt(refusal.message, request.endpoint.api_key);
  ModelTraits known = request.traits;
  if (std::optional<ContextExcess> excess = context_excess(refusal.status, refusal)) {
    excess->message = excerpt;
    if (excess->limit_tokens > 0) request.traits.context_tokens = excess->limit_tokens;
    turn.context_excess = *std::move(excess);
    announce_trait(request, observer, known, request.traits, excerpt);
    return Lesson::hand_back;
  }
  if (adaptations >= request.adaptations_left) return Lesson::none;
  std::optional<ModelTraits> learned = learned_from(refusal.status, refusal, request);
  if (!learned) {
    turn.refused_tool = refused_tool(refusal.status, refusal, request);
    if (!turn.refused_tool) return Lesson::none;
    turn.refused_tool->reason = safe_excerpt(turn.refused_tool->reason, request.endpoint.api_key);
    ++adaptations;
    return Lesson::hand_back;
  }
  ++adaptations;
  request.traits = *learned;
  announce_trait(request, observer, known, *learned, excerpt);
  bool wants_other = learned->wants_own_calls && !known.wants_own_calls;
  turn.wants_other_history = wants_other;
  return wants_other ? Lesson::hand_back : Lesson::ask_again;
}

// A provider that sends data of its own with its messages takes it from a client's history too.
void note_own_members(const ModelRequest& request, ModelTurn& turn, ModelObserver& observer) {
  bool is_openai = request.endpoint.provider_kind == ProviderKind::openai;
  if (!is_openai || turn.traits.takes_given_reasoning || !has_opaque(turn.parts)) return;
  turn.traits.takes_given_reasoning = true;
  announce_trait(request, observer, request.traits, turn.traits, {});
}

// The calls that a broken answer began are worth another turn; text alone is not. An error that the
// provider reports in its stream stays one.
bool keep_broken_off(ModelTurn& turn, const TryEnd& end) {
  if (end.is_unreadable || end.refusal || !has_calls(turn.parts)) return false;
  turn.is_broken_off = true;
  turn.finish_reason = FinishReason::none;
  return true;
}

ModelFailure failure_of(TryEnd end) {
  return {std::move(end.code), std::move(end.message), std::move(end.reason), end.is_of_provider,
          end.is_outage};
}

// A turn that ends at any moment knows what was learned before.
ModelTurn empty_turn(const ModelRequest& request) {
  ModelTurn turn;
  turn.traits = request.traits;
  return turn;
}

}  // namespace

Task<std::optional<ModelFailure>> try_model_turn(http::HttpClient& http, loop::Loop& loop,
                                                 ModelRequest request, ModelTurn& turn,
                                                 ModelObserver& observer, RetryTiming timing) {
  const int64_t begun_ms = loop.now_ms();
  int64_t delay_ms = timing.first_delay_ms;
  int adaptations = 0;
  for (int attempt = 1;; ++attempt) {
    StreamedText shown(observer);
    turn = empty_turn(request);
    TryEnd end = co_await try_turn(http, loop, request, turn, shown, timing.ignores_comments);
    Lesson lesson = Lesson::none;
    if (!shown.is_any()) lesson = learn(request, turn, observer, end, adaptations);
    turn.traits = request.traits;
    turn.adaptations = adaptations;
    if (end.code.empty()) note_own_members(request, turn, observer);
    if (end.code.empty() || lesson == Lesson::hand_back) co_return std::nullopt;
    if (lesson == Lesson::ask_again) {
      // A wish of the persona must not prevent an answer.
      --attempt;
      continue;
    }
    if (shown.is_any() && !end.is_unreadable) {
      end.code = "model.stream_broken";
      end.message = "The model's answer broke off: " + end.message;
      end.is_of_provider = true;
    }
    int64_t wait_ms = std::max(jittered(delay_ms), end.retry_after_ms.value_or(0));
    bool is_late =
        timing.retry_within_ms > 0 && loop.now_ms() - begun_ms + wait_ms > timing.retry_within_ms;
    bool is_last = attempt >= timing.tries_max || wait_ms > timing.retry_after_ms_max || is_late;
    if (shown.is_any() || !end.may_retry || is_last) {
      if (timing.keeps_broken_calls && keep_broken_off(turn, end)) co_return std::nullopt;
      co_return failure_of(std::move(end));
    }
    observer.on_retrying(attempt + 1, wait_ms, end.reason);
    turn = empty_turn(request);
    co_await loop::sleep_ms(loop, wait_ms);
    delay_ms *= 2;
  }
}

Task<void> stream_model_turn(http::HttpClient& http, loop::Loop& loop, ModelRequest request,
                             ModelTurn& turn, ModelObserver& observer, RetryTiming timing) {
  Task<std::optional<ModelFailure>> asking =
      try_model_turn(http, loop, std::move(request), turn, observer, timing);
  std::optional<ModelFailure> failure = co_await asking;
  if (failure) throw RunFailure(failure->code, failure->message);
}

}  // namespace hostler
