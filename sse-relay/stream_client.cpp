// See sse-relay/stream_client.h. Here is the relay's only catch.
#include "sse-relay/stream_client.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "lib/log.h"
#include "queries/stream.h"
#include "sse-relay/stream_answer.h"
#include "sse-relay/stream_opening.h"

namespace hostler::relay {
namespace {

constexpr int64_t standstill_look_ms = 5000;

Error crowded() {
  Error error(ErrorCode::overload_busy, "This host has reached its limit of open streams.");
  error.retry_after_s = 2;
  return error;
}

// While Postgres is away nobody waits in line for its absence.
void refuse_while_away(const postgres::Database& db) {
  if (db.connected()) return;
  Error error(ErrorCode::database_unavailable, "Try again in a moment.",
              "in line when it was lost");
  error.retry_after_s = 1;
  throw error;
}

// Error for clients that cannot come back for the rest.
Error broken_off() {
  return Error(ErrorCode::http_unavailable, "The answer ends here, but its run continues.");
}

Error not_now(const char* why) {
  Error error(ErrorCode::http_unavailable, why);
  error.retry_after_s = 1;
  return error;
}

}  // namespace

StreamClient::~StreamClient() {
  task_.cancel();
  services_.wheel.remove(*this);
  services_.subscriptions.leave(*this);
}

void StreamClient::start() {
  services_.wheel.schedule(*this, now_ms() + services_.options.head_limit_ms);
  begin_reading(*this, now_ms());
}

void StreamClient::on_bytes(std::string_view bytes) {
  if (phase() != Phase::reading) return;  // nothing more is expected
  Arrival& arrival = *arrival_;
  ScgiReader::State state = arrival.reader.take(bytes);
  if (state == ScgiReader::State::more) return;
  begin_opening();
  if (state == ScgiReader::State::whole) choose_format();
  std::shared_ptr<const client::Gateway> gateway = services_.host.gateway();
  arrival.context = answer_context(arrival.reader.request(),
                                   gateway ? *gateway : client::Gateway(config::Settings()));
  if (!gateway) {
    refuse(not_now("The service is starting."));
  } else if (state == ScgiReader::State::broken) {
    refuse(Error(ErrorCode::http_bad_request, arrival.reader.fault()));
  } else {
    begin_task();
  }
}

void StreamClient::on_drained() {
  if (phase() == Phase::behind && is_resting()) begin_task();
}

// ---------------------------------------------------------------- into the stream

void StreamClient::begin_task() {
  task_ = advance();
  task_.start(nullptr);
}

void StreamClient::free_task() {
  is_to_be_freed_ = false;
  if (task_.done()) task_.cancel();
}

// From the request to a live stream, or from where a stream fell behind to where it is live again.
// It ends there: a live stream has no coroutine.
Task<void> StreamClient::advance() {
  std::optional<Error> fault;
  try {
    if (phase() == Phase::opening) co_await open();
    if (phase() == Phase::behind) co_await catch_up();
  } catch (const Error& error) {
    fault = error;
  } catch (const std::exception& error) {
    fault = Error(ErrorCode::internal_error, {}, error.what());
  }
  if (fault) take_fault(*fault);
  if (!std::exchange(is_to_be_freed_, true)) services_.host.rested(*this);
}

void StreamClient::join(int64_t behind_frame) {
  services_.subscriptions.join(*this, {arrival_->request.run_id, format_, behind_frame});
}

// The format that the pool names; a name that is not known stays for open() to refuse.
void StreamClient::choose_format() {
  for (const formats::Format& format : services_.options.formats) {
    if (format.name == arrival_->reader.request().format) format_ = &format;
  }
}

// From the request, which has arrived, to the head and the first events. Then the client is live,
// behind or ending. Throws the answer's Error, before anything was sent.
Task<void> StreamClient::open() {
  if (services_.host.is_crowded()) throw crowded();
  StreamRequest& wanted = arrival_->request;
  const ScgiRequest& request = arrival_->reader.request();
  wanted = read_stream_request(request, *format_);
  if (!request.format.empty() && format_->name != request.format) {
    throw Error(ErrorCode::internal_error, {}, "the pool named an unknown format");
  }
  const std::string& client_ip = arrival_->context.note.client_ip;
  reader_.address = net::IpAddress::parse(client_ip).value_or(net::IpAddress());
  services_.open_streams.check_network(reader_.address);
  bool was_full = services_.semaphore.is_full();
  auto kept = std::make_shared<Semaphore::Permit>(services_.semaphore);
  Semaphore::Permit& permit = *kept;
  co_await permit;
  if (was_full) refuse_while_away(services_.db);
  if (asks_for_events(wanted)) join(wanted.behind_frame);
  int64_t limit_of_org = services_.open_streams.limit_of_org();
  postgres::Batch batch = opening_batch(wanted, *format_, arrival_->context, limit_of_org);
  postgres::BatchOutcome outcome = co_await services_.db.attempt_pipelined(std::move(batch), kept);
  if (!outcome.results.empty()) take_caller(account::read_caller(outcome.results[0].text()));
  if (outcome.error) throw *outcome.error;
  StreamOpening opening = read_opening(wanted, outcome.results);
  bool goes_back = false;
  if (wanted.after > opening.last_seq) goes_back = co_await go_back_to_resumed(kept);
  bool starts_with_stored = format_->start == formats::Start::stored;
  int64_t begin_seq = starts_with_stored ? opening.last_seq : opening.input_seq;
  bool begins_later = begin_seq > 0;
  if (begins_later) {
    wanted.behind_frame = formats::frame_number(begin_seq, formats::frames_of_event - 1);
    services_.subscriptions.leave(*this);
    join(wanted.behind_frame);
  }
  bool is_over = opening.is_ended && opening.last_seq <= wanted.after;
  if (!is_over) services_.open_streams.check(reader_, opening.limit_of_org);

  if (wanted.is_head) {
    answer_head(opening);
    co_return;
  }
  follows_ = wanted.follow;
  subscription()->saw(opening.last_seq);
  formats::RunFacts facts{wanted.run_id, opening.client_facts, opening.is_checked};
  begin_stream(wanted.after, formats::begin_behind(*format_, facts, wanted.behind_frame));
  if (comes_back()) ends_ms_ = now_ms() + services_.host.age_max_ms();
  is_counted_ = true;
  services_.open_streams.add(reader_, opening.limit_of_org);
  services_.host.opened();
  if (is_over) {
    answer_no_more();
  } else if (goes_back || begins_later) {
    // The page is that of the old cursor, or was read before the subscription began.
    send(head_text(false), now_ms());
  } else if (format_->delivery == formats::Delivery::held) {
    hold_back(held_answer_fields(arrival_->context, *services_.host.cors_origins(), *format_,
                                 wanted.run_id));
    send_page({}, opening.page);
  } else {
    send_page({std::make_shared<const std::string>(head_text(false))}, opening.page);
  }
  arrival_.reset();
}

// The cursor is beyond what is stored: what came with it was lost with its server, if the run was
// resumed since. Else the client said what it never saw, and waits.
Task<bool> StreamClient::go_back_to_resumed(std::shared_ptr<void> kept) {
  postgres::BoundStatement asked = query::StreamResumed{.run_id = arrival_->request.run_id};
  postgres::Result answer = co_await services_.db.pipelined(std::move(asked), std::move(kept));
  if (answer.empty() || answer.front().is_null("seq")) co_return false;
  arrival_->request.after = answer.front().integer("seq") - 1;
  co_return true;
}

void StreamClient::take_caller(const account::Caller& caller) {
  if (caller.session_id) {
    reader_.session_id = uuid_bytes(*caller.session_id);
    reader_.user_id = uuid_bytes(caller.user_id);
  }
  if (caller.api_key_id) reader_.api_key_id = uuid_bytes(*caller.api_key_id);
  reader_.org_id = uuid_bytes(caller.org_id);
  arrival_->context.note.identity = client::identity_of(caller);
}

// The run has ended and there is nothing behind the cursor: nothing will ever come.
void StreamClient::answer_no_more() {
  send(head_text(true), now_ms());
  subscription()->finish(*this);
}

// To HEAD, as GET would be answered; no stream begins.
void StreamClient::answer_head(const StreamOpening& opening) {
  services_.subscriptions.leave(*this);
  send(head_text(opening.is_ended && opening.last_seq <= arrival_->request.after), now_ms());
  end();
}

std::string StreamClient::head_text(bool is_over) const {
  const AnswerContext& context = arrival_->context;
  Origins origins = services_.host.cors_origins();
  bool comes_again = arrival_->request.has_last_event_id;
  if (is_over && comes_again) return no_more_answer(context, *origins);
  return stream_head(context, *origins, *format_, run_to_tell(), services_.host.retry_ms());
}

// A client that asked for the stream by its path named the run.
std::string StreamClient::run_to_tell() const {
  const ScgiRequest& request = arrival_->reader.request();
  return is_uuid(request.run_id) ? std::string(request.run_id) : "";
}

// Sends the text before the page, and its frames, in one write. Then applies its meaning for the
// client, and how far the run is. A page without room ends the stream.
void StreamClient::send_page(std::vector<loop::SharedBytes> buffers, const EventPage& page) {
  is_page_due_ = page.is_full;
  bool is_last = !follows_ && !page.is_full;
  if (!page.events->is_empty()) {
    auto frames = std::make_shared<const formats::FrameBatch>(state(), *page.events, cursor());
    bool has_frames = !frames->frames().empty();
    if (has_frames && !services_.host.has_room_for(frames->frames().size())) {
      if (!buffers.empty()) send(buffers, now_ms());
      finish_early();
      return;
    }
    if (has_frames && is_held()) send_frames(bytes_of(frames), frames->status(), now_ms());
    if (has_frames && !is_held()) buffers.push_back(bytes_of(frames));
    go_on(frames->last_seq(), frames->state());
    subscription()->saw(page.events->last_seq());
    if (frames->is_final()) is_last = true;
  }
  if (!buffers.empty()) send(buffers, now_ms());
  if (is_last) subscription()->finish(*this);
}

// Until the client is live or ending, or has to drain first. Throws database_unavailable when the
// table is out of reach: then nothing is lost, and it is called again later.
Task<void> StreamClient::catch_up() {
  Subscription& followed = *subscription();
  while (phase() == Phase::behind) {
    // Called again when it has drained.
    if (pending_bytes() > 0) co_return;
    if (!is_page_due_) {
      Subscription::Served served = followed.serve(*this, now_ms());
      if (phase() == Phase::live && followed.has_pending_wake()) {
        services_.subscriptions.wake(followed);
      }
      if (served == Subscription::Served::done) co_return;
    }
    auto kept = std::make_shared<Semaphore::Permit>(services_.semaphore);
    Semaphore::Permit& permit = *kept;
    co_await permit;
    std::vector<UuidBytes> run_ids{followed.id()};
    std::vector<int64_t> afters{cursor()};
    std::vector<bool> usage_wanted{format_->tells_usage};
    postgres::BoundStatement asked = page_statement(run_ids, afters, usage_wanted);
    postgres::Result rows = co_await services_.db.pipelined(std::move(asked), std::move(kept));
    EventPage page = std::move(pages_of(rows, {followed.run_id()}).front());
    bool is_pruned = page.events->is_empty() && cursor() < followed.newest_seq();
    if (is_pruned) {
      // It happened while the page was read. A client that comes back gets that answer.
      finish_early();
      co_return;
    }
    send_page({}, page);
  }
}

// While Postgres is away a stream stays where it is.
bool StreamClient::resume() {
  bool is_stalled = phase() == Phase::behind && is_resting() && pending_bytes() == 0;
  if (is_stalled) begin_task();
  return is_stalled;
}

// ---------------------------------------------------------------- faults and ends

void StreamClient::take_fault(const Error& fault) {
  if (phase() == Phase::opening) {
    refuse(fault);
    return;
  }
  // An open stream outlives the absence of Postgres: the tick goes on with it.
  if (fault.code == ErrorCode::database_unavailable || fault.code == ErrorCode::database_timeout) {
    services_.host.stalled();
    return;
  }
  log_error("stream_failed", {{"cause", fault.cause}});
  finish_early();
}

// Answers before anything was sent.
void StreamClient::refuse(Error error) {
  AnswerContext& context = arrival_->context;
  if (error.refused) context.note.identity = *error.refused;
  services_.host.refused();
  if (error.code == ErrorCode::internal_error) {
    log_error("stream_refused", {{"trace_id", context.trace_id}, {"cause", error.cause}});
  }
  // Every denied attempt is in the audit log (contract section 2); nobody waits for that.
  if (error_row(error.code).status == 403) {
    services_.denials.add(denial_of(arrival_->request, context, error));
  }
  services_.subscriptions.leave(*this);
  Origins origins = services_.host.cors_origins();
  send(error_answer(context, *origins, *format_, run_to_tell(), error), now_ms());
  end();
}

// The run has not ended. Clients that do not come back by themselves get a note.
void StreamClient::finish_early() {
  if (is_held()) {
    send(held_error_answer(held_fields(), *format_, broken_off()), now_ms());
  } else if (!comes_back()) {
    send(format_->error_frames(broken_off()), now_ms());
  }
  subscription()->finish(*this);
}

void StreamClient::end_early() {
  task_.cancel();
  finish_early();
}

// A client that follows on comes back for the rest.
void StreamClient::end_with_retry() {
  if (comes_back()) send(retry_block(services_.host.retry_ms()), now_ms());
  end_early();
}

// Events that were committed and published before the stop have been sent; the rest is read after
// the reconnect.
void StreamClient::drain() {
  switch (phase()) {
    case Phase::reading:
      services_.host.gone(*this);
      break;
    case Phase::opening:
      task_.cancel();
      refuse(not_now("The service is restarting."));
      break;
    case Phase::behind:
    case Phase::live:
      end_with_retry();
      break;
    case Phase::ending:
      break;
  }
}

void StreamClient::look() {
  const StreamOptions& options = services_.options;
  int64_t now = now_ms();
  if (phase() == Phase::reading) {
    int64_t limit_ms = sent_ms() + options.head_limit_ms;
    if (now >= limit_ms) return services_.host.gone(*this);
    services_.wheel.schedule(*this, limit_ms);
    return;
  }
  if (is_open() && now >= ends_ms_) end_with_retry();
  if (pending_bytes() > 0) {
    int64_t limit_ms = stands_since(now) + options.standstill_max_ms;
    if (now >= limit_ms) {
      services_.host.cut_off();
      services_.host.gone(*this);
      return;
    }
    services_.wheel.schedule(*this, std::min(limit_ms, now + standstill_look_ms));
    return;
  }
  bool gets_pings = is_open() && !is_held();
  if (gets_pings && now - sent_ms() >= options.ping_after_ms) send(services_.ping, now);
  int64_t next_ms = (gets_pings ? sent_ms() : now) + options.ping_after_ms;
  services_.wheel.schedule(*this, is_open() ? std::min(next_ms, ends_ms_) : next_ms);
}

}  // namespace hostler::relay
