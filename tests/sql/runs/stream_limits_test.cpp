// Tests which callers are refused a call that a stream answers, by the daemons' reports about open
// streams.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "lib/error.h"
#include "queries/access.h"
#include "queries/chat_runs.h"
#include "queries/daemon.h"
#include "queries/daemons.h"
#include "tests/support/rows/run_fixture.h"

namespace hostler::testing_support {
namespace {

class StreamLimits : public ::testing::Test {
 protected:
  void tell(const std::string& daemon_id, const std::string& holders) {
    database_.as_runner().run(
        query::FullStreamsKeep{.daemon_id = daemon_id, .holders = "[" + holders + "]"});
  }
  // An id of a user or organization as the relay writes it.
  static std::string full(std::string_view kind, std::string id, int streams = 2) {
    std::erase(id, '-');
    return fmt::format(R"({{"kind":"{}","id":"{}","streams":{},"limit_streams":2}})", kind, id,
                       streams);
  }
  // Returns the answer to the owner's chat completion, or an empty text if its run was made.
  std::string answer(std::string_view client_ip = "192.0.2.7", bool with_session = true) {
    postgres::DbSession session = database_.as_api();
    session.begin();
    std::string of_session = with_session ? fmt::format("\"{}\"", fixture_.owner_id) : "null";
    std::string context =
        fmt::format(R"({{"permissions":["data.runs.read"],"client_ip":"{}","session_id":{}}})",
                    client_ip, of_session);
    session.run(query::SetRequestContext{
        .org_id = fixture_.org_id, .user_id = fixture_.owner_id, .context = context});
    try {
      session.run(query::ChatRunCreate{.persona_id = std::nullopt,
                                       .route_id = std::nullopt,
                                       .history = R"([{"role":"user","content":"hello"}])",
                                       .sampling = std::nullopt,
                                       .end_user = std::nullopt,
                                       .metadata = "{}",
                                       .keeps = true,
                                       .limit_concurrent_runs = 100,
                                       .limit_concurrent_runs_per_user = 0,
                                       .limit_stored_bytes = 0,
                                       .credit_run_hold = 10,
                                       .response_format = std::nullopt,
                                       .tools = std::nullopt,
                                       .answered_calls = std::vector<std::string>(),
                                       .missing_calls = std::vector<std::string>()});
    } catch (const Error& error) {
      EXPECT_EQ(error.code, ErrorCode::streams_limit_exceeded) << error.cause;
      EXPECT_EQ(error.retry_after_s, 5);
      return error.detail;
    }
    session.commit();
    return "";
  }
  std::string holders() {
    return fixture_.column(
        "SELECT coalesce(string_agg(holder, ', ' ORDER BY holder), '') FROM "
        "full_streams");
  }

  TestDatabase database_;
  RunFixture fixture_{database_};
  const std::string of_user = "A user may have 2 open streams. Close one first.";
  const std::string of_org = "An organization may have 2 open streams. Close one first.";
  const std::string of_network = "A network may have 2 open streams. Close one first.";
};

TEST_F(StreamLimits, RefuseWhoeverIsFull) {
  std::string daemon = fixture_.new_daemon("a");
  EXPECT_EQ(answer(), "");
  tell(daemon, full("user", fixture_.owner_id));
  EXPECT_EQ(answer(), of_user);
  EXPECT_EQ(answer("192.0.2.7", false), "") << "a key's streams are the organization's";
  tell(daemon, full("organization", fixture_.org_id));
  EXPECT_EQ(answer("192.0.2.7", false), of_org);
  tell(daemon, full("user", fixture_.other_id) + "," + full("organization", fixture_.model_id));
  EXPECT_EQ(answer(), "") << "others are full";
  tell(daemon, "");
  EXPECT_EQ(holders(), "");
  EXPECT_EQ(fixture_.column("SELECT count(*) FROM runs"), "3");
  EXPECT_EQ(fixture_.column("SELECT count(*) FROM threads"), "3") << "one of each run";
}

TEST_F(StreamLimits, KnowANetworkByAddressOrSixtyFourBits) {
  std::string daemon = fixture_.new_daemon("a");
  tell(daemon, full("network", "192.0.2.7"));
  EXPECT_EQ(answer("192.0.2.7"), of_network);
  EXPECT_EQ(answer("::ffff:192.0.2.7"), of_network);
  EXPECT_EQ(answer("192.0.2.8"), "");
  tell(daemon, full("network", "2001:db8:0:0::"));
  EXPECT_EQ(answer("2001:db8::5:6:7:8"), of_network);
  EXPECT_EQ(answer("2001:db8:0:1::"), "");
}

TEST_F(StreamLimits, LeaveWhoeverADaemonHasRoomFor) {
  std::string first = fixture_.new_daemon("a");
  std::string second = fixture_.new_daemon("b");
  tell(first, full("user", fixture_.owner_id));
  EXPECT_EQ(answer(), "");
  tell(second, full("organization", fixture_.org_id));
  EXPECT_EQ(answer(), of_user) << "the one here, the other there";
  tell(second, "");
  EXPECT_EQ(answer(), "");
}

TEST_F(StreamLimits, CountNoDaemonThatIsGone) {
  std::string first = fixture_.new_daemon("a");
  std::string second = fixture_.new_daemon("b");
  tell(second, full("user", fixture_.owner_id));
  auto silent = [&](const std::string& daemon) {
    fixture_.column("UPDATE daemons SET heartbeat_at = now() - interval '40 seconds' WHERE id = '" +
                    daemon + "' RETURNING 1");
  };
  silent(first);
  EXPECT_EQ(answer(), of_user) << "the one that lives has no room";
  silent(second);
  EXPECT_EQ(answer(), "") << "nobody knows";
  fixture_.new_daemon("c");
  EXPECT_EQ(holders(), "") << "what the dead told goes when one begins";
  tell(second, full("user", fixture_.owner_id));
  fixture_.new_daemon("b");
  EXPECT_EQ(holders(), "") << "its successor is here";
}

TEST_F(StreamLimits, AskWhatTheOrganizationWasGrantedSince) {
  std::string daemon = fixture_.new_daemon("a");
  tell(daemon, full("organization", fixture_.org_id, 3));
  auto grant = [&](int limit) {
    fixture_.column(
        fmt::format("INSERT INTO entitlement_overrides (org_id, key, value, value_type, "
                    "created_by_user_id) VALUES ('{}', 'limit.streams', '{}', 'integer', '{}') "
                    "ON CONFLICT (org_id, key) DO UPDATE SET value = excluded.value RETURNING 1",
                    fixture_.org_id, limit, fixture_.owner_id));
  };
  EXPECT_EQ(answer(), of_org);
  grant(4);
  EXPECT_EQ(answer(), "");
  grant(3);
  EXPECT_EQ(answer(), "An organization may have 3 open streams. Close one first.");
  grant(0);
  EXPECT_EQ(answer(), "") << "any number";
}

TEST_F(StreamLimits, AreWrittenOnceWhileNothingChanges) {
  std::string daemon = fixture_.new_daemon("a");
  auto version = [&] { return fixture_.column("SELECT xmin::text || streams FROM full_streams"); };
  tell(daemon, full("user", fixture_.owner_id));
  std::string before = version();
  tell(daemon, full("user", fixture_.owner_id));
  EXPECT_EQ(version(), before);
  tell(daemon, full("user", fixture_.owner_id, 3));
  EXPECT_NE(version(), before);
}

}  // namespace
}  // namespace hostler::testing_support
