// A relay on its thread, over a test database with a run to follow and somebody who may: for the
// tests of the streams. Events are written by SQL, as a runner would, and told to the feed or not.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "sse-relay/event_feed.h"
#include "sse-relay/relay.h"
#include "tests/support/database.h"
#include "tests/support/run_world.h"
#include "tests/support/stream_client.h"

namespace hostler::testing_support {

class StreamStage {
 public:
  // The options' moments are short ones already; change may lengthen them.
  explicit StreamStage(const std::function<void(relay::RelayOptions&)>& change = {});
  ~StreamStage();
  StreamStage(const StreamStage&) = delete;
  StreamStage& operator=(const StreamStage&) = delete;

  // A further access token: of the owner, unless told otherwise.
  std::string new_token();
  std::string new_token(const std::string& user_id);
  std::string new_run();
  void sql(const std::string& text) { session_.run_text(text); }

  // Commits events from..to of the run; the last of all is terminal when it ends the run.
  enum class Last { delta, completed };
  CommittedEvents write(const std::string& run_id, int64_t from, int64_t to,
                        Last last = Last::delta, const std::string& filling = "");
  // write, then tells the feed as the runner does.
  void publish(const std::string& run_id, int64_t from, int64_t to, Last last = Last::delta,
               const std::string& filling = "");

  StreamClient follow(const std::string& run_id, const std::string& query = "",
                      const std::string& last_event_id = "");
  StreamClient ask(const StreamAsk& asked) { return StreamClient(socket_path_, asked); }
  void wait_for_streams(int count);  // open ones

  TestDatabase database;
  RunWorld world;
  EventFeed feed;
  std::string token;
  std::unique_ptr<relay::Relay> relay;
  const std::string& socket_path() const { return socket_path_; }
  void stop();  // and waits for the thread

 private:
  DbSession session_;
  std::string socket_path_;
  std::thread thread_;
};

// 1, 2, … count.
std::vector<int64_t> one_to(int64_t count);

}  // namespace hostler::testing_support
