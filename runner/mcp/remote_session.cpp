// See runner/mcp/remote_session.h.
#include "runner/mcp/remote_session.h"

#include <algorithm>
#include <exception>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "lib/log.h"
#include "runner/mcp/session_answers.h"

namespace hostler::runner {
namespace {

constexpr int64_t header_mismatch = -32020;
constexpr int64_t unsupported_version = -32022;
constexpr int64_t missing_capability = -32021;
constexpr int64_t farewell_ms = 5'000;
constexpr int64_t discovery_ms = 10'000;  // of servers that never answer what they do not know
constexpr int offers_max = 3;             // of revisions
constexpr const char* stream_name = "server";
constexpr int64_t stream_head_ms = 3'000;  // for which a call waits for the stream beside it

void log_stream_failure(const std::string& name, std::exception_ptr failure) {
  log_error("mcp_stream_failed", {{"stream", name}, {"cause", loop::cause_of(failure)}});
}

SessionAnswer failed(std::string words) {
  SessionAnswer answer;
  answer.answer.message = std::move(words);
  return answer;
}

// Refusal of a session in the server's own words. The server answered, so it must not be reported
// as unreachable.
SessionAnswer no_session(const RpcAnswer& answer) {
  SessionAnswer end = failed(answer.message);
  end.answer.status = answer.status;
  if (answer.kind == RpcAnswer::Kind::result) {
    end.answer.message = "The server's answer to initialize does not begin a session.";
    end.answer.is_bad = true;
  }
  if (answer.kind == RpcAnswer::Kind::error) {
    end.answer = answer;
    end.answer.message = "It does not begin a session: " + answer.message;
  }
  bool is_elsewhere = answer.status == 404 || answer.status == 405;
  if (answer.kind == RpcAnswer::Kind::status && is_elsewhere) {
    end.answer.message += " The url must be one of Streamable HTTP, not of the older HTTP+SSE.";
  }
  return end;
}

bool is_spoken(std::string_view version) {
  return version == modern_version || is_older_version(version);
}

// Answer to initialize. version: the revision that it names and that we do not speak; otherwise
// empty.
SessionAnswer no_shared_version(const RpcAnswer& answer, std::string_view version) {
  if (version.empty()) return no_session(answer);
  SessionAnswer end =
      failed(fmt::format("The server requires revision {} of the protocol; Hostler supports {}.",
                         version, known_versions()));
  end.answer.is_bad = true;
  return end;
}

bool names(const Json* versions, std::string_view version) {
  if (versions == nullptr || !versions->is_array()) return false;
  for (const Json& one : *versions->as_array()) {
    if (one.is_text() && *one.as_text() == version) return true;
  }
  return false;
}

// Reads the error's data or the result of server/discover.
bool supports_modern(std::string_view json, std::string_view member) {
  std::optional<Json> read = parse_json_or_nothing(json);
  return read && read->is_object() && names(read->find(member), modern_version);
}

// Answers that only a server of the modern revision gives.
bool is_modern_error(const RpcAnswer& answer) {
  return answer.kind == RpcAnswer::Kind::error &&
         (answer.code == header_mismatch || answer.code == missing_capability);
}

// A 403 without a challenge may refuse server/discover alone: initialize asks again.
bool is_refusal(const RpcAnswer& answer, const RpcMessage& message) {
  if (answer.kind != RpcAnswer::Kind::status) return false;
  if (answer.status == 401) return true;
  bool is_discovery = message.method == "server/discover" && answer.www_authenticate.empty();
  return answer.status == 403 && !is_discovery;
}

Task<std::optional<std::vector<http::HttpField>>> credential_now(OAuthServices services,
                                                                 CredentialAsk ask) {
  ServerCredentials credentials(services);
  CredentialOutcome outcome = co_await credentials.show(std::move(ask));
  if (!outcome.shown) co_return std::nullopt;
  co_return std::move(outcome.shown->headers);
}

RpcCredential credential_of(OAuthServices services, CredentialAsk ask) {
  return [services, ask = std::move(ask)] { return credential_now(services, ask); };
}

// Everything it needs is its own.
Task<void> tell_cancelled(OAuthServices services, RpcTarget target, Speech speech, std::string id) {
  std::optional<std::vector<http::HttpField>> shown = co_await target.next_credential();
  if (!shown) co_return;
  target.credential = std::move(*shown);
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
  target.next_credential = credential_of(services_, ask_.credential);
  target.trace_id = ask_.trace_id;
  target.limit_ms = ask_.limit_ms;
  return target;
}

// Returns nothing: shown_ is the credential that the server gets now.
Task<std::optional<SessionAnswer>> RemoteSession::show() {
  ServerCredentials credentials(services_);
  CredentialOutcome outcome = co_await credentials.show(ask_.credential);
  if (outcome.shown) {
    shown_ = std::move(outcome.shown);
    co_return std::nullopt;
  }
  SessionAnswer refused;
  refused.refused = std::move(outcome);
  co_return refused;
}

// With a credential; once more with a newer one.
Task<SessionAnswer> RemoteSession::send(RpcMessage message) {
  ServerCredentials credentials(services_);
  std::optional<SessionAnswer> end = co_await show();
  if (end) co_return std::move(*end);
  SessionAnswer sent;
  for (;;) {
    RpcTarget whom = target();
    if (message.method == "server/discover") {
      whom.limit_ms = std::min(whom.limit_ms, discovery_ms);
    }
    Task<RpcAnswer> exchanging =
        exchange_rpc(services_, std::move(whom), speech_, message, ask_.question);
    sent.answer = co_await exchanging;
    if (!is_refusal(sent.answer, message)) co_return sent;
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

// Returns nothing to continue. Any answer that is not of the modern revision makes it an older
// server. Older ones answer unknown requests with any status, with nothing, or never.
Task<std::optional<SessionAnswer>> RemoteSession::discover() {
  RpcMessage message;
  message.method = "server/discover";
  std::string_view offer;
  for (int tries = 0; tries < 2; ++tries) {
    message.id = new_rpc_id();
    SessionAnswer sent = co_await send(message);
    if (sent.refused) co_return sent;
    const RpcAnswer& answer = sent.answer;
    bool is_out_of_reach = answer.kind == RpcAnswer::Kind::failed && !answer.was_heard;
    if (is_out_of_reach || is_modern_error(answer)) co_return sent;
    bool is_result = answer.kind == RpcAnswer::Kind::result;
    if (is_result && supports_modern(answer.json, "supportedVersions")) co_return std::nullopt;
    offer = version_in_refusal(answer, modern_version);
    bool is_asked_again = answer.kind == RpcAnswer::Kind::error &&
                          answer.code == unsupported_version &&
                          supports_modern(answer.json, "supported");
    if (!is_asked_again) break;
  }
  std::string version(offer.empty() ? first_older_version : offer);
  Task<std::optional<SessionAnswer>> initializing = initialize(std::move(version));
  std::optional<SessionAnswer> end = co_await initializing;
  co_return end;
}

// Returns nothing if the session has begun. A server that refuses the revision and names others is
// asked with one of those.
Task<std::optional<SessionAnswer>> RemoteSession::initialize(std::string version) {
  for (int offers = 1;; ++offers) {
    speech_ = {version, ""};
    RpcMessage message;
    message.method = "initialize";
    message.params = initialize_params(version);
    message.id = new_rpc_id();
    SessionAnswer sent = co_await send(message);
    if (sent.refused || sent.answer.kind == RpcAnswer::Kind::failed) co_return sent;
    if (sent.answer.kind == RpcAnswer::Kind::result) {
      std::string agreed = agreed_version(sent.answer, version);
      if (!is_spoken(agreed)) co_return no_shared_version(sent.answer, agreed);
      speech_ = {agreed, sent.answer.session_id};
      break;
    }
    std::string_view other = version_in_refusal(sent.answer, version);
    if (other.empty() || offers == offers_max) co_return no_session(sent.answer);
    version = other;
    if (version == modern_version) break;
  }
  if (speech_.is_modern() || version == modern_version) {
    speech_ = Speech();  // which has no session
    co_return std::nullopt;
  }
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
  listening_.add(stream_name,
                 listen_to_server(services_, target(), speech_, ask_.question, on_open));
  if (!opening->is_open) co_await opening->changed.wait_for(services_.loop, stream_head_ms);
}

Task<std::optional<SessionAnswer>> RemoteSession::begin() {
  // With a modern server each request stands alone.
  if (ask_.protocol_version == modern_version) co_return std::nullopt;
  Task<std::optional<SessionAnswer>> beginning =
      is_older_version(ask_.protocol_version) ? initialize(ask_.protocol_version) : discover();
  std::optional<SessionAnswer> end = co_await beginning;
  co_return end;
}

// A request that was answered with a status of 400 or more was not carried out. One that the server
// took, and answered with an error, is repeated only if nothing is lost by it.
bool RemoteSession::may_begin_again(const SessionAnswer& sent, bool may_repeat) const {
  bool has_session = !speech_.is_modern() && !speech_.session_id.empty();
  bool is_over =
      has_session && !has_begun_again_ && !sent.refused && says_session_is_over(sent.answer);
  return is_over && (may_repeat || sent.answer.status >= 400);
}

Task<std::optional<SessionAnswer>> RemoteSession::begin_again() {
  has_begun_again_ = true;
  listening_.erase(stream_name);
  Task<std::optional<SessionAnswer>> initializing = initialize(speech_.version);
  std::optional<SessionAnswer> end = co_await initializing;
  if (!end && ask_.question && !speech_.is_modern()) co_await listen();
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
  CredentialAsk last = ask_.credential;
  last.last_of = shown_->connection_id;
  whom.next_credential = credential_of(services_, std::move(last));
  return tell_cancelled(services_, std::move(whom), speech_, last_id_);
}

Task<SessionAnswer> RemoteSession::request(RpcMessage message) {
  if (!has_begun_) {
    std::optional<SessionAnswer> end = co_await begin();
    // No part of the request itself was sent.
    if (end) end->answer.was_heard = false;
    if (end) co_return std::move(*end);
    if (ask_.question && !speech_.is_modern()) co_await listen();
    has_begun_ = true;
  }
  message.id = new_rpc_id();
  last_id_ = message.id;
  SessionAnswer sent = co_await send(message);
  if (may_begin_again(sent, message.may_repeat)) {
    std::optional<SessionAnswer> end = co_await begin_again();
    if (end) end->answer.was_heard = false;
    if (end) co_return std::move(*end);
    message.id = new_rpc_id();
    last_id_ = message.id;
    sent = co_await send(std::move(message));
  }
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
