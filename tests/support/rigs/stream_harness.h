// A relay on its thread, over a test database with a run to follow and somebody who may: for the
// unit tests of the streams (only they link the relay). Events are written by SQL, as a runner
// would, and told to the bus or not.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "lib/crypto.h"
#include "lib/events/event_bus.h"
#include "lib/formats/formats.h"
#include "lib/formats/frame_batch.h"
#include "sse-relay/stream_server.h"
#include "tests/support/clients/stream_client.h"
#include "tests/support/eventually.h"
#include "tests/support/rigs/database.h"
#include "tests/support/rows/run_fixture.h"

namespace hostler::testing_support {

class StreamHarness {
 public:
  // The options' moments are short ones already; change may lengthen them.
  explicit StreamHarness(const std::function<void(relay::StreamOptions&)>& change = {});
  ~StreamHarness();
  StreamHarness(const StreamHarness&) = delete;
  StreamHarness& operator=(const StreamHarness&) = delete;

  // A further access token: of the owner, unless told otherwise.
  std::string new_token();
  std::string new_token(const std::string& user_id);
  std::string new_run();
  void sql(const std::string& text) { session_.run_text(text); }

  // Commits events from..to of the run; the last of all is terminal when it ends the run.
  enum class Last { delta, completed };
  events::SharedBatch write(const std::string& run_id, int64_t from, int64_t to,
                            Last last = Last::delta, const std::string& filling = "");
  // write, then tells the bus as the runner does.
  void publish(const std::string& run_id, int64_t from, int64_t to, Last last = Last::delta,
               const std::string& filling = "");

  StreamClient follow(const std::string& run_id, const std::string& query = "",
                      const std::string& last_event_id = "");
  StreamClient ask(const StreamAsk& asked) { return StreamClient(socket_path_, asked); }
  void wait_for_streams(int count);  // open ones

  TestDatabase database;
  RunFixture fixture;
  events::EventBus bus;
  std::string token;
  std::unique_ptr<relay::StreamServer> relay;
  const std::string& socket_path() const { return socket_path_; }
  void stop();  // and waits for the thread

 private:
  postgres::DbSession session_;
  std::string socket_path_;
  std::thread thread_;
};

// The form in which subscribers of the event stream get them.
inline std::string native_frames(const events::EventBatch& events) {
  formats::EncoderState begin = formats::native_format().begin({events.run_id(), ""});
  return formats::FrameBatch(begin, events, 0).frames();
}

inline std::string new_socket_path() {
  static std::atomic<int> number = 0;
  const char* folder = std::getenv("TMPDIR");
  return fmt::format("{}/relay-{}-{}.sock", folder == nullptr ? "/tmp" : folder, getpid(),
                     ++number);
}

inline relay::StreamOptions short_options(const std::string& socket_path,
                                          const std::string& conninfo) {
  relay::StreamOptions options;
  options.socket_path = socket_path;
  options.conninfo = conninfo;
  options.tick_ms = 20;
  options.recheck_every_ms = 100;
  return options;
}

// 1, 2, … count.
inline std::vector<int64_t> one_to(int64_t count) {
  std::vector<int64_t> numbers(static_cast<size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 1);
  return numbers;
}

inline StreamHarness::StreamHarness(const std::function<void(relay::StreamOptions&)>& change)
    : fixture(database), session_(database.as_superuser()), socket_path_(new_socket_path()) {
  token = new_token();
  relay::StreamOptions options = short_options(socket_path_, database.runner_url());
  if (change) change(options);
  bus.set_listening(true);
  relay = std::make_unique<relay::StreamServer>(options, bus);
  relay->use_gateway(client::Gateway(config::Settings()));
  thread_ = std::thread([this] { relay->run(); });
}

inline StreamHarness::~StreamHarness() {
  stop();
  unlink(socket_path_.c_str());
}

inline void StreamHarness::stop() {
  relay->stop();
  if (thread_.joinable()) thread_.join();
}

inline std::string StreamHarness::new_token() { return new_token(fixture.owner_id); }

inline std::string StreamHarness::new_token(const std::string& user_id) {
  Token made = make_token("hat_");
  sql(
      fmt::format("WITH s AS (INSERT INTO sessions (user_id, begun_by) VALUES ('{}', 'password') "
                  "RETURNING id) INSERT INTO access_tokens (hash, session_id, expires_at) "
                  "SELECT '\\x{}', id, now() + interval '1 hour' FROM s",
                  user_id, to_hex(made.hash)));
  return made.text;
}

inline std::string StreamHarness::new_run() { return fixture.new_run(fixture.new_thread()); }

inline events::SharedBatch StreamHarness::write(const std::string& run_id, int64_t from, int64_t to,
                                                Last last, const std::string& filling) {
  std::string values;
  for (int64_t seq = from; seq <= to; ++seq) {
    bool is_last = seq == to && last == Last::completed;
    values +=
        fmt::format("{}('{}', {}, '{}', '{}')", values.empty() ? "" : ",", run_id, seq,
                    is_last ? "run.completed" : "message.delta",
                    is_last ? "{}" : fmt::format(R"({{"content":"word {}{}"}})", seq, filling));
  }
  std::string ending =
      last == Last::delta
          ? fmt::format("UPDATE runs SET last_seq = {} WHERE id = '{}'", to, run_id)
          : fmt::format(
                "UPDATE runs SET last_seq = {}, status = 'completed', ended_at = now() "
                "WHERE id = '{}'",
                to, run_id);
  postgres::Result rows = session_.run_text(
      fmt::format("WITH ending AS ({}) INSERT INTO run_events (run_id, seq, type, data) VALUES {} "
                  "RETURNING seq, type, data, rfc3339(created_at) AS created_at",
                  ending, values));
  auto committed = std::make_shared<events::EventBatch>(run_id);
  for (int i = 0; i < rows.size(); ++i) {
    committed->append(rows[i].integer("seq"), rows[i].text("type"), rows[i].text("data"),
                      rows[i].text("created_at"));
  }
  return committed;
}

inline void StreamHarness::publish(const std::string& run_id, int64_t from, int64_t to, Last last,
                                   const std::string& filling) {
  bus.publish({write(run_id, from, to, last, filling)});
}

inline StreamClient StreamHarness::follow(const std::string& run_id, const std::string& query,
                                          const std::string& last_event_id) {
  StreamAsk asked;
  asked.run_id = run_id;
  asked.token = token;
  asked.query = query;
  asked.last_event_id = last_event_id;
  return ask(asked);
}

inline void StreamHarness::wait_for_streams(int count) {
  EXPECT_TRUE(testing_support::eventually(StreamClient::limit_ms, [&] {
    return relay->streams() == count;
  })) << relay->streams();
}

}  // namespace hostler::testing_support
