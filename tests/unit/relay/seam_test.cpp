// The seam between what is stored and what is live: five thousand subscribers subscribe at any
// moment while events commit, and each must get every event exactly once, in order. The relay is
// the product's; the writer tells it of each commit as a daemon would, late, or not at all.
//
// The same check is shown to see what it is for: subscribers built the naive way (the mutants
// below, test code alone) are put through it at the worst moment, and must be found out. Run these
// alone with --gtest_filter='SeamCheck.*'.
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <random>
#include <thread>

#include "queries/stream.h"
#include "tests/support/rigs/stream_harness.h"

namespace hostler {
namespace {

using testing_support::one_to;
using testing_support::StreamClient;
using testing_support::StreamHarness;
using Last = StreamHarness::Last;
using Seqs = std::vector<int64_t>;

// Returns what is wrong with what a subscriber got; empty: nothing.
std::string fault_of(const Seqs& got, int64_t events) {
  for (size_t at = 0; at < got.size(); ++at) {
    int64_t wanted = static_cast<int64_t>(at) + 1;
    if (got[at] > wanted) return fmt::format("{} is missing", wanted);
    if (got[at] < wanted) return fmt::format("{} came again", got[at]);
  }
  int64_t last = static_cast<int64_t>(got.size());
  return last == events ? "" : fmt::format("ends behind {}", last);
}

constexpr int64_t events_of_a_run = 150;
constexpr int runs = 20;
constexpr int threads = 10;
constexpr int subscribers_of_a_thread = 25;
static_assert(runs * threads * subscribers_of_a_thread == 5000);

// Commits the run's events in small steps and announces them in every way.
void write_run(StreamHarness& harness, const std::string& run_id, unsigned seed,
               std::atomic<int64_t>& written) {
  std::minstd_rand random(seed);
  for (int64_t from = 1; from <= events_of_a_run;) {
    int64_t to = std::min<int64_t>(events_of_a_run, from + static_cast<int64_t>(random() % 3));
    Last last = to == events_of_a_run ? Last::completed : Last::delta;
    events::SharedBatch batch = harness.write(run_id, from, to, last);
    written = to;
    unsigned way = static_cast<unsigned>(random() % 6);
    if (way == 0) harness.bus.changed_elsewhere({run_id});
    if (way > 1) harness.bus.publish({batch});  // 1: it is not told
    from = to + 1;
  }
}

// Each thread opens its subscribers when the run is so far, spread over its whole length, then
// reads all to the end.
void follow_run(StreamHarness& harness, const std::string& run_id, unsigned seed,
                const std::atomic<int64_t>& written, std::atomic<int>& whole) {
  std::minstd_rand random(seed);
  std::vector<StreamClient> clients;
  for (int i = 0; i < subscribers_of_a_thread; ++i) {
    int64_t moment = events_of_a_run * i / subscribers_of_a_thread;
    while (written < moment) std::this_thread::yield();
    for (auto turns = random() % 20; turns > 0; --turns) std::this_thread::yield();
    clients.push_back(harness.follow(run_id));
  }
  for (StreamClient& client : clients) {
    EXPECT_TRUE(client.read_to_end());
    std::string fault = fault_of(client.seqs(), events_of_a_run);
    EXPECT_EQ(fault, "") << "run " << run_id;
    if (fault.empty()) ++whole;
  }
}

TEST(Seam, HoldsForFiveThousandSubscriptionsWhileEventsCommit) {
  unsigned seed = std::random_device{}();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  StreamHarness harness([](relay::StreamOptions& options) { options.look_anyway_ms = 200; });
  std::atomic<int> whole = 0;
  for (unsigned number = 0; number < runs; ++number) {
    std::string run_id = harness.new_run();
    std::atomic<int64_t> written = 0;
    std::vector<std::thread> readers;
    for (unsigned i = 0; i < threads; ++i) {
      readers.emplace_back(
          [&, i] { follow_run(harness, run_id, seed + number * 100 + i + 1, written, whole); });
    }
    write_run(harness, run_id, seed + number, written);
    for (std::thread& reader : readers) reader.join();
  }
  EXPECT_EQ(whole, 5000);
}

// ---------------------------------------------------------------- the check, put to the test

enum class Mutant {
  none,                    // subscribes, reads, drops what it has, reads again behind a gap
  reads_then_subscribes,   // loses what commits between the two
  keeps_what_comes_twice,  // sends what the bus says, as it comes
  trusts_notifications,    // never reads again: loses what nobody told
};

// A subscriber over the product's own bus and statement.
class NaiveSubscriber {
 public:
  NaiveSubscriber(StreamHarness& harness, std::string run_id, Mutant mutant)
      : harness_(harness), run_id_(std::move(run_id)), mutant_(mutant) {
    bus.on_updates([] {});
  }
  void first_step() { mutant_ == Mutant::reads_then_subscribes ? read() : bus.follow(run_id_); }
  void second_step() { mutant_ == Mutant::reads_then_subscribes ? bus.follow(run_id_) : read(); }
  void take_updates() {
    for (const events::SharedBatch& events : bus.take().batches) {
      bool has_gap = events->first_seq() > cursor_ + 1;
      if (has_gap && mutant_ != Mutant::trusts_notifications) read();
      for (int64_t seq = events->first_seq(); seq <= events->last_seq(); ++seq) {
        if (seq > cursor_ || mutant_ == Mutant::keeps_what_comes_twice) deliver(seq);
      }
    }
  }
  events::EventBus bus;
  Seqs got;

 private:
  void read() {
    postgres::DbSession session = harness_.database.as_runner();
    postgres::Result rows = session.run(query::EventPages{.run_ids = std::vector{run_id_},
                                                          .afters = std::vector{cursor_},
                                                          .usage_wanted = std::vector{false},
                                                          .rows_max = 1000,
                                                          .bytes_max = 1 << 20});
    for (int i = 0; i < rows.size(); ++i) deliver(rows[i].integer("seq"));
  }
  void deliver(int64_t seq) {
    got.push_back(seq);
    cursor_ = seq;
  }
  StreamHarness& harness_;
  std::string run_id_;
  Mutant mutant_;
  int64_t cursor_ = 0;
};

// The worst moments: three events are there, two commit between the subscriber's steps, of the last
// three nobody tells the middle one.
std::string fault_of(Mutant mutant) {
  StreamHarness harness;
  std::string run_id = harness.new_run();
  NaiveSubscriber subscriber(harness, run_id, mutant);
  int64_t last = 0;
  auto commit = [&](bool is_reported = true) {
    ++last;
    events::SharedBatch batch = harness.write(run_id, last, last);
    if (is_reported) subscriber.bus.publish({batch});
  };
  for (int i = 0; i < 3; ++i) commit();
  subscriber.first_step();
  commit();
  commit();
  subscriber.second_step();
  // A run may end here; then nothing comes that would show the first mutant its gap.
  if (mutant == Mutant::reads_then_subscribes) return fault_of(subscriber.got, 5);
  commit();
  commit(false);
  commit();
  subscriber.take_updates();
  return fault_of(subscriber.got, 8);
}

TEST(SeamCheck, PassesASubscriberThatSubscribesReadsAndDropsWhatItHas) {
  EXPECT_EQ(fault_of(Mutant::none), "");
}
TEST(SeamCheck, SeesASubscriberThatReadsBeforeItSubscribes) {
  EXPECT_EQ(fault_of(Mutant::reads_then_subscribes), "ends behind 3");
}
TEST(SeamCheck, SeesASubscriberThatKeepsWhatComesTwice) {
  EXPECT_EQ(fault_of(Mutant::keeps_what_comes_twice), "4 came again");
}
TEST(SeamCheck, SeesASubscriberThatTrustsNotifications) {
  EXPECT_EQ(fault_of(Mutant::trusts_notifications), "7 is missing");
}

}  // namespace
}  // namespace hostler
