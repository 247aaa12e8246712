// The followed runs; see sse-relay/channels.h.
#include "sse-relay/channels.h"

#include <utility>

namespace hostler::relay {
namespace {

// Joins the chunks that came in one turn, so that each follower is written to once.
std::vector<Chunk> joined(std::vector<Chunk> chunks) {
  std::vector<Chunk> out;
  for (size_t begin = 0; begin < chunks.size();) {
    size_t bytes = chunks[begin].frames->size();
    size_t end = begin + 1;
    for (; end < chunks.size() && chunks[end].first_seq == chunks[end - 1].last_seq + 1; ++end) {
      if (bytes + chunks[end].frames->size() > RunChannel::pending_bytes_max) break;
      bytes += chunks[end].frames->size();
    }
    Chunk& whole = out.emplace_back(chunks[begin]);
    if (end > begin + 1) {
      std::string frames;
      frames.reserve(bytes);
      for (size_t i = begin; i < end; ++i) frames += *chunks[i].frames;
      whole.frames = std::make_shared<const std::string>(std::move(frames));
      whole.last_seq = chunks[end - 1].last_seq;
      whole.is_final = chunks[end - 1].is_final;
    }
    begin = end;
  }
  return out;
}

}  // namespace

Channels::Channels(Loop& loop, EventFeed& feed, std::function<void()> on_read_due)
    : loop_(loop), feed_(feed), on_read_due_(std::move(on_read_due)) {}

Channels::~Channels() = default;

RunChannel& Channels::join(Client& client, const std::string& run_id) {
  std::unique_ptr<RunChannel>& channel = channels_[run_id];
  if (!channel) {
    channel = std::make_unique<RunChannel>(run_id, loop_.now_ms());
    feed_.follow(run_id);
  }
  channel->join(client);
  return *channel;
}

void Channels::leave(Client& client) {
  if (client.channel == nullptr) return;
  RunChannel& channel = *client.channel;
  channel.leave(client);
  if (!channel.is_empty()) return;
  feed_.unfollow(channel.run_id());
  channels_.erase(std::string(channel.run_id()));
}

void Channels::publish(EventFeed::News news) {
  std::vector<RunChannel*> touched;
  for (CommittedEvents& events : news.batch) {
    auto place = channels_.find(events.run_id);
    if (place == channels_.end()) continue;
    RunChannel& channel = *place->second;
    if (channel.fresh.empty()) touched.push_back(&channel);
    Chunk chunk;
    chunk.first_seq = events.first_seq;
    chunk.last_seq = events.last_seq;
    chunk.frames = std::make_shared<const std::string>(std::move(events.frames));
    chunk.is_final = events.is_final;
    channel.fresh.push_back(std::move(chunk));
  }
  for (RunChannel* channel : touched) flush(*channel);
  for (const std::string& run_id : news.changed) {
    auto place = channels_.find(run_id);
    if (place != channels_.end()) hint(*place->second);
  }
  if (!news.must_resync) return;
  for (auto& [run_id, channel] : channels_) hint(*channel);
}

void Channels::flush(RunChannel& channel) {
  for (const Chunk& chunk : joined(std::exchange(channel.fresh, {}))) {
    bool is_whole = channel.deliver(chunk, RunChannel::Source::feed, loop_.now_ms());
    if (!is_whole) hint(channel);
  }
}

void Channels::publish_read(const std::string& run_id, const Chunk& chunk) {
  auto place = channels_.find(run_id);
  if (place == channels_.end()) return;
  place->second->deliver(chunk, RunChannel::Source::table, loop_.now_ms());
}

void Channels::hint(RunChannel& channel) {
  channel.news_ms = loop_.now_ms();
  // Whoever gets live next looks for it.
  channel.has_unheard_hint = !channel.has_live();
  if (channel.has_unheard_hint || channel.is_read_due) return;
  channel.is_read_due = true;
  read_due_.push_back(channel.run_id());
  on_read_due_();
}

void Channels::hint_silent(int64_t silent_ms) {
  int64_t now_ms = loop_.now_ms();
  for (auto& [run_id, channel] : channels_) {
    if (now_ms - channel->news_ms >= silent_ms) hint(*channel);
  }
}

void Channels::postpone(const std::string& run_id) {
  auto place = channels_.find(run_id);
  if (place == channels_.end() || place->second->is_read_due) return;
  place->second->is_read_due = true;
  read_due_.push_back(run_id);
}

std::vector<RunChannel*> Channels::take_read_due(size_t most) {
  std::vector<RunChannel*> taken;
  while (!read_due_.empty() && taken.size() < most) {
    auto place = channels_.find(read_due_.back());
    read_due_.pop_back();
    if (place == channels_.end()) continue;
    place->second->is_read_due = false;
    if (place->second->has_live()) taken.push_back(place->second.get());
  }
  return taken;
}

}  // namespace hostler::relay
