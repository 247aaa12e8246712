// Live delivery and what is kept for those behind; see sse-relay/run_channel.h.
#include "sse-relay/run_channel.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "lib/sse_frame.h"

namespace hostler::relay {

RunChannel::RunChannel(std::string run_id, int64_t now_ms)
    : news_ms(now_ms), run_id_(std::move(run_id)), id_(uuid_bytes(run_id_)) {}

void RunChannel::add(std::vector<Client*>& clients, Client& client) {
  client.channel_slot = static_cast<uint32_t>(clients.size());
  clients.push_back(&client);
}

void RunChannel::remove(std::vector<Client*>& clients, Client& client) {
  assert(clients[client.channel_slot] == &client);
  clients[client.channel_slot] = clients.back();
  clients[client.channel_slot]->channel_slot = client.channel_slot;
  clients.pop_back();
}

void RunChannel::join(Client& client) {
  assert(client.channel == nullptr);
  client.channel = this;
  ++members_;
  add(behind_, client);
}

void RunChannel::leave(Client& client) {
  assert(client.channel == this);
  if (client.phase == Phase::live) {
    remove(live_, client);
  } else if (client.phase != Phase::ending) {
    remove(behind_, client);
    forget_if_unneeded();
  }
  client.channel = nullptr;
  --members_;
}

void RunChannel::finish(Client& client) {
  if (client.phase == Phase::live) {
    remove(live_, client);
  } else {
    remove(behind_, client);
    forget_if_unneeded();
  }
  client.end();
}

void RunChannel::set_behind(Client& client) {
  remove(live_, client);
  add(behind_, client);
  client.phase = Phase::behind;
}

void RunChannel::set_live(Client& client) {
  assert(client.cursor >= newest_seq_);
  remove(behind_, client);
  forget_if_unneeded();
  if (live_.empty()) live_seq_ = newest_seq_;
  add(live_, client);
  client.phase = Phase::live;
}

void RunChannel::saw(int64_t seq) { newest_seq_ = std::max(newest_seq_, seq); }

void RunChannel::forget_if_unneeded() {
  if (!behind_.empty()) return;
  recent_.clear();
  recent_bytes_ = 0;
}

void RunChannel::keep(const Chunk& chunk) {
  if (behind_.empty()) return;
  if (!recent_.empty() && chunk.last_seq <= recent_.back().last_seq) return;
  if (!recent_.empty() && chunk.first_seq != recent_.back().last_seq + 1) {
    recent_.clear();
    recent_bytes_ = 0;
  }
  recent_.push_back(chunk);
  recent_bytes_ += chunk.frames->size();
  while (recent_bytes_ > pending_bytes_max) {
    recent_bytes_ -= recent_.front().frames->size();
    recent_.pop_front();
  }
}

// Sends the chunk, or the part of it that is new to the client. Nothing: there is no room.
RunChannel::Given RunChannel::give(Client& client, const Chunk& chunk, int64_t now_ms) {
  if (chunk.last_seq > client.cursor) {
    SharedBytes frames = chunk.frames;
    if (client.cursor >= chunk.first_seq) {
      frames = std::make_shared<const std::string>(frames_after(*frames, client.cursor));
    }
    size_t pending = client.stream->pending_bytes();
    if (pending > 0 && pending + frames->size() > pending_bytes_max) return Given::nothing;
    client.send({&frames, 1}, now_ms);
    client.cursor = chunk.last_seq;
  }
  if (chunk.is_final) finish(client);
  return Given::all;
}

bool RunChannel::deliver(const Chunk& chunk, Source source, int64_t now_ms) {
  news_ms = now_ms;
  saw(chunk.last_seq);
  bool is_new = !live_.empty() && chunk.last_seq > live_seq_;
  bool has_gap = is_new && source == Source::feed && chunk.first_seq > live_seq_ + 1;
  if (is_new && !has_gap) {
    live_seq_ = chunk.last_seq;
    // Backwards: whoever leaves the list is replaced by one that was served already.
    for (size_t i = live_.size(); i-- > 0;) {
      Client& client = *live_[i];
      if (give(client, chunk, now_ms) == Given::nothing) set_behind(client);
    }
  }
  keep(chunk);
  return !has_gap;
}

RunChannel::Served RunChannel::serve(Client& client, int64_t now_ms) {
  if (client.cursor < newest_seq_) {
    if (recent_.empty() || recent_.front().first_seq > client.cursor + 1) {
      return Served::needs_table;
    }
    // Ending the last one that is behind forgets what is kept.
    std::deque<Chunk> chunks = recent_;
    for (const Chunk& chunk : chunks) {
      if (give(client, chunk, now_ms) == Given::nothing) return Served::settled;
      if (client.phase == Phase::ending) return Served::settled;
    }
    if (client.cursor < newest_seq_) return Served::needs_table;
  }
  set_live(client);
  return Served::settled;
}

}  // namespace hostler::relay
