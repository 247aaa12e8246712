// One client's way through the relay, from its first byte to its end; see sse-relay/relay.h. Here
// is the relay's only catch.
#include "sse-relay/relay.h"

#include <optional>
#include <utility>

#include <fmt/format.h>

#include "lib/ids.h"
#include "lib/log.h"
#include "sse-relay/relay_state.h"
#include "sse-relay/stream_answer.h"

namespace hostler::relay {
namespace {

constexpr const char* route = "GET /v1/runs/{run_id}/events";

}  // namespace

// The per-client function: from the request to a live stream, or from where a stream fell behind to
// where it is live again. It ends there: a live stream has no coroutine.
Task<void> Relay::State::advance(Client& client) {
  std::optional<Error> fault;
  try {
    if (client.phase == Phase::opening) co_await open_stream(services_, client);
    if (client.phase == Phase::behind) co_await catch_up(services_, client);
  } catch (const Error& error) {
    fault = error;
  } catch (const std::exception& error) {
    fault = Error(ErrorCode::internal_error, {}, error.what());
  }
  if (fault) take_fault(client, *fault);
  settle(client);
}

void Relay::State::take_fault(Client& client, const Error& fault) {
  if (client.phase == Phase::opening) {
    refuse(client, fault);
    return;
  }
  // An open stream outlives the absence of Postgres: the tick goes on with it.
  if (fault.code == ErrorCode::database_unavailable) {
    has_stalled_ = true;
    return;
  }
  log_error("stream_failed", {{"cause", fault.cause}});
  client.channel->finish(client);
}

// Answers before anything was sent.
void Relay::State::refuse(Client& client, const Error& error) {
  AnswerContext& context = client.arrival->context;
  if (error.refused) context.note.identity = *error.refused;
  ++counts_.refused;
  if (error.code == ErrorCode::internal_error) {
    log_error("stream_refused", {{"trace_id", context.trace_id}, {"cause", error.cause}});
  }
  if (error_row(error.code).status == 403) audit_denied(client, error);
  channels_.leave(client);
  client.send(problem_answer(context, *cors_origins(), error), loop_.now_ms());
  client.end();
}

// Every denied attempt is in the audit log (contract section 2); nobody waits for that.
void Relay::State::audit_denied(const Client& client, const Error& error) {
  const StreamRequest& wanted = client.arrival->request;
  const AnswerContext& context = client.arrival->context;
  Denial denial;
  denial.org_id = context.note.identity.org_id;
  denial.user_id = context.note.identity.user_id;
  bool is_key = wanted.credential.kind == Credential::Kind::api_key;
  if (is_key) denial.api_key_hash = wanted.credential.hash;
  denial.route = route;
  denial.code = error_row(error.code).name;
  // What is no id may be anything: it is not told.
  denial.target =
      is_uuid(wanted.run_id) ? fmt::format("GET /v1/runs/{}/events", wanted.run_id) : route;
  denial.trace_id = context.trace_id;
  denial.client_ip = context.note.client_ip;
  denial.user_agent = wanted.user_agent;
  denials_.add(std::move(denial));
}

void Relay::State::log_task_failure(const std::string& name, std::exception_ptr failure) {
  std::string cause = "unknown";
  try {
    std::rethrow_exception(failure);
  } catch (const Error& error) {
    cause = error.cause.empty() ? error.detail : error.cause;
  } catch (const std::exception& error) {
    cause = error.what();
  }
  log_error("relay_task_failed", {{"task", name}, {"cause", cause}});
}

void Relay::State::arrived(Client& client, std::string_view bytes) {
  if (client.phase != Phase::reading) return;  // nothing more is expected
  Arrival& arrival = *client.arrival;
  ScgiReader::State state = arrival.reader.take(bytes);
  if (state == ScgiReader::State::more) return;
  client.phase = Phase::opening;
  std::shared_ptr<const Gateway> gateway = this->gateway();
  arrival.context =
      answer_context(arrival.reader.request(), gateway ? *gateway : Gateway(Settings()));
  if (!gateway) {
    Error error(ErrorCode::http_unavailable, "The service is being started.");
    error.retry_after_s = 1;
    refuse(client, error);
  } else if (state == ScgiReader::State::broken) {
    refuse(client, Error(ErrorCode::http_bad_request, arrival.reader.fault()));
  } else {
    start(client);
  }
}

void Relay::State::drained(Client& client) {
  if (client.phase == Phase::behind && client.is_resting()) start(client);
}

void Relay::State::start(Client& client) {
  client.task = advance(client);
  client.task.start(nullptr);
}

// A task that has ended is freed on the loop's next turn, not from inside its own frame.
void Relay::State::settle(Client& client) {
  if (client.is_settled) return;
  client.is_settled = true;
  if (settled_.empty()) {
    loop_.defer([this] {
      for (Client* settled : std::exchange(settled_, {})) {
        settled->is_settled = false;
        if (settled->task.done()) settled->task.cancel();
      }
    });
  }
  settled_.push_back(&client);
}

void Relay::State::opened(Client& client) {
  client.is_counted = true;
  ++streams_;
  ++counts_.opened;
}

// Its session, membership or thread is gone, or the daemon leaves.
void Relay::State::end_early(Client& client) {
  client.task.cancel();
  client.channel->finish(client);
}

void Relay::State::destroy(Client& client) {
  if (client.is_counted) --streams_;
  if (client.is_settled) std::erase(settled_, &client);
  wheel_.remove(client);
  client.task.cancel();
  channels_.leave(client);
  uint32_t slot = client.slot;
  std::swap(clients_[slot], clients_.back());
  clients_[slot]->slot = slot;
  clients_.pop_back();
  if (is_draining_) stop_when_done();
}

}  // namespace hostler::relay
