// Subscribers of runs: cut all at once when the relay stops, and cut anywhere, again and again.
// Each reads exactly the contiguous log, and those that were cut together do not come back
// together.
//
// STREAM_CLIENTS (100; `make soak`: 1000) are cut at once; STREAM_RETURNS (200; 10,000) chances to
// come back wrong; STREAM_SEED (random, printed). Each check is shown a client that errs.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>

#include <fmt/format.h>

#include "tests/support/clients/stream_client.h"
#include "tests/support/eventually.h"
#include "tests/support/parameters.h"
#include "tests/support/peers/faulty_proxy.h"
#include "tests/support/rigs/run_harness.h"
#include "tests/support/rows/run_faults.h"
#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

constexpr int64_t return_ms_max = 10'000;

// "" when the numbers go on behind seen without gap or repeat, else what is wrong.
std::string break_in(int64_t seen, const std::vector<int64_t>& seqs) {
  for (int64_t seq : seqs) {
    if (seq != ++seen) return fmt::format("{} where {} should be", seq, seen);
  }
  return "";
}

// How many of the moments fall into the fullest tenth of the time between first and last possible.
size_t fullest_tenth(const std::vector<int64_t>& moments_ms, int64_t from_ms, int64_t spread_ms) {
  std::map<int64_t, size_t> tenths;
  for (int64_t moment_ms : moments_ms) ++tenths[(moment_ms - from_ms) * 10 / spread_ms];
  size_t max = 0;
  for (const auto& [tenth, count] : tenths) max = std::max(max, count);
  return max;
}

class StreamStress : public testing::Test {
 protected:
  StreamStress() : user_(register_user(stack_)) {
    add_fake_model(stack_);
    rlimit files{};
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
  }

  static ApiStackOptions options() {
    ApiStackOptions options;
    options.has_runner = true;
    options.settings = {"HOSTLER_LIMIT_CONCURRENT_RUNS=100000"};
    return options;
  }
  void start_runner() {
    stack_.start_runner();
    EXPECT_TRUE(eventually(20'000, [this] {
      try {
        StreamClient listening(socket());
        return true;
      } catch (const std::runtime_error&) {
        return false;
      }
    }));
  }
  std::string socket() const { return stack_.folder() + "/stream.sock"; }
  StreamAsk ask(const std::string& run_id, int64_t after_seq) const {
    StreamAsk asked{run_id, user_.client.token, "", "", {}};
    if (after_seq > 0) asked.last_event_id = std::to_string(after_seq);
    return asked;
  }
  // Every line of the run, as one who comes late reads it; a relay that has just begun may refuse.
  std::string whole_log(const std::string& run_id) {
    std::string frames;
    EXPECT_TRUE(eventually(20'000, [&] {
      StreamClient late(socket(), ask(run_id, 0));
      EXPECT_TRUE(late.read_to_end());
      EXPECT_EQ(break_in(0, late.seqs()), "");
      EXPECT_TRUE(late.status() == 200 || late.status() == 503) << late.received();
      frames = late.frames();
      return late.status() == 200;
    }));
    return frames;
  }

  ApiStack stack_{options()};
  TestUser user_;
};

struct Subscriber {
  std::string run_id;
  EventStream stream;

  int64_t seen() const { return stream.last_seq(); }
  // Frames of one connection.
  void take(const StreamClient& client) {
    EXPECT_EQ(break_in(seen(), client.seqs()), "") << "of " << run_id;
    stream.add(client.stream());
  }
};

// The moment at which the stream's last words ask its client to come back, in ms; -1: they do not.
int64_t reported_retry_ms(const StreamClient& client) {
  const std::string& text = client.received();
  size_t last = text.rfind("retry: ");
  if (last == std::string::npos || last == text.find("retry: ")) return -1;
  return std::strtol(text.c_str() + last + 7, nullptr, 10);
}

TEST_F(StreamStress, ClientsCutAtOnceComeBackOneByOne) {
  constexpr int64_t retry_min_ms = 1000;
  constexpr int64_t retry_spread_ms = 2000;
  size_t clients = static_cast<size_t>(parameter("STREAM_CLIENTS", 100));
  std::vector<std::string> run_ids;
  for (int i = 0; i < 4; ++i)
    run_ids.push_back(start_output(user_.client, "[delay 20] [words 250]"));
  std::vector<Subscriber> subscribers(clients);
  std::vector<std::unique_ptr<StreamClient>> streams;
  for (size_t i = 0; i < clients; ++i) {
    subscribers[i].run_id = run_ids[i % run_ids.size()];
    streams.push_back(std::make_unique<StreamClient>(socket(), ask(subscribers[i].run_id, 0)));
  }
  for (auto& stream : streams) ASSERT_TRUE(stream->read_until("message.delta"));
  stack_.runner().send_signal(SIGTERM);
  int64_t cut_ms = monotonic_ms();
  stack_.runner().wait();
  start_runner();
  std::vector<std::pair<int64_t, size_t>> due;  // ms after the cut, which client
  std::vector<int64_t> moments_ms;
  for (size_t i = 0; i < clients; ++i) {
    ASSERT_TRUE(streams[i]->read_to_end());
    int64_t retry_ms = reported_retry_ms(*streams[i]);
    ASSERT_GE(retry_ms, retry_min_ms) << "cut without a word";
    subscribers[i].take(*streams[i]);
    due.emplace_back(retry_ms, i);
    moments_ms.push_back(retry_ms);
  }
  // By chance ten of a hundred fall into each tenth; more than thirty never do.
  EXPECT_LE(fullest_tenth(moments_ms, retry_min_ms, retry_spread_ms), clients * 3 / 10);
  // The check is shown clients that all come back after the same time.
  EXPECT_EQ(fullest_tenth(std::vector<int64_t>(clients, 2000), retry_min_ms, retry_spread_ms),
            clients);

  std::sort(due.begin(), due.end());
  for (const auto& [after_ms, i] : due) {
    let_pass(cut_ms + after_ms - monotonic_ms());
    streams[i] =
        std::make_unique<StreamClient>(socket(), ask(subscribers[i].run_id, subscribers[i].seen()));
  }
  for (auto& stream : streams) EXPECT_TRUE(stream->read_until("retry: ")) << stream->received();
  EXPECT_LE(monotonic_ms() - cut_ms, return_ms_max) << "not all are back";
  for (size_t i = 0; i < clients; ++i) {
    EXPECT_TRUE(streams[i]->read_to_end());
    subscribers[i].take(*streams[i]);
  }
  std::map<std::string, std::string> logs;
  for (const std::string& run_id : run_ids) logs[run_id] = whole_log(run_id);
  for (const Subscriber& subscriber : subscribers)
    EXPECT_EQ(subscriber.stream.frames(), logs[subscriber.run_id]);
  EXPECT_EQ(run_faults(stack_), "");
}

TEST_F(StreamStress, ClientsThatComeBackAnywhereReadTheContiguousLog) {
  FaultyProxy line(socket());
  unsigned seed = static_cast<unsigned>(parameter("STREAM_SEED", std::random_device{}()));
  SCOPED_TRACE(fmt::format("STREAM_SEED={}", seed));
  std::minstd_rand random(seed);
  std::vector<Subscriber> subscribers(5);
  int64_t returns = parameter("STREAM_RETURNS", 200);
  int64_t kills = 0;
  for (int64_t trial = 0; trial < returns; ++trial) {
    Subscriber& subscriber = subscribers[random() % subscribers.size()];
    if (subscriber.stream.has_ended() || subscriber.run_id.empty()) {
      if (!subscriber.run_id.empty()) {
        EXPECT_EQ(subscriber.stream.frames(), whole_log(subscriber.run_id));
      }
      subscriber = Subscriber();
      subscriber.run_id = start_output(user_.client, "[delay 2] [words 200]");
    }
    // Its line is cut inside whatever the relay says, or it is the client that goes.
    bool is_cut = random() % 2 == 0;
    if (is_cut) line.arm({FaultKind::cut, LineEnd::server, "id: ", random() % 4000});
    StreamClient client(line.folder() + "/stream.sock", ask(subscriber.run_id, subscriber.seen()));
    if (trial % 100 == 99) {
      ++kills;
      stack_.kill_runner();
      start_runner();
    }
    client.read_until(
        fmt::format("\nid: {}\n", subscriber.seen() + 1 + static_cast<int64_t>(random() % 40)));
    subscriber.take(client);
    line.disarm();
  }
  for (Subscriber& subscriber : subscribers) {
    if (!subscriber.run_id.empty()) {
      ASSERT_TRUE(eventually(60'000, [&] {
        if (subscriber.stream.has_ended()) return true;
        StreamClient client(line.folder() + "/stream.sock",
                            ask(subscriber.run_id, subscriber.seen()));
        client.read_to_end();
        subscriber.take(client);
        return subscriber.stream.has_ended();
      })) << "its log never ends";
      EXPECT_EQ(subscriber.stream.frames(), whole_log(subscriber.run_id));
    }
  }
  EXPECT_EQ(run_faults(stack_), "");
  EXPECT_GT(line.faults(), 0) << "no stream was cut";
  fmt::print("{} returns, {} streams cut, {} kills\n", returns, line.faults(), kills);

  // The check is shown clients that count wrongly: one skips an event, one hears one twice.
  const Subscriber& one = subscribers.front();
  StreamClient skips(socket(), ask(one.run_id, 4));
  StreamClient repeats(socket(), ask(one.run_id, 2));
  EXPECT_TRUE(skips.read_to_end() && repeats.read_to_end());
  EXPECT_NE(break_in(3, skips.seqs()), "");
  EXPECT_NE(break_in(3, repeats.seqs()), "");
}

}  // namespace
}  // namespace hostler::testing_support
