// The group commit's statements: what of a batch is written, and what of one that is sent again.
#include <gtest/gtest.h>

#include <type_traits>

#include <fmt/format.h>

#include "queries/daemon.h"
#include "tests/support/rows/run_fixture.h"

namespace hostler {
namespace {

using testing_support::RunFixture;
using testing_support::TestDatabase;

class EventAppend : public testing::Test {
 protected:
  struct Owned {
    std::string id;
    int64_t epoch;
  };
  Owned owned_run() {
    std::string id = fixture_.new_run(fixture_.new_thread());
    return {id, fixture_.claim(daemon_id_, id)};
  }
  std::string events_of(const std::string& run_id) {
    return fixture_.column(fmt::format(
        "SELECT coalesce(string_agg(seq || ' ' || type || ' ' || data, ', ' ORDER BY seq), '') "
        "FROM run_events WHERE run_id = '{}'",
        run_id));
  }
  // Append: query::EventAppend or query::EventAppendAgain. An event: the index of its run, seq,
  // type, data.
  struct Event {
    int64_t position;
    int64_t seq;
    std::string type;
    std::string data;
  };
  template <class Append>
  postgres::BoundStatement append(const std::vector<Owned>& runs,
                                  const std::vector<Event>& events) {
    std::vector<std::string> ids, types, data;
    std::vector<int64_t> epochs, positions, seqs;
    for (const Owned& run : runs) {
      ids.push_back(run.id);
      epochs.push_back(run.epoch);
    }
    for (const Event& event : events) {
      positions.push_back(event.position);
      seqs.push_back(event.seq);
      types.push_back(event.type);
      data.push_back(event.data);
    }
    if constexpr (std::is_same_v<Append, query::EventAppend>) {
      return Append{
          .daemon_id = daemon_id_,
          .run_ids = ids,
          .epochs = epochs,
          .positions = positions,
          .seqs = seqs,
          .types = types,
          .data = data,
          .server = session_.run_text("SELECT server_number()").front().integer("server_number")};
    } else {
      return Append{.daemon_id = daemon_id_,
                    .run_ids = ids,
                    .epochs = epochs,
                    .positions = positions,
                    .seqs = seqs,
                    .types = types,
                    .data = data};
    }
  }

  TestDatabase database_;
  RunFixture fixture_{database_};
  std::string daemon_id_ = fixture_.new_daemon("here");
  postgres::DbSession session_ = database_.as_runner();
};

TEST_F(EventAppend, GivesEachRunItsEventsAndALostOneNone) {
  Owned first = owned_run();
  Owned lost = owned_run();
  Owned last = owned_run();
  --lost.epoch;
  postgres::Result held = session_.run(append<query::EventAppend>(
      {first, lost, last},
      {{1, 1, "a", "1"}, {1, 2, "b", "2"}, {2, 1, "c", "3"}, {3, 1, "d", "[4 ]"}}));
  EXPECT_EQ(held.front().text("lost_positions"), "2");
  EXPECT_EQ(events_of(first.id), "1 a 1, 2 b 2");
  EXPECT_EQ(events_of(lost.id), "");
  EXPECT_EQ(events_of(last.id), "1 d [4 ]");
}

TEST_F(EventAppend, AddsOfABatchThatIsSentAgainWhatIsNotThere) {
  Owned run = owned_run();
  session_.run(append<query::EventAppend>({run}, {{1, 1, "a", "1"}}));
  postgres::Result held =
      session_.run(append<query::EventAppendAgain>({run}, {{1, 1, "a", "1"}, {1, 2, "b", "2"}}));
  EXPECT_EQ(held.front().text("lost_positions"), "");
  EXPECT_EQ(events_of(run.id), "1 a 1, 2 b 2");
}

TEST_F(EventAppend, RefusesABatchWithANumberThatIsTaken) {
  Owned run = owned_run();
  postgres::BoundStatement first = append<query::EventAppend>({run}, {{1, 1, "a", "1"}});
  session_.run(first);
  EXPECT_THROW(session_.run(first), Error);
  EXPECT_EQ(events_of(run.id), "1 a 1");
}

}  // namespace
}  // namespace hostler
