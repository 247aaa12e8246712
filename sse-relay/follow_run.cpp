// Opening and catching up; see sse-relay/follow_run.h.
#include "sse-relay/follow_run.h"

#include <utility>

#include "lib/ids.h"
#include "lib/json.h"
#include "queries/access.h"
#include "queries/stream.h"
#include "sse-relay/event_pages.h"
#include "sse-relay/stream_answer.h"

namespace hostler::relay {
namespace {

bool has_form(const StreamRequest& wanted) {
  return is_uuid(wanted.run_id) && (wanted.org_id.empty() || is_uuid(wanted.org_id));
}

// In the contract's order: who asks (told by the statement itself), ids, values.
void check_form(const StreamRequest& wanted) {
  if (!wanted.org_id.empty() && !is_uuid(wanted.org_id)) {
    throw Error(ErrorCode::orgs_not_found, "X-Org-Id is not an id of an organization.");
  }
  if (!is_uuid(wanted.run_id)) throw Error(ErrorCode::runs_not_found);
}

// Of query::authenticate, for whoever sent the request.
Params authentication_params(const StreamRequest& wanted, const AnswerContext& context) {
  JsonWriter request;
  request.begin_object();
  request.member("trace_id", context.trace_id);
  request.member("client_ip", context.note.client_ip);
  request.member("user_agent", wanted.user_agent);
  if (context.is_risky) request.member("is_risky", true);
  if (context.needs_proof) request.member("needs_proof", true);
  request.end_object();
  Params params;
  params.bytes(wanted.credential.hash);
  params.boolean(wanted.credential.kind == Credential::Kind::api_key);
  if (is_uuid(wanted.org_id)) {
    params.text(wanted.org_id);
  } else {
    params.null();  // an X-Org-Id that is no UUID is told after who asks
  }
  params.text("data.runs.read").boolean(true).text(request.take());
  return params;
}

// One round trip: who asks, whether they may read the run, the first page.
Batch opening_batch(const StreamRequest& wanted, const AnswerContext& context) {
  Batch batch;
  batch.add(query::authenticate, authentication_params(wanted, context));
  if (!has_form(wanted)) return batch;
  batch.add(query::stream_open, Params().text(wanted.run_id));
  if (!wanted.faults.empty()) return batch;
  std::vector<UuidBytes> run_ids{uuid_bytes(wanted.run_id)};
  std::vector<int64_t> afters{wanted.after};
  batch.add(query::event_pages, page_params(run_ids, afters));
  return batch;
}

void take_caller(const Row& row, Client& client) {
  if (!row.is_null("session_id")) client.session_id = uuid_bytes(row.text("session_id"));
  if (!row.is_null("api_key_id")) client.api_key_id = uuid_bytes(row.text("api_key_id"));
  client.org_id = uuid_bytes(row.text("org_id"));
  AccessNote& note = client.arrival->context.note;
  client.address = IpAddress::parse(note.client_ip).value_or(IpAddress());
  note.identity = identity_of(caller_from(row));
}

// After the page was sent: what it means for the client, and how far the run is.
void settle_page(Client& client, const EventPage& page) {
  client.is_page_due = page.is_full;
  if (page.events.last_seq > 0) {
    client.cursor = page.events.last_seq;
    client.channel->saw(page.events.last_seq);
  }
  bool is_last = page.events.is_final || (!client.follows && !page.is_full);
  if (is_last) client.channel->finish(client);
}

// The run has ended and there is nothing behind the cursor: nothing will ever come.
void answer_no_more(FollowServices& services, Client& client) {
  const AnswerContext& context = client.arrival->context;
  Origins origins = services.cors_origins();
  bool comes_again = client.arrival->request.has_last_event_id;
  client.send(comes_again ? no_more_answer(context, *origins)
                          : stream_head(context, *origins, services.retry_ms()),
              services.loop.now_ms());
  client.channel->finish(client);
}

// Head and first events in one write.
void send_head(FollowServices& services, Client& client, const SharedBytes& frames) {
  Origins origins = services.cors_origins();
  std::string head = stream_head(client.arrival->context, *origins, services.retry_ms());
  std::vector<SharedBytes> buffers{std::make_shared<const std::string>(std::move(head))};
  if (!frames->empty()) buffers.push_back(frames);
  client.send(buffers, services.loop.now_ms());
}

Error crowded() {
  Error error(ErrorCode::overload_busy, "This host has as many open streams as it takes.");
  error.retry_after_s = 2;
  return error;
}

// A place for one question. While Postgres is away nobody waits in line for its absence.
void refuse_while_away(const FollowServices& services) {
  if (services.db.connected()) return;
  Error error(ErrorCode::database_unavailable, "Try again in a moment.",
              "in line when it was lost");
  error.retry_after_s = 1;
  throw error;
}

}  // namespace

Task<void> open_stream(FollowServices& services, Client& client) {
  if (services.is_crowded()) throw crowded();
  StreamRequest& wanted = client.arrival->request;
  wanted = read_stream_request(client.arrival->reader.request());
  bool was_full = services.gate.is_full();
  Gate::Place place(services.gate);
  co_await place;
  if (was_full) refuse_while_away(services);
  bool reads = has_form(wanted) && wanted.faults.empty();
  if (reads) services.channels.join(client, wanted.run_id);
  Batch batch = opening_batch(wanted, client.arrival->context);
  BatchOutcome outcome = co_await services.db.attempt_quick(std::move(batch));
  Results& results = outcome.results;
  if (!results.empty()) take_caller(results[0].front(), client);
  if (outcome.error) throw *outcome.error;
  check_form(wanted);
  if (results.at(1).empty()) throw Error(ErrorCode::runs_not_found);
  if (!wanted.faults.empty()) throw Error::validation(std::move(wanted.faults));

  Row run = results[1].front();
  int64_t last_seq = run.integer("last_seq");
  bool is_ended = run.boolean("is_ended");
  EventPage page = std::move(pages_of(results.at(2), 1).front());
  // Events go by whole months, with their partition.
  bool is_pruned = is_ended && last_seq > wanted.after && page.events.last_seq == 0;
  if (is_pruned) throw Error(ErrorCode::runs_events_expired);

  client.cursor = wanted.after;
  client.follows = wanted.follow;
  client.channel->saw(last_seq);
  client.phase = Phase::behind;
  services.on_open(client);
  if (is_ended && last_seq <= wanted.after) {
    answer_no_more(services, client);
  } else {
    send_head(services, client, page.events.frames);
    settle_page(client, page);
  }
  client.arrival.reset();
}

Task<void> catch_up(FollowServices& services, Client& client) {
  RunChannel& channel = *client.channel;
  while (client.phase == Phase::behind) {
    // Called again when it has drained.
    if (client.stream->pending_bytes() > 0) co_return;
    if (!client.is_page_due) {
      RunChannel::Served served = channel.serve(client, services.loop.now_ms());
      if (client.phase == Phase::live && channel.has_unheard_hint) services.channels.hint(channel);
      if (served == RunChannel::Served::settled) co_return;
    }
    Gate::Place place(services.gate);
    co_await place;
    std::vector<UuidBytes> run_ids{channel.id()};
    std::vector<int64_t> afters{client.cursor};
    Params params = page_params(run_ids, afters);
    Result rows = co_await services.db.quick(query::event_pages, std::move(params));
    EventPage page = std::move(pages_of(rows, 1).front());
    if (!page.events.frames->empty()) {
      client.send({&page.events.frames, 1}, services.loop.now_ms());
    }
    bool is_pruned = page.events.last_seq == 0 && client.cursor < channel.newest_seq();
    if (is_pruned) {
      // While it was read. Whoever comes back is told so.
      channel.finish(client);
      co_return;
    }
    settle_page(client, page);
  }
}

}  // namespace hostler::relay
