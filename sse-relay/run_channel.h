// One followed run: who follows it, and what is on its way to them. Live followers get the shared
// bytes of new events at once, without a coroutine; those that are behind find what they missed
// here, if it is still kept, or in the table.
//
//   live_seq_    every live follower has all up to here (or said that it has)
//   newest_seq_  all up to here is committed, as far as this side knows; never below live_seq_
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "lib/ids.h"
#include "lib/loop/stream.h"
#include "sse-relay/client.h"

namespace hostler::relay {

// Consecutive events of one run.
struct Chunk {
  int64_t first_seq = 0;
  int64_t last_seq = 0;
  SharedBytes frames;
  bool is_final = false;  // the last one ends the run
};

class RunChannel {
 public:
  explicit RunChannel(std::string run_id, int64_t now_ms);
  RunChannel(const RunChannel&) = delete;
  RunChannel& operator=(const RunChannel&) = delete;

  const std::string& run_id() const { return run_id_; }
  const UuidBytes& id() const { return id_; }
  bool is_empty() const { return members_ == 0; }
  bool has_live() const { return !live_.empty(); }
  int64_t live_seq() const { return live_seq_; }
  int64_t newest_seq() const { return newest_seq_; }

  // A new follower is behind.
  void join(Client& client);
  void leave(Client& client);

  // New events, in the order of their coming. From the feed there may be a gap, when something was
  // lost on the way: then nothing is sent, and false says that the table must be read.
  enum class Source { feed, table };
  bool deliver(const Chunk& chunk, Source source, int64_t now_ms);

  // All up to seq is known to be committed.
  void saw(int64_t seq);

  // Gives a follower that is behind what is kept here. needs_table: something in between is not.
  // Otherwise it is live now, or ending, or goes on when it has drained.
  enum class Served { settled, needs_table };
  Served serve(Client& client, int64_t now_ms);

  // What was sent is the last of it for this follower.
  void finish(Client& client);

  int64_t news_ms;                // when something was last heard of the run, or looked for
  bool is_read_due = false;       // among the runs whose new events are to be read
  bool has_unheard_hint = false;  // there may be something new, and nobody live to look for
  std::vector<Chunk> fresh;       // came in this turn, not delivered yet

  // At most this much waits for a follower that does not read; more is dropped and read again.
  static constexpr size_t pending_bytes_max = 64 << 10;

 private:
  enum class Given { all, nothing };
  Given give(Client& client, const Chunk& chunk, int64_t now_ms);
  void keep(const Chunk& chunk);
  void forget_if_unneeded();
  void set_behind(Client& client);
  void set_live(Client& client);
  static void remove(std::vector<Client*>& clients, Client& client);
  static void add(std::vector<Client*>& clients, Client& client);

  std::string run_id_;
  UuidBytes id_;
  std::vector<Client*> live_;
  std::vector<Client*> behind_;
  size_t members_ = 0;  // with those that are ending
  int64_t live_seq_ = 0;
  int64_t newest_seq_ = 0;
  std::deque<Chunk> recent_;  // consecutive; kept while somebody is behind
  size_t recent_bytes_ = 0;
};

}  // namespace hostler::relay
