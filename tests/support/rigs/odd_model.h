// A provider with habits of its own, for tests of whole runs: a server that answers as the test
// says, registered with the platform, and what it was sent.
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "lib/json.h"
#include "tests/support/peers/model_stream.h"
#include "tests/support/peers/scripted_server.h"
#include "tests/support/rigs/run_harness.h"

namespace hostler::testing_support {

// Events of a turn in OpenAI's form that ends so.
inline std::string odd_event(std::string_view delta, std::string_view finish = "") {
  std::string reason = finish.empty() ? "null" : json_quote(finish);
  return fmt::format(
      "data: {{\"choices\":[{{\"index\":0,\"delta\":{},\"finish_reason\":{}}}]}}\n\n", delta,
      reason);
}
inline std::string odd_text(std::string_view text, std::string_view finish = "stop") {
  return odd_event(R"({"content":)" + json_quote(text) + "}", finish) + done_event;
}
// further: members of the delta, such as "reasoning_content":"…",
inline std::string odd_call(std::string_view name, std::string_view arguments,
                            std::string_view finish = "tool_calls", std::string_view further = "") {
  return odd_event(fmt::format(R"({{{}"tool_calls":[{{"index":0,"id":"x","function":)"
                               R"({{"name":"{}","arguments":{}}}}}]}})",
                               further, name, json_quote(arguments)),
                   finish) +
         done_event;
}
inline std::string odd_refusal(std::string_view body) {
  return fmt::format(
      "HTTP/1.1 400 No\r\nContent-Type: application/json\r\nContent-Length: {}\r\n"
      "\r\n{}",
      body.size(), body);
}

class OddModel {
 public:
  // answer: what a request's body gets, the first one having number 0: events, or a whole answer
  // of HTTP.
  using AnswerOf = std::function<std::string(const Json& body, size_t number)>;
  explicit OddModel(AnswerOf answer, ApiStack& stack = runner_stack())
      : stack_(stack), answer_(std::move(answer)), server_([this](Peer& peer) { serve(peer); }) {
    TestUser admin = register_admin(stack_);
    Answer provider = admin.client.post("/v1/llm-providers",
                                        fmt::format(R"({{"name":"{}","provider_kind":"openai",)"
                                                    R"("base_url":"{}"}})",
                                                    new_name("odd"), server_.url("/v1")));
    provider_id_ = provider.member("id");
    Answer model = admin.client.post("/v1/llm-providers/" + provider_id_ + "/models",
                                     R"({"model":"odd","context_tokens":20000})");
    route_id_ = model.member("id");
  }

  const std::string& route_id() const { return route_id_; }
  const std::string& provider_id() const { return provider_id_; }
  std::string url() const { return server_.url("/v1"); }
  // Starts a run that uses it, with further members.
  std::string run_body(std::string_view further = "") const {
    return fmt::format(R"({{"route_id":"{}"{}}})", route_id_, further);
  }
  // The bodies of all requests.
  std::vector<Json> requests() {
    std::lock_guard<std::mutex> lock(mutex_);
    return requests_;
  }
  // Returns what runs learned of it, as JSON.
  std::string learned() const {
    return sql_value(stack_,
                     "SELECT coalesce((learned::jsonb - 'origin')::text, 'null') FROM llm_models "
                     "WHERE id = '" +
                         route_id_ + "'");
  }

 private:
  void serve(Peer& peer) {
    for (std::string got = peer.read_request(); !got.empty(); got = peer.read_request()) {
      std::optional<Json> body = parse_json_or_nothing(got.substr(got.find("\r\n\r\n") + 4));
      if (!body) return;
      size_t number = 0;
      {
        std::lock_guard<std::mutex> lock(mutex_);
        number = requests_.size();
        requests_.push_back(*body);
      }
      std::string answer = answer_(*body, number);
      bool is_whole = answer.starts_with("HTTP/");
      peer.send(is_whole ? answer : stream_head + chunk(answer) + stream_end);
    }
  }

  ApiStack& stack_;
  AnswerOf answer_;
  std::mutex mutex_;
  std::vector<Json> requests_;
  std::string provider_id_;
  std::string route_id_;
  ScriptedServer server_;
};

}  // namespace hostler::testing_support
