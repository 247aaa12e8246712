// See runner/mcp/remote_session.h.
#include "runner/mcp/remote_session.h"

#include <exception>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "lib/log.h"
#include "runner/mcp/raw_json.h"

namespace hostler::runner {
namespace {

constexpr int64_t header_mismatch = -32020;
constexpr int64_t unsupported_version = -32022;
constexpr int64_t missing_capability = -32021;
constexpr int64_t farewell_ms = 5'000;
constexpr int64_t stream_head_ms = 3'000;  // for which a call waits for the stream beside it

void log_stream_failure(const std::string& name, std::exception_ptr failure) {
  log_error("mcp_stream_failed", {{"stream", name}, {"cause", loop::cause_of(failure)}});
}

SessionAnswer failed(std::string words) {
  SessionAnswer answer;
  answer.answer.message = std::move(words);
  return answer;
}

// It answered, and is not to be told as one that nobody reaches.
SessionAnswer refused_with(const RpcAnswer& status) {
  SessionAnswer answer = failed(status.message);
  answer.answer.status = status.status;
  return answer;
}

bool names(const Json* versions, std::string_view version) {
  if (versions == nullptr || !versions->is_array()) return false;
  for (const Json& one : *versions->as_array()) {
    if (one.is_text() && *one.as_text() == version) return true;
  }
  return false;
}

// Of the error's data or the result of server/discover.
bool supports_modern(std::string_view json, std::string_view member) {
  std::optional<Json> read = parse_json_or_nothing(json);
  return read && read->is_object() && names(read->find(member), modern_version);
}

// What only a server of the modern revision says.
bool is_modern_error(const RpcAnswer& answer) {
  return answer.kind == RpcAnswer::Kind::error &&
         (answer.code == header_mismatch || answer.code == missing_capability);
}

bool is_refusal(const RpcAnswer& answer) {
  return answer.kind == RpcAnswer::Kind::status && (answer.status == 401 || answer.status == 403);
}

// Everything it needs is its own.
Task<void> tell_cancelled(OAuthServices services, RpcTarget target, Speech speech, std::string id) {
  Task<RpcAnswer> telling =
      exchange_rpc(services, target, speech, cancellation_of(id), RpcQuestion());
  co_await telling;
  if (!speech.session_id.empty()) co_await end_session(services, target, speech);
}

}  // namespace

RemoteSession::RemoteSession(OAuthServices services, SessionAsk ask)
    : services_(services), ask_(std::move(ask)), listening_(services.loop, log_stream_failure) {}

RpcTarget RemoteSession::target() const {
  RpcTarget target;
  target.url = ask_.credential.url;
  target.is_org_scope = ask_.is_org_scope;
  target.credential = shown_->headers;
  target.trace_id = ask_.trace_id;
  target.limit_ms = ask_.limit_ms;
  return target;
}

// With a credential; once more with a newer one.
Task<SessionAnswer> RemoteSession::send(RpcMessage message) {
  ServerCredentials credentials(services_);
  if (!shown_) {
    CredentialOutcome outcome = co_await credentials.show(ask_.credential);
    if (!outcome.shown) {
      SessionAnswer refused;
      refused.refused = std::move(outcome);
      co_return refused;
    }
    shown_ = std::move(outcome.shown);
  }
  SessionAnswer sent;
  for (;;) {
    Task<RpcAnswer> exchanging = exchange_rpc(services_, target(), speech_, message, ask_.question);
    sent.answer = co_await exchanging;
    if (!is_refusal(sent.answer)) co_return sent;
    Task<CredentialOutcome> refusing = credentials.refused(
        ask_.credential, *shown_, sent.answer.status, sent.answer.www_authenticate);
    CredentialOutcome outcome = co_await refusing;
    bool is_newer = outcome.shown && outcome.refusal == Refusal::retry && !is_renewed_;
    if (!is_newer) {
      sent.refused = std::move(outcome);
      co_return sent;
    }
    is_renewed_ = true;
    shown_ = std::move(outcome.shown);
    message.id = message.id.empty() ? "" : new_rpc_id();
    if (!last_id_.empty()) last_id_ = message.id;
  }
}

// Nothing: go on. What is no answer of the modern revision makes it an older server.
Task<std::optional<SessionAnswer>> RemoteSession::discover() {
  RpcMessage message;
  message.method = "server/discover";
  for (int tries = 0; tries < 2; ++tries) {
    message.id = new_rpc_id();
    SessionAnswer sent = co_await send(message);
    if (sent.refused) co_return sent;
    const RpcAnswer& answer = sent.answer;
    if (answer.kind == RpcAnswer::Kind::failed) co_return sent;
    bool is_result = answer.kind == RpcAnswer::Kind::result;
    if (is_result && supports_modern(answer.json, "supportedVersions")) co_return std::nullopt;
    if (is_modern_error(answer)) co_return sent;
    bool is_asked_again = answer.kind == RpcAnswer::Kind::error &&
                          answer.code == unsupported_version &&
                          supports_modern(answer.json, "supported");
    if (answer.kind == RpcAnswer::Kind::status && answer.status >= 500) {
      co_return failed(fmt::format("The server answered {}.", answer.status));
    }
    if (!is_asked_again) break;
  }
  Task<std::optional<SessionAnswer>> initializing = initialize();
  std::optional<SessionAnswer> end = co_await initializing;
  co_return end;
}

Task<std::optional<SessionAnswer>> RemoteSession::initialize() {
  speech_ = {std::string(first_older_version), ""};
  RpcMessage message;
  message.method = "initialize";
  message.params = initialize_params();
  message.id = new_rpc_id();
  SessionAnswer sent = co_await send(message);
  if (sent.refused || sent.answer.kind == RpcAnswer::Kind::failed) co_return sent;
  std::optional<Json> result = parse_json_or_nothing(sent.answer.json);
  bool is_result = sent.answer.kind == RpcAnswer::Kind::result && result && result->is_object();
  std::string version(is_result ? result->text_or("protocolVersion") : "");
  if (!is_older_version(version)) {
    if (sent.answer.kind == RpcAnswer::Kind::status) co_return refused_with(sent.answer);
    co_return failed("The server speaks no revision of the protocol that Hostler does.");
  }
  speech_ = {version, sent.answer.session_id};
  RpcMessage ready;
  ready.method = "notifications/initialized";
  SessionAnswer taken = co_await send(ready);
  if (taken.refused) co_return taken;
  co_return std::nullopt;
}

// Before the first call of a server that may ask: some ask on a stream that belongs to no request.
Task<void> RemoteSession::listen() {
  struct Opening {
    loop::Signal changed;
    bool is_open = false;
  };
  auto opening = std::make_shared<Opening>();
  // Not from within the stream's coroutine, which ends with the session.
  auto on_open = [opening, &loop = services_.loop] {
    loop.defer([opening] {
      opening->is_open = true;
      opening->changed.notify();
    });
  };
  listening_.add("server", listen_to_server(services_, target(), speech_, ask_.question, on_open));
  if (!opening->is_open) co_await opening->changed.wait_for(services_.loop, stream_head_ms);
}

Task<std::optional<SessionAnswer>> RemoteSession::begin() {
  // One that was modern before stands alone with each request.
  if (ask_.protocol_version == modern_version) co_return std::nullopt;
  Task<std::optional<SessionAnswer>> beginning =
      is_older_version(ask_.protocol_version) ? initialize() : discover();
  std::optional<SessionAnswer> end = co_await beginning;
  co_return end;
}

Task<void> RemoteSession::end() {
  if (speech_.session_id.empty() || !shown_) co_return;
  RpcTarget whom = target();
  whom.limit_ms = farewell_ms;
  co_await end_session(services_, std::move(whom), speech_);
}

std::optional<Task<void>> RemoteSession::cancelling() const {
  if (speech_.is_modern() || last_id_.empty() || !shown_) return std::nullopt;
  RpcTarget whom = target();
  whom.limit_ms = farewell_ms;
  return tell_cancelled(services_, std::move(whom), speech_, last_id_);
}

Task<SessionAnswer> RemoteSession::request(RpcMessage message) {
  if (!has_begun_) {
    std::optional<SessionAnswer> end = co_await begin();
    // Nothing of the request itself was sent.
    if (end) end->answer.was_heard = false;
    if (end) co_return std::move(*end);
    if (ask_.question && !speech_.is_modern()) co_await listen();
    has_begun_ = true;
  }
  message.id = new_rpc_id();
  last_id_ = message.id;
  SessionAnswer sent = co_await send(std::move(message));
  if (!sent.refused && sent.answer.kind == RpcAnswer::Kind::status) {
    RpcAnswer plain = std::move(sent.answer);
    sent.answer = {};
    sent.answer.status = plain.status;
    sent.answer.message = plain.message;
    // It refused it, which is an answer; of a fault of its own nobody knows.
    sent.answer.was_heard = plain.status >= 500;
  }
  co_return sent;
}

}  // namespace hostler::runner
