// Stand-ins for providers of models of OpenAI's kind, which answer and fail as a test says.
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tests/support/peers/model_stream.h"
#include "tests/support/peers/scripted_server.h"

namespace hostler::testing_support {

inline const std::string usage_event =
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":100,\"completion_tokens\":50}}\n\n";

inline std::string stream_of(const std::string& events) {
  return stream_head + chunk(events) + stream_end;
}
inline std::string answer_of(std::string_view text) {
  return stream_of(text_event(text) + stop_event + usage_event + done_event);
}
inline std::string refusal_of(int status, std::string_view fields = {}) {
  std::string body = R"({"error":{"message":"no"}})";
  return fmt::format("HTTP/1.1 {} No\r\n{}Content-Length: {}\r\n\r\n{}", status, fields,
                     body.size(), body);
}

// A provider that answers each request by a script, and keeps what it was sent.
class StandIn {
 public:
  using Script = std::function<void(Peer&, const std::string& request)>;
  explicit StandIn(Script script)
      : script_(std::move(script)), server_([this](Peer& peer) {
          for (;;) {
            std::string request = peer.read_request();
            if (request.empty()) return;
            Script current;
            {
              std::lock_guard hold(mutex_);
              requests_.push_back(request);
              current = script_;
            }
            current(peer, request);
            return;  // a connection each
          }
        }) {}
  static Script sends(std::string bytes) {
    return [bytes = std::move(bytes)](Peer& peer, const std::string&) { peer.send(bytes); };
  }
  // Sends the bytes, and nothing more until the client goes.
  static Script stops_after(std::string bytes) {
    return [bytes = std::move(bytes)](Peer& peer, const std::string&) {
      peer.send(bytes);
      peer.wait_for_close();
    };
  }
  void becomes(Script script) {
    std::lock_guard hold(mutex_);
    script_ = std::move(script);
  }
  std::vector<std::string> requests() {
    std::lock_guard hold(mutex_);
    return requests_;
  }
  std::string url() const { return server_.url("/v1"); }

 private:
  std::mutex mutex_;
  Script script_;
  std::vector<std::string> requests_;
  ScriptedServer server_;
};

}  // namespace hostler::testing_support
