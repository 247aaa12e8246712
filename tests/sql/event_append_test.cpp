// The group commit's statements: what of a batch is written, and what of one that is sent again.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "queries/daemon.h"
#include "tests/support/run_world.h"

namespace hostler {
namespace {

using testing_support::RunWorld;
using testing_support::TestDatabase;

class EventAppend : public testing::Test {
 protected:
  struct Owned {
    std::string id;
    int64_t epoch;
  };
  Owned owned_run() {
    std::string id = world_.new_run(world_.new_thread());
    return {id, world_.claim(daemon_id_, id)};
  }
  std::string events_of(const std::string& run_id) {
    return world_.column(fmt::format(
        "SELECT coalesce(string_agg(seq || ' ' || type || ' ' || data, ', ' ORDER BY seq), '') "
        "FROM run_events WHERE run_id = '{}'",
        run_id));
  }
  Params batch(const std::vector<Owned>& runs) {
    Params params;
    std::vector<std::string> ids;
    std::vector<int64_t> epochs;
    for (const Owned& run : runs) {
      ids.push_back(run.id);
      epochs.push_back(run.epoch);
    }
    return params.text(daemon_id_).uuids(ids).integers(epochs);
  }

  TestDatabase database_;
  RunWorld world_{database_};
  std::string daemon_id_ = world_.new_daemon("here");
  DbSession session_ = database_.as_runner();
};

TEST_F(EventAppend, GivesEachRunItsEventsAndALostOneNone) {
  Owned first = owned_run();
  Owned lost = owned_run();
  Owned last = owned_run();
  --lost.epoch;
  Params params = batch({first, lost, last});
  params.integers({1, 1, 2, 3}).integers({1, 2, 1, 1}).texts({"a", "b", "c", "d"});
  Result held = session_.run(query::event_append, params.jsons({"1", "2", "3", "[4 ]"}));
  EXPECT_EQ(held.size(), 2);
  EXPECT_EQ(events_of(first.id), "1 a 1, 2 b 2");
  EXPECT_EQ(events_of(lost.id), "");
  EXPECT_EQ(events_of(last.id), "1 d [4 ]");
}

TEST_F(EventAppend, AddsOfABatchThatIsSentAgainWhatIsNotThere) {
  Owned run = owned_run();
  session_.run(query::event_append,
               batch({run}).integers({1}).integers({1}).texts({"a"}).jsons({"1"}));
  Params again = batch({run});
  again.integers({1, 1}).integers({1, 2}).texts({"a", "b"}).jsons({"1", "2"});
  Result held = session_.run(query::event_append_again, again);
  EXPECT_EQ(held.size(), 1);
  EXPECT_EQ(events_of(run.id), "1 a 1, 2 b 2");
}

TEST_F(EventAppend, RefusesABatchWithANumberThatIsTaken) {
  Owned run = owned_run();
  Params params = batch({run}).integers({1}).integers({1}).texts({"a"}).jsons({"1"});
  session_.run(query::event_append, params);
  EXPECT_THROW(session_.run(query::event_append, params), Error);
  EXPECT_EQ(events_of(run.id), "1 a 1");
}

}  // namespace
}  // namespace hostler
