// See runner/models/model_client.h.
#include "runner/models/model_client.h"

#include <functional>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "lib/client/trace.h"
#include "lib/crypto.h"
#include "lib/log.h"
#include "lib/loop/wait.h"
#include "runner/models/anthropic.h"
#include "runner/models/openai.h"
#include "runner/models/run_failure.h"
#include "runner/models/sse_reader.h"
#include "runner/models/turn_reader.h"

namespace hostler {
namespace {

// Framing of tokens sent one by one is about a hundred times their text.
constexpr size_t stream_bytes_max = size_t{512} << 20;
constexpr size_t document_bytes_max = size_t{8} << 20;
// Some 300 KB.
constexpr int64_t loop_tokens_max = 100'000;
// The end of a body comes with its last event or not at all; waiting for it keeps the connection.
constexpr int64_t body_end_wait_ms = 50;

// How one try ended. An empty code: the turn is complete.
struct TryEnd {
  std::string code;
  std::string message;
  std::string reason;  // one word, for run.retrying and the log
  bool may_retry = false;
  std::optional<int64_t> retry_after_ms;
  bool refuses_temperature = false;
};

// Passes on what is shown, and remembers that something was.
class StreamedText : public ModelObserver {
 public:
  explicit StreamedText(ModelObserver& observer) : observer_(observer) {}
  void on_text(TextChannel channel, std::string_view piece) override {
    is_any_ = true;
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

 private:
  ModelObserver& observer_;
  bool is_any_ = false;
};

bool is_worth_retrying(int status) {
  return status == 408 || status == 409 || status == 425 || status == 429 || status >= 500;
}

TryEnd end_by_status(int status, std::string_view excerpt) {
  TryEnd end;
  end.may_retry = is_worth_retrying(status);
  end.reason = "http_" + std::to_string(status);
  std::string_view what = "The model provider refused the request";
  if (status == 429) {
    end.code = "model.rate_limited";
    what = "The model provider limits our requests";
  } else if (end.may_retry) {
    end.code = "model.unavailable";
    what = "The model provider is not available";
  } else {
    end.code = "model.rejected";
  }
  end.message = std::string(what) + " (HTTP " + std::to_string(status) + ")";
  end.message += excerpt.empty() ? "." : ": " + std::string(excerpt);
  return end;
}

TryEnd end_by_http_failure(const http::HttpFailure& failure) {
  http::HttpFailureKind kind = failure.kind;
  TryEnd end;
  end.reason = http::http_failure_name(kind);
  end.code = "model.unavailable";
  end.may_retry = true;
  if (kind == http::HttpFailureKind::denied_address || kind == http::HttpFailureKind::bad_request) {
    end.code = "model.rejected";
    end.message = "The model provider's address is not allowed.";
    end.may_retry = false;
  } else if (kind == http::HttpFailureKind::too_large || kind == http::HttpFailureKind::protocol) {
    end.code = "model.bad_response";
    end.message = "The model provider's answer could not be read.";
    end.may_retry = false;
  } else {
    end.message =
        "The model provider is not available (" + http::http_failure_words(failure) + ").";
  }
  return end;
}

TryEnd end_by_fault(const TurnFault& fault, std::string_view api_key) {
  TryEnd end;
  switch (fault.kind) {
    case TurnFault::Kind::provider_error:
      return end_by_status(fault.status, safe_excerpt(fault.message, api_key));
    case TurnFault::Kind::too_long:
      end.code = "run.answer_too_long";
      end.message = "The model's answer is over 4 MiB.";
      break;
    case TurnFault::Kind::too_many_calls:
      end.code = "run.turn_limit";
      end.message = fmt::format("The model called more than {} tools in one turn, as no run may.",
                                turn_tool_calls_max);
      break;
    case TurnFault::Kind::bad_response:
      end.code = "model.bad_response";
      end.message = "The model provider's answer could not be read: " + fault.message + ".";
      break;
  }
  end.reason = "bad_response";
  return end;
}

TryEnd end_too_early() {
  TryEnd end;
  end.code = "model.unavailable";
  end.message = "The model provider's answer broke off.";
  end.reason = "broken_off";
  end.may_retry = true;
  return end;
}

TryEnd end_full(const ModelObserver& observer) {
  TryEnd end;
  end.code = "run.output_limit";
  end.message = observer.full_message();
  end.reason = "output_limit";
  return end;
}

// Bytes of the body to the reader, as a stream or, from servers that do not stream, as one JSON
// document.
class BodyReader {
 public:
  BodyReader(TurnReader& reader, const ModelObserver& observer)
      : reader_(reader), observer_(observer) {}

  void feed(std::string_view bytes) {
    size_t first = bytes.find_first_not_of(" \t\r\n");
    if (form_ == Form::unknown && first == std::string_view::npos) return;
    if (form_ == Form::unknown) {
      bool is_json = bytes[first] == '{' || bytes[first] == '[';
      form_ = is_json ? Form::document : Form::stream;
    }
    if (form_ == Form::document) {
      if (document_.size() + bytes.size() <= document_bytes_max) document_ += bytes;
      return;
    }
    lines_.feed(bytes);
    read_lines();
  }
  // What a broken connection left of a line or a document is not read.
  void end(bool is_broken) {
    if (form_ == Form::document && !is_broken) reader_.read_document(document_);
    if (form_ == Form::stream && !is_broken) {
      lines_.end();
      read_lines();
    }
    reader_.end();
  }
  bool is_over() const {
    return lines_.is_too_long() || reader_.fault() || reader_.saw_last_event() ||
           observer_.is_full();
  }
  bool is_too_long() const { return lines_.is_too_long(); }
  // There was something, and no line of it is an event.
  bool is_no_stream() const { return form_ == Form::stream && !has_events_; }

 private:
  enum class Form { unknown, stream, document };
  void read_lines() {
    while (std::optional<std::string_view> line = lines_.next()) {
      has_events_ = true;
      reader_.read_event(*line);
      if (observer_.is_full()) return;
    }
  }
  TurnReader& reader_;
  const ModelObserver& observer_;
  SseReader lines_;
  std::string document_;
  Form form_ = Form::unknown;
  bool has_events_ = false;
};

// The head's status was not 2xx: what the provider says about it.
Task<TryEnd> read_refusal(loop::Loop& loop, http::HttpExchange& exchange,
                          const http::HttpHead& head, std::string_view api_key) {
  constexpr size_t refusal_bytes_max = 64 * 1024;
  constexpr int64_t refusal_wait_ms = 2000;
  int status = head.status;
  std::optional<int64_t> retry_after_ms = head.retry_after_ms();
  std::string body;
  while (body.size() < refusal_bytes_max) {
    Task<std::optional<std::string>> next = exchange.next_piece();
    std::optional<std::optional<std::string>> piece =
        co_await loop::with_timeout(loop, std::move(next), refusal_wait_ms);
    if (!piece || !*piece) break;
    body += **piece;
  }
  std::string excerpt;
  std::optional<Json> document = parse_lenient_json(body);
  std::optional<ProviderError> error;
  if (document) error = read_provider_error(*document);
  if (error) excerpt = safe_excerpt(error->message, api_key);
  TryEnd end = end_by_status(status, excerpt);
  end.retry_after_ms = retry_after_ms;
  // Anthropic: "`temperature` is deprecated for this model."; OpenAI of its models that reason:
  // "Unsupported value: 'temperature' does not support 0.5 with this model."
  end.refuses_temperature = status == 400 && excerpt.find("temperature") != excerpt.npos;
  co_return end;
}

// What a body that ended, or broke, means.
TryEnd outcome_of_try(const http::HttpExchange& exchange, const http::HttpHead& head,
                      const BodyReader& body, const TurnReader& reader, std::string_view api_key) {
  if (reader.fault()) return end_by_fault(*reader.fault(), api_key);
  if (body.is_too_long()) return end_by_http_failure({http::HttpFailureKind::too_large, {}});
  if (reader.is_complete()) return TryEnd();
  if (exchange.failure()) return end_by_http_failure(*exchange.failure());
  // A stream may end with nothing but its server's comments.
  bool is_stream = head.header("content-type").starts_with("text/event-stream");
  if (body.is_no_stream() && !is_stream) {
    return end_by_fault({TurnFault::Kind::bad_response, 0, "it sent no answer"}, api_key);
  }
  return end_too_early();
}

http::HttpRequest written_request(const ModelRequest& request) {
  bool is_anthropic = request.endpoint.provider_kind == ProviderKind::anthropic;
  return is_anthropic ? anthropic_request(request) : openai_request(request);
}

// Megabytes of JSON are written on a thread of the pool: meanwhile every other run would wait.
Task<http::HttpRequest> write_request(loop::Loop& loop, const ModelRequest& request) {
  if (estimate_input_tokens(request) <= loop_tokens_max) co_return written_request(request);
  std::function<http::HttpRequest()> write = [kept = std::make_shared<ModelRequest>(request)] {
    return written_request(*kept);
  };
  http::HttpRequest written = co_await loop::on_thread(loop, std::move(write));
  co_return written;
}

Task<TryEnd> try_turn(http::HttpClient& http, loop::Loop& loop, const ModelRequest& request,
                      ModelTurn& turn, ModelObserver& observer) {
  Task<http::HttpRequest> writing = write_request(loop, request);
  http::HttpRequest call = co_await writing;
  if (!request.trace_id.empty()) {
    call.headers.emplace_back("traceparent", client::traceparent_of(request.trace_id));
  }
  call.connect_timeout_ms = request.timeouts.connect_ms;
  call.first_byte_timeout_ms = request.timeouts.first_byte_ms;
  call.idle_timeout_ms = request.timeouts.idle_ms;
  call.response_bytes_max = stream_bytes_max;
  call.reads_on_demand = true;
  http::HttpExchange exchange(http, std::move(call));
  const http::HttpHead* head = co_await exchange.head();
  if (head == nullptr) {
    log_warning("model_call_failed",
                {{"kind", std::string(http::http_failure_name(exchange.failure()->kind))},
                 {"cause", exchange.failure()->message}});
    co_return end_by_http_failure(*exchange.failure());
  }
  if (head->status < 200 || head->status > 299) {
    TryEnd refused = co_await read_refusal(loop, exchange, *head, request.endpoint.api_key);
    co_return refused;
  }
  if (head->header("content-type").starts_with("text/html")) {
    co_return end_by_fault({TurnFault::Kind::bad_response, 0, "it sent a web page"}, {});
  }
  turn.usage.input_tokens = estimate_input_tokens(request);
  std::unique_ptr<TurnReader> reader =
      make_turn_reader(request.endpoint.provider_kind, turn, observer);
  BodyReader body(*reader, observer);
  while (!body.is_over()) {
    if (observer.is_blocked()) co_await observer.has_room();
    if (observer.is_behind()) co_await observer.caught_up();
    std::optional<std::string> piece = co_await exchange.next_piece();
    if (!piece) break;
    body.feed(*piece);
  }
  body.end(exchange.failure().has_value() || observer.is_full());
  if (observer.is_full()) co_return end_full(observer);
  if (reader->saw_last_event()) {
    Task<std::optional<std::string>> rest = exchange.next_piece();
    co_await loop::with_timeout(loop, std::move(rest), body_end_wait_ms);
  }
  co_return outcome_of_try(exchange, *head, body, *reader, request.endpoint.api_key);
}

int64_t jittered(int64_t delay_ms) {
  unsigned char byte = static_cast<unsigned char>(random_bytes(1)[0]);
  return delay_ms * (800 + 400 * byte / 255) / 1000;
}

}  // namespace

Task<void> stream_model_turn(http::HttpClient& http, loop::Loop& loop, ModelRequest request,
                             ModelTurn& turn, ModelObserver& observer, RetryTiming timing) {
  int64_t delay_ms = timing.first_delay_ms;
  bool refuses_temperature = false;
  for (int attempt = 1;; ++attempt) {
    StreamedText shown(observer);
    turn = ModelTurn();
    TryEnd end = co_await try_turn(http, loop, request, turn, shown);
    turn.refuses_temperature = refuses_temperature;
    if (end.code.empty()) co_return;
    if (end.refuses_temperature && request.temperature) {
      // What a persona would like is no reason to have no answer.
      request.temperature.reset();
      refuses_temperature = true;
      --attempt;
      continue;
    }
    bool is_unreadable = end.code == "model.bad_response" || end.code == "run.answer_too_long" ||
                         end.code == "run.turn_limit" || end.code == "run.output_limit";
    if (shown.is_any() && !is_unreadable) {
      end.code = "model.stream_broken";
      end.message = "The model's answer broke off: " + end.message;
    }
    int64_t wait_ms = std::max(jittered(delay_ms), end.retry_after_ms.value_or(0));
    bool is_last = attempt >= timing.tries_max || wait_ms > timing.retry_after_ms_max;
    if (shown.is_any() || !end.may_retry || is_last) throw RunFailure(end.code, end.message);
    observer.on_retrying(attempt + 1, wait_ms, end.reason);
    turn = ModelTurn();
    co_await loop::sleep_ms(loop, wait_ms);
    delay_ms *= 2;
  }
}

}  // namespace hostler
