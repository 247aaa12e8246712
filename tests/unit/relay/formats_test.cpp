// One run in several formats: each gets its own bytes, made once for all; what is held back comes
// whole or as an error; who cannot come back is told when a stream breaks off.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <fmt/format.h>

#include "tests/support/rigs/stream_harness.h"
#include "tests/support/rigs/test_formats.h"

namespace hostler {
namespace {

using testing_support::CountedFormat;
using testing_support::StreamAsk;
using testing_support::StreamClient;
using testing_support::StreamHarness;
using Last = StreamHarness::Last;

std::string counted(int64_t from, int64_t to) {
  std::string text;
  for (int64_t i = from; i <= to; ++i) text += fmt::format("data: {}\n\n", i);
  return text;
}

class RunFormats : public testing::Test {
 protected:
  RunFormats()
      : harness([](relay::StreamOptions& options) {
          options.formats = testing_support::test_formats;
          options.ping_after_ms = 100;
        }),
        run_id(harness.new_run()) {}

  StreamAsk asked(const std::string& format) {
    StreamAsk asked;
    asked.run_id = run_id;
    asked.token = harness.token;
    asked.format = format;
    return asked;
  }
  StreamClient follow(const std::string& format) { return harness.ask(asked(format)); }
  // It is open: the stream has begun, or nothing is said yet.
  StreamClient followed(const std::string& format) {
    int before = harness.relay->streams();
    StreamClient client = follow(format);
    harness.wait_for_streams(before + 1);
    return client;
  }
  // Everything but the comments.
  static std::string frames_of(const StreamClient& client) {
    std::string frames;
    std::string left = client.body();
    for (size_t end = left.find("\n\n"); end != left.npos; end = left.find("\n\n")) {
      if (left[0] != ':') frames += left.substr(0, end + 2);
      left.erase(0, end + 2);
    }
    return frames + left;
  }
  void fail(int64_t seq) {
    harness.sql(fmt::format(
        "UPDATE runs SET last_seq = {1}, status = 'failed', error_code = 'model.rejected', "
        "error_message = 'no', ended_at = now() WHERE id = '{0}'; INSERT INTO run_events (run_id, "
        "seq, type, data) VALUES ('{0}', {1}, 'run.failed', '{{}}')",
        run_id, seq));
    harness.bus.changed_elsewhere({run_id});
  }

  StreamHarness harness;
  std::string run_id;
};

TEST_F(RunFormats, AreEachMadeOnceForAll) {
  std::vector<StreamClient> clients;
  for (int i = 0; i < 20; ++i) {
    clients.push_back(followed("counted"));
    clients.push_back(followed("native"));
    clients.push_back(followed("whole"));
  }
  int64_t before = CountedFormat::appended;
  for (int64_t seq = 1; seq <= 100; ++seq) harness.publish(run_id, seq, seq);
  harness.publish(run_id, 101, 101, Last::completed);
  std::string words;
  for (int i = 1; i <= 100; ++i) words += fmt::format("word {}", i);
  for (size_t i = 0; i < clients.size(); i += 3) {
    for (size_t j = i; j < i + 3; ++j) ASSERT_TRUE(clients[j].read_to_end());
    EXPECT_EQ(frames_of(clients[i]), counted(1, 100) + "data: end\n\n");
    EXPECT_EQ(clients[i + 1].seqs(), testing_support::one_to(101));
    EXPECT_EQ(clients[i + 2].body(), words);
  }
  EXPECT_EQ(CountedFormat::appended - before, 101) << "twenty clients, frames made for one";
}

TEST_F(RunFormats, BeginWithTheRunWhenOthersAreLive) {
  StreamClient early = followed("counted");
  harness.publish(run_id, 1, 30);
  ASSERT_TRUE(early.read_until("data: 30\n"));
  StreamClient late = follow("counted");
  ASSERT_TRUE(late.read_until("data: 30\n"));
  harness.publish(run_id, 31, 40, Last::completed);
  for (StreamClient* client : {&early, &late}) {
    ASSERT_TRUE(client->read_to_end());
    EXPECT_EQ(frames_of(*client), counted(1, 39) + "data: end\n\n");
    EXPECT_EQ(client->field("Content-Type"), "text/event-stream");
    EXPECT_EQ(client->field("X-Hostler-Run"), run_id);
    EXPECT_TRUE(client->body().starts_with(": ok\n\n")) << client->body().substr(0, 20);
  }
}

// Another daemon runs it, so that everything comes from the table, page by page.
TEST_F(RunFormats, AreTheSameFromTheTable) {
  StreamClient live = followed("counted");
  StreamClient held = followed("whole");
  harness.write(run_id, 1, 1300);
  harness.bus.changed_elsewhere({run_id});
  ASSERT_TRUE(live.read_until("data: 1300\n"));
  harness.write(run_id, 1301, 1301, Last::completed);
  harness.bus.changed_elsewhere({run_id});
  StreamClient replay = follow("counted");
  for (StreamClient* client : {&live, &replay}) {
    ASSERT_TRUE(client->read_to_end());
    EXPECT_EQ(frames_of(*client), counted(1, 1300) + "data: end\n\n");
  }
  ASSERT_TRUE(held.read_to_end());
  EXPECT_TRUE(held.body().starts_with("word 1word 2")) << held.body().substr(0, 40);
  EXPECT_TRUE(held.body().ends_with("word 1300"));
}

// A slow subscriber keeps the state of its place.
TEST_F(RunFormats, GoOnForASlowReaderWhereItWas) {
  StreamClient slow = followed("counted");
  StreamClient quick = followed("counted");
  int64_t last = 40'000;
  for (int64_t seq = 1; seq < last; seq += 2000) {
    harness.publish(run_id, seq, seq + 1999);
    ASSERT_TRUE(quick.read_until(fmt::format("data: {}\n", seq + 1999)));
  }
  harness.publish(run_id, last + 1, last + 1, Last::completed);
  ASSERT_TRUE(slow.read_to_end());
  EXPECT_EQ(frames_of(slow), counted(1, last) + "data: end\n\n");
}

TEST_F(RunFormats, HoldTheAnswerBackUntilTheRunHasEnded) {
  StreamClient held = followed("whole");
  StreamClient native = followed("native");
  harness.publish(run_id, 1, 3);
  ASSERT_TRUE(native.read_until("id: 3\n"));
  ASSERT_TRUE(native.read_until(": ping\n\n")) << "pings are sent";
  held.read_some(0);
  EXPECT_EQ(held.received(), "");
  harness.publish(run_id, 4, 4, Last::completed);
  ASSERT_TRUE(held.read_to_end());
  EXPECT_EQ(held.status(), 200);
  EXPECT_EQ(held.body(), "word 1word 2word 3");
  EXPECT_EQ(held.field("Content-Type"), "application/json");
  EXPECT_EQ(held.field("Content-Length"), "18");
  EXPECT_EQ(held.field("X-Hostler-Run"), run_id);
  EXPECT_EQ(held.field("X-Trace-Id"), "00000000000000000000000000000abc");
  EXPECT_EQ(held.field("Cache-Control"), "no-store");
  StreamClient again = follow("whole");
  ASSERT_TRUE(again.read_to_end());
  EXPECT_EQ(again.received(), held.received());
}

TEST_F(RunFormats, SayInTheHeadOfAHeldAnswerThatTheRunFailed) {
  StreamClient held = followed("whole");
  harness.publish(run_id, 1, 2);
  fail(3);
  ASSERT_TRUE(held.read_to_end());
  EXPECT_EQ(held.status(), 502);
  EXPECT_EQ(held.body(), "word 1word 2");
  // Another run would have to be paid for, and end likewise.
  EXPECT_EQ(held.field("x-should-retry"), "false");
}

TEST_F(RunFormats, TellWhoCannotComeBackThatTheRelayGoes) {
  harness.write(run_id, 1, 2);
  StreamClient counting = followed("counted");
  StreamClient held = followed("whole");
  StreamClient native = followed("native");
  ASSERT_TRUE(counting.read_until("data: 2\n"));
  harness.stop();
  for (StreamClient* client : {&counting, &held, &native}) ASSERT_TRUE(client->read_to_end());
  EXPECT_EQ(frames_of(counting), counted(1, 2) + "data: {\"oh\":\"http.unavailable\"}\n\n");
  EXPECT_EQ(held.status(), 503);
  EXPECT_EQ(held.body(), R"({"oh":"http.unavailable"})");
  EXPECT_EQ(held.field("x-should-retry"), "false");
  EXPECT_EQ(held.field("X-Hostler-Run"), run_id);
  EXPECT_EQ(native.body().find("unavailable"), std::string::npos);
}

TEST_F(RunFormats, EndWithTheSession) {
  StreamClient counting = followed("counted");
  StreamClient held = followed("whole");
  harness.sql("UPDATE sessions SET revoked_at = now()");
  ASSERT_TRUE(counting.read_to_end());
  ASSERT_TRUE(held.read_to_end());
  EXPECT_EQ(frames_of(counting), "data: {\"oh\":\"http.unavailable\"}\n\n");
  EXPECT_EQ(held.status(), 503);
}

TEST_F(RunFormats, BeginBehindTheFrameThatTheRequestSays) {
  harness.write(run_id, 1, 20);
  StreamClient whole = followed("counted_late");
  StreamAsk some = asked("counted_late");
  some.query = fmt::format("stream=true&starting_after={}", 16 * 5);
  StreamClient rest = harness.ask(some);
  ASSERT_TRUE(rest.read_until("data: 20\n"));
  some.query = fmt::format("starting_after={}", INT64_MAX);
  StreamClient nothing = harness.ask(some);
  harness.publish(run_id, 21, 30, Last::completed);
  for (StreamClient* client : {&whole, &rest, &nothing}) ASSERT_TRUE(client->read_to_end());
  EXPECT_EQ(frames_of(whole), counted(1, 29) + "data: end\n\n");
  EXPECT_EQ(frames_of(rest), counted(6, 29) + "data: end\n\n");
  EXPECT_EQ(frames_of(nothing), "");
}

// An answer to what the run asked is the request that begins the stream; what the run did until
// then another one had.
TEST_F(RunFormats, BeginBehindTheNewestAnswerThatIsStored) {
  auto event = [&](int64_t seq, const char* type) {
    harness.sql(
        fmt::format("INSERT INTO run_events (run_id, seq, type, data) VALUES ('{}', {}, "
                    "'{}', '{{}}'); UPDATE runs SET last_seq = {} WHERE id = '{}'",
                    run_id, seq, type, seq, run_id));
    harness.bus.changed_elsewhere({run_id});
  };
  harness.sql(fmt::format("UPDATE runs SET client_facts = '{{\"a\":1}}' WHERE id = '{}'", run_id));
  StreamClient first = followed("asking");
  harness.write(run_id, 1, 2);
  event(3, "run.waiting_for_input");
  ASSERT_TRUE(first.read_to_end());
  EXPECT_EQ(frames_of(first), "data: 1\n\ndata: 2\n\ndata: asked\n\n");
  EXPECT_EQ(first.field("x-test-format"), "asking");
  event(4, "run.input_provided");
  StreamClient second = followed("answered");
  harness.publish(run_id, 5, 6);
  ASSERT_TRUE(second.read_until("data: 6\n"));
  event(7, "run.waiting_for_input");
  ASSERT_TRUE(second.read_to_end());
  EXPECT_EQ(frames_of(second), "data: 5\n\ndata: 6\n\ndata: asked\n\n");
  event(8, "run.input_provided");
  StreamClient third = followed("answered");
  harness.publish(run_id, 9, 10, Last::completed);
  ASSERT_TRUE(third.read_to_end());
  EXPECT_EQ(frames_of(third), "data: 9\n\ndata: end {\"a\":1}\n\n");
}

// The pool asked who this is; so does the relay.
TEST_F(RunFormats, AreRefusedInTheirOwnWords) {
  for (const char* format : {"counted", "whole"}) {
    StreamAsk nobody = asked(format);
    nobody.token = "";
    StreamClient client = harness.ask(nobody);
    ASSERT_TRUE(client.read_to_end());
    EXPECT_EQ(client.status(), 401) << format;
    EXPECT_EQ(client.body(), R"({"oh":"auth.missing_token"})");
    EXPECT_EQ(client.field("Content-Type"), "application/json");
    EXPECT_EQ(client.field("x-should-retry"), "false");
    StreamAsk stranger = asked(format);
    stranger.token = harness.new_token(harness.fixture.other_id);
    StreamClient refused = harness.ask(stranger);
    ASSERT_TRUE(refused.read_to_end());
    EXPECT_EQ(refused.status(), 403) << refused.received();
    EXPECT_EQ(refused.body(), R"({"oh":"policy.denied"})");
    EXPECT_EQ(refused.field("X-Hostler-Run"), run_id);
  }
}

TEST_F(RunFormats, ThatTheRelayDoesNotKnowAreAFaultOfOurs) {
  StreamClient client = follow("no_such_format");
  ASSERT_TRUE(client.read_to_end());
  EXPECT_EQ(client.status(), 500);
  EXPECT_NE(client.body().find("internal.error"), std::string::npos);
}

// The request that the pool sent on is the pool's: what stands in it is not for the relay.
TEST_F(RunFormats, TakeNoCursorOfARequestThatThePoolSentOn) {
  harness.write(run_id, 1, 5, Last::completed);
  StreamAsk from_behind = asked("native");
  from_behind.query = "after_seq=2&follow=perhaps";
  from_behind.last_event_id = "3";
  StreamClient client = harness.ask(from_behind);
  ASSERT_TRUE(client.read_to_end());
  EXPECT_EQ(client.seqs(), testing_support::one_to(5));
}

// The bus has events only: what the run took is read with the last one.
TEST(OpenaiChatStream, TellsWhatTheRunTook) {
  StreamHarness harness;
  std::string run_id = harness.new_run();
  auto followed = [&](const char* format) {
    int before = harness.relay->streams();
    StreamAsk asked;
    asked.run_id = run_id;
    asked.token = harness.token;
    asked.format = format;
    StreamClient client = harness.ask(asked);
    harness.wait_for_streams(before + 1);
    return client;
  };
  StreamClient chunks = followed("openai_chat_usage");
  StreamClient whole = followed("openai_chat_whole");
  harness.publish(run_id, 1, 1);
  ASSERT_TRUE(chunks.read_until("\"content\":\"word 1\""));
  harness.sql(fmt::format(
      "INSERT INTO usage_records (org_id, run_id, turn, user_id, model, input_tokens, "
      "output_tokens, cache_read_tokens, cache_write_tokens, cost_nano_usd, measured) "
      "SELECT '{}', '{}', turn, '{}', 'm', 10, 2, 3, 1, 0, true FROM generate_series(1, 2) AS turn",
      harness.fixture.org_id, run_id, harness.fixture.owner_id));
  harness.publish(run_id, 2, 3, Last::completed);
  for (StreamClient* client : {&chunks, &whole}) {
    ASSERT_TRUE(client->read_to_end());
    EXPECT_NE(client->body().find(R"("prompt_tokens":20,"completion_tokens":4,"total_tokens":24,)"
                                  R"("prompt_tokens_details":{"cached_tokens":6,)"
                                  R"("cache_write_tokens":2})"),
              std::string::npos)
        << client->body();
    EXPECT_NE(client->body().find("word 2"), std::string::npos);
  }
  EXPECT_TRUE(chunks.body().ends_with("data: [DONE]\n\n"));
  EXPECT_EQ(whole.status(), 200);
}

}  // namespace
}  // namespace hostler
