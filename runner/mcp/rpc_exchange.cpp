// See runner/mcp/rpc_exchange.h.
#include "runner/mcp/rpc_exchange.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "lib/ascii.h"
#include "lib/client/trace.h"
#include "lib/loop/wait.h"
#include "runner/mcp/event_reader.h"
#include "runner/mcp/raw_json.h"
#include "runner/mcp/status_words.h"

namespace hostler::runner {
namespace {

constexpr size_t error_body_bytes_max = 64 << 10;
constexpr int64_t retry_default_ms = 1000;
constexpr int resumes_max = 600;
// Limit of the messages and requests that an older server sends besides its answer. Anything beyond
// is left unread, or unanswered.
constexpr size_t extra_bytes_max = 256 << 10;
constexpr int extras_max = 200;

constexpr std::string_view too_long = "The server's answer is too long.";
constexpr std::string_view not_spoken_to =
    "The server was switched off, changed or disconnected during the call.";

RpcAnswer failure_of(const http::HttpFailure& failure) {
  using Kind = http::HttpFailureKind;
  RpcAnswer answer;
  answer.is_bad = failure.kind == Kind::too_large;
  answer.is_denied = failure.kind == Kind::denied_address;
  answer.is_timeout = failure.kind == Kind::timeout_first_byte ||
                      failure.kind == Kind::timeout_idle || failure.kind == Kind::timeout_total;
  answer.was_heard = !(failure.kind == Kind::bad_request || failure.kind == Kind::denied_address ||
                       failure.kind == Kind::connect || failure.kind == Kind::tls ||
                       failure.kind == Kind::timeout_connect);
  answer.message =
      fmt::format("The server did not answer ({}).", http::http_failure_words(failure));
  if (answer.is_denied) answer.message = "The server's address may not be called.";
  if (answer.is_bad) answer.message = too_long;
  return answer;
}

RpcAnswer broken(std::string words) {
  RpcAnswer answer;
  answer.message = std::move(words);
  return answer;
}

RpcAnswer bad(std::string words) {
  RpcAnswer answer = broken(std::move(words));
  answer.is_bad = true;
  return answer;
}

// The data of the events of a body that does not say that it has some; else the body.
std::string message_in(std::string body, const std::string& id) {
  bool is_json = body.find_first_of("{[") == body.find_first_not_of(ascii::white_space);
  if (is_json) return body;
  EventReader events(body.size() + 1);
  events.feed(body);
  events.feed("\n\n");
  for (std::optional<std::string> text = events.next(); text; text = events.next()) {
    if (read_response(*text, id)) return std::move(*text);
  }
  return body;
}

// Parses megabytes on the thread pool.
Task<std::optional<RpcAnswer>> read_message(loop::Loop& loop, std::string text, std::string id) {
  if (text.size() <= read_at_once_bytes_max) co_return read_response(message_in(text, id), id);
  std::function<std::optional<RpcAnswer>()> read = [text = std::move(text), id = std::move(id)] {
    return read_response(message_in(text, id), id);
  };
  std::optional<RpcAnswer> answer = co_await loop::on_thread(loop, std::move(read));
  co_return answer;
}

bool is_good(const http::HttpHead& head) { return head.status >= 200 && head.status <= 299; }

bool is_stream(const http::HttpHead& head) {
  return ascii::lower_case(head.header("content-type")).starts_with("text/event-stream");
}

// One request with its answer; lives as long as its coroutine.
class Exchange {
 public:
  Exchange(OAuthServices services, RpcTarget target, Speech speech, RpcMessage message,
           RpcQuestion question)
      : services_(services),
        target_(std::move(target)),
        speech_(std::move(speech)),
        message_(std::move(message)),
        question_(std::move(question)),
        due_ms_(services.loop.now_ms() + target_.limit_ms) {}

  Task<RpcAnswer> run();
  Task<void> end_session();
  Task<void> listen(std::function<void()> on_open);

 private:
  http::HttpRequest request_with(std::vector<http::HttpField> fields) const;
  http::HttpRequest posted(std::string body, std::vector<http::HttpField> fields) const;
  Task<std::string> body_of(http::HttpExchange& http, size_t bytes_max);
  Task<RpcAnswer> read_body(http::HttpExchange& http, const http::HttpHead& head);
  Task<std::optional<RpcAnswer>> read_stream(http::HttpExchange& http, EventReader& events);
  Task<RpcAnswer> read_streams(std::unique_ptr<http::HttpExchange> http);
  http::HttpRequest stream_request(std::string_view last_event_id) const;
  Task<void> answer_question(std::string text);
  Task<void> say(std::string body);
  Task<bool> may_speak();

  OAuthServices services_;
  RpcTarget target_;
  Speech speech_;
  RpcMessage message_;
  RpcQuestion question_;
  int64_t due_ms_;
  bool is_over_ = false;  // the server may not be spoken to any more
  size_t bytes_ = 0;
  int asides_ = 0;
};

http::HttpRequest Exchange::request_with(std::vector<http::HttpField> fields) const {
  http::HttpRequest request;
  request.url = target_.url;
  request.guarded = target_.is_org_scope;
  request.https_only = target_.is_org_scope && target_.url.starts_with("https:");
  request.is_sent_once = true;
  int64_t left_ms = std::max<int64_t>(1, due_ms_ - services_.loop.now_ms());
  request.connect_timeout_ms = std::min(request.connect_timeout_ms, left_ms);
  request.first_byte_timeout_ms = left_ms;
  request.idle_timeout_ms = left_ms;
  request.total_timeout_ms = left_ms;
  request.response_bytes_max = target_.answer_bytes_max;
  request.headers = std::move(fields);
  request.headers.insert(request.headers.end(), target_.credential.begin(),
                         target_.credential.end());
  if (target_.trace_id.size() == 32) {
    request.headers.emplace_back("traceparent", client::traceparent_of(target_.trace_id));
  }
  return request;
}

http::HttpRequest Exchange::posted(std::string body, std::vector<http::HttpField> fields) const {
  http::HttpRequest request = request_with(std::move(fields));
  request.method = "POST";
  request.body = std::move(body);
  return request;
}

Task<std::string> Exchange::body_of(http::HttpExchange& http, size_t bytes_max) {
  std::string body;
  for (;;) {
    std::optional<std::string> piece = co_await http.next_piece();
    if (!piece) co_return body;
    body += *piece;
    if (body.size() > bytes_max) co_return body;
  }
}

// JSON, or an answer that is no message at all.
Task<RpcAnswer> Exchange::read_body(http::HttpExchange& http, const http::HttpHead& head) {
  RpcAnswer plain;
  plain.kind = RpcAnswer::Kind::status;
  plain.status = head.status;
  plain.www_authenticate = head.header("www-authenticate");
  plain.session_id = head.header("mcp-session-id");
  bool was_taken = is_good(head);
  // A stream that answers a notification says nothing, and may never end.
  if (was_taken && message_.id.empty() && is_stream(head)) co_return plain;
  size_t bytes_max = was_taken ? target_.answer_bytes_max : error_body_bytes_max;
  std::string body = co_await body_of(http, bytes_max);
  if (was_taken && message_.id.empty()) co_return plain;
  if (was_taken && http.failure()) co_return failure_of(*http.failure());
  // A refusal of a request may lack its id.
  std::string id = was_taken ? message_.id : std::string();
  plain.message = words_of_status(head, target_.url, was_taken ? "" : std::string_view(body));
  Task<std::optional<RpcAnswer>> reading =
      read_message(services_.loop, std::move(body), std::move(id));
  std::optional<RpcAnswer> read = co_await reading;
  bool is_refusal = head.status == 401 || head.status == 403;
  if (read && !is_refusal && (was_taken || read->kind == RpcAnswer::Kind::error)) {
    read->status = plain.status;
    read->session_id = plain.session_id;
    co_return std::move(*read);
  }
  if (was_taken) co_return bad("The server's answer does not belong to the request.");
  co_return plain;
}

// The response when it came; nothing: the stream ended before.
Task<std::optional<RpcAnswer>> Exchange::read_stream(http::HttpExchange& http,
                                                     EventReader& events) {
  for (;;) {
    std::optional<std::string> piece = co_await http.next_piece();
    if (!piece) co_return std::nullopt;
    bytes_ += piece->size();
    events.feed(*piece);
    if (events.is_too_long() || bytes_ > target_.answer_bytes_max) {
      co_return bad(std::string(too_long));
    }
    for (std::optional<std::string> text = events.next(); text; text = events.next()) {
      Task<std::optional<RpcAnswer>> reading = read_message(services_.loop, *text, message_.id);
      std::optional<RpcAnswer> read = co_await reading;
      if (read) co_return read;
      bool is_read = !speech_.is_modern() && text->size() <= extra_bytes_max;
      if (is_read) co_await answer_question(std::move(*text));
      if (is_over_) co_return std::nullopt;
    }
  }
}

// Empty: a new one.
http::HttpRequest Exchange::stream_request(std::string_view last_event_id) const {
  std::vector<http::HttpField> fields = {{"Accept", "text/event-stream"},
                                         {"MCP-Protocol-Version", speech_.version}};
  if (!last_event_id.empty()) fields.emplace_back("Last-Event-ID", last_event_id);
  if (!speech_.session_id.empty()) fields.emplace_back("Mcp-Session-Id", speech_.session_id);
  return request_with(std::move(fields));
}

// A stream that ends before the response: an older server may be asked for the rest.
Task<RpcAnswer> Exchange::read_streams(std::unique_ptr<http::HttpExchange> http) {
  EventReader events(target_.answer_bytes_max);
  for (int resumes = 0;; ++resumes) {
    Task<std::optional<RpcAnswer>> reading = read_stream(*http, events);
    std::optional<RpcAnswer> read = co_await reading;
    if (read) co_return std::move(*read);
    bool may_resume =
        !is_over_ && !speech_.is_modern() && !events.last_id().empty() && resumes < resumes_max;
    int64_t pause_ms = events.retry_ms().value_or(retry_default_ms);
    if (!may_resume || services_.loop.now_ms() + pause_ms >= due_ms_) {
      if (is_over_) co_return broken(std::string(not_spoken_to));
      if (http->failure()) co_return failure_of(*http->failure());
      co_return broken("The server's stream ended before its answer.");
    }
    co_await loop::sleep_ms(services_.loop, pause_ms);
    bool is_allowed = co_await may_speak();
    if (!is_allowed) co_return broken(std::string(not_spoken_to));
    events.begin_again();
    http = std::make_unique<http::HttpExchange>(services_.http, stream_request(events.last_id()));
    const http::HttpHead* head = co_await http->head();
    if (head == nullptr) continue;
    if (head->status != 200 || !is_stream(*head)) {
      co_return broken(
          fmt::format("The server's stream broke, and it answered {} to the request for the rest.",
                      head->status));
    }
  }
}

// Minutes after the first request the server may be switched off, or at another address.
Task<bool> Exchange::may_speak() {
  if (!target_.next_credential) co_return true;
  std::optional<std::vector<http::HttpField>> shown = co_await target_.next_credential();
  is_over_ = !shown;
  if (shown) target_.credential = std::move(*shown);
  co_return !is_over_;
}

Task<void> Exchange::say(std::string body) {
  bool is_allowed = co_await may_speak();
  if (!is_allowed) co_return;
  RpcMessage none;
  http::HttpRequest request = posted(std::move(body), rpc_headers(none, speech_));
  request.response_bytes_max = error_body_bytes_max;
  request.over_limit = http::OverLimit::cut;
  co_await services_.http.fetch(std::move(request));
}

// A request of an older server on our stream. Notifications are left.
Task<void> Exchange::answer_question(std::string text) {
  std::optional<Json> asked = parse_json_or_nothing(text);
  if (!asked || !asked->is_object() || asked->find("method") == nullptr) co_return;
  std::optional<std::string_view> id = raw_member(text, "id");
  if (!id) co_return;
  if (++asides_ > extras_max) co_return;
  std::string id_json(*id);
  std::string_view method = asked->text_or("method");
  if (method == "ping") {
    co_await say(rpc_answer(id_json, "{}"));
  } else if (method == "elicitation/create") {
    std::string result = R"({"action":"cancel"})";
    if (question_) {
      std::string params(raw_member(text, "params").value_or("{}"));
      Task<std::string> asking = question_(std::move(params));
      result = co_await asking;
    }
    co_await say(rpc_answer(id_json, result));
  } else {
    co_await say(rpc_refusal(id_json));
  }
}

Task<void> Exchange::end_session() {
  bool is_allowed = co_await may_speak();
  if (!is_allowed) co_return;
  std::vector<http::HttpField> fields = {{"MCP-Protocol-Version", speech_.version},
                                         {"Mcp-Session-Id", speech_.session_id}};
  http::HttpRequest request = request_with(std::move(fields));
  request.method = "DELETE";
  request.response_bytes_max = error_body_bytes_max;
  request.over_limit = http::OverLimit::cut;
  co_await services_.http.fetch(std::move(request));
}

Task<void> Exchange::listen(std::function<void()> on_open) {
  bool is_allowed = co_await may_speak();
  if (!is_allowed) {
    on_open();
    co_return;
  }
  auto http = std::make_unique<http::HttpExchange>(services_.http, stream_request(""));
  const http::HttpHead* head = co_await http->head();
  on_open();
  if (head == nullptr || head->status != 200 || !is_stream(*head)) co_return;
  Task<RpcAnswer> reading = read_streams(std::move(http));
  co_await reading;
}

Task<RpcAnswer> Exchange::run() {
  auto http = std::make_unique<http::HttpExchange>(
      services_.http, posted(rpc_body(message_, speech_), rpc_headers(message_, speech_)));
  const http::HttpHead* head = co_await http->head();
  if (head == nullptr) co_return failure_of(*http->failure());
  if (is_good(*head) && is_stream(*head) && !message_.id.empty()) {
    int status = head->status;
    std::string session_id(head->header("mcp-session-id"));
    Task<RpcAnswer> reading = read_streams(std::move(http));
    RpcAnswer answer = co_await reading;
    if (answer.kind == RpcAnswer::Kind::error) answer.status = status;
    answer.session_id = session_id;
    co_return answer;
  }
  Task<RpcAnswer> reading = read_body(*http, *head);
  RpcAnswer answer = co_await reading;
  co_return answer;
}

}  // namespace

Task<void> listen_to_server(OAuthServices services, RpcTarget target, Speech speech,
                            RpcQuestion question, std::function<void()> on_open) {
  RpcMessage none;
  none.id = new_rpc_id();  // no response is ours
  Exchange exchange(services, std::move(target), std::move(speech), std::move(none),
                    std::move(question));
  Task<void> listening = exchange.listen(std::move(on_open));
  co_await listening;
}

Task<void> end_session(OAuthServices services, RpcTarget target, Speech speech) {
  Exchange exchange(services, std::move(target), std::move(speech), RpcMessage(), nullptr);
  Task<void> ending = exchange.end_session();
  co_await ending;
}

Task<RpcAnswer> exchange_rpc(OAuthServices services, RpcTarget target, Speech speech,
                             RpcMessage message, RpcQuestion question) {
  Exchange exchange(services, std::move(target), std::move(speech), std::move(message),
                    std::move(question));
  Task<RpcAnswer> running = exchange.run();
  RpcAnswer answer = co_await running;
  co_return answer;
}

}  // namespace hostler::runner
