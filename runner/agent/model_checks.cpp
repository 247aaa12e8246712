// See runner/agent/model_checks.h.
#include "runner/agent/model_checks.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "lib/blank_text.h"
#include "lib/json.h"
#include "lib/log.h"
#include "lib/loop/wait.h"
#include "runner/agent/answer_format.h"
#include "runner/models/model_client.h"
#include "runner/models/run_failure.h"

namespace hostler::runner {
namespace {

// Thoughts too. What is asked for takes a few words.
constexpr size_t answer_bytes_max = size_t{256} << 10;
// Of one check, so that a slow one leaves the others some time.
constexpr int64_t check_limit_ms = 25'000;
// Somebody waits: a provider that asks for a longer pause than this fails the check.
constexpr RetryTiming timing{.tries_max = 2, .first_delay_ms = 500, .retry_after_ms_max = 5'000};

constexpr std::string_view tool_name = "get_weather";
constexpr std::string_view tool_parameters =
    R"({"type":"object","properties":{"city":{"type":"string","description":"The city's name."}},)"
    R"("required":["city"],"additionalProperties":false})";
constexpr std::string_view declared_format =
    R"({"type":"json_schema","name":"weather","schema":{"type":"object","properties":)"
    R"({"celsius":{"type":"integer"}},"required":["celsius"],"additionalProperties":false}})";

using Failure = std::optional<RunFailure>;

struct CheckOutcome {
  std::string_view name;
  Failure failure;
  int64_t duration_ms = 0;
};

// Nobody reads along; the observer only bounds the answer.
class CheckObserver : public ModelObserver {
 public:
  void on_text(TextChannel, std::string_view piece) override { bytes_ += piece.size(); }
  void on_retrying(int, int64_t, std::string_view) override {}
  bool is_full() const override { return bytes_ > answer_bytes_max; }
  std::string full_message() const override {
    return fmt::format("The model's answer to a small question is over {} KiB.",
                       answer_bytes_max >> 10);
  }

 private:
  size_t bytes_ = 0;
};

struct Services {
  loop::Loop& loop;
  http::HttpClient& http;
};

ModelRequest asking(ModelRequest request, std::string system, std::string question) {
  request.messages.push_back({ChatRole::system, std::move(system)});
  request.messages.push_back({ChatRole::user, std::move(question)});
  return request;
}

Task<ModelTurn> take_turn(Services services, ModelRequest request) {
  ModelTurn turn;
  CheckObserver observer;
  co_await stream_model_turn(services.http, services.loop, std::move(request), turn, observer,
                             timing);
  co_return turn;
}

Task<Failure> check_text(Services services, ModelRequest request) {
  ModelRequest question =
      asking(std::move(request), "You are a helpful assistant.", "Answer with one word: hello.");
  Task<ModelTurn> asked = take_turn(services, std::move(question));
  ModelTurn turn = co_await asked;
  bool is_answer = !is_blank_text(turn.text()) || !turn.calls().empty();
  if (is_answer) co_return std::nullopt;
  co_return RunFailure("model.no_answer", "The model's answer has no text.");
}

Failure check_call(const std::vector<ToolCall>& calls) {
  if (calls.empty()) {
    return RunFailure("model.no_tool_call",
                      "The model did not call the tool that it was told to call. Runs whose "
                      "persona has tools may not work with it.");
  }
  const ToolCall& call = calls.front();
  if (call.name != tool_name) {
    return RunFailure("tool.unknown", fmt::format("The model called {}, and only {} was offered.",
                                                  name_on_the_wire(call.name), tool_name));
  }
  std::optional<Json> arguments = parse_json_or_nothing(call.arguments);
  if (!arguments || !arguments->is_object()) {
    return RunFailure("tool.args_invalid",
                      "The arguments of the model's tool call are no JSON object.");
  }
  const Json* city = arguments->find("city");
  if (city == nullptr || !city->is_text()) {
    return RunFailure("tool.args_invalid",
                      "The arguments of the model's tool call lack what the tool requires.");
  }
  return std::nullopt;
}

Task<Failure> check_tools(Services services, ModelRequest request) {
  request.tools.push_back({.name = std::string(tool_name),
                           .description = "Tells the weather of a city.",
                           .parameters = std::string(tool_parameters)});
  request.sampling.tool_choice = ToolChoice{.kind = ToolChoice::Kind::required};
  ModelRequest question = asking(std::move(request), "You are a helpful assistant.",
                                 "What is the weather in Rome? Call get_weather.");
  Task<ModelTurn> asked = take_turn(services, std::move(question));
  ModelTurn turn = co_await asked;
  co_return check_call(turn.calls());
}

Task<Failure> check_schema(Services services, ModelRequest request) {
  AnswerFormat format = read_answer_format(declared_format);
  request.response_format = format.declared;
  std::string system = "You are a helpful assistant.";
  std::string instruction = format_instruction(request.endpoint.provider_kind, format.declared);
  if (!instruction.empty()) system += "\n\n" + instruction;
  ModelRequest question =
      asking(std::move(request), std::move(system), "It is 21 degrees Celsius. Answer in JSON.");
  Task<ModelTurn> asked = take_turn(services, std::move(question));
  ModelTurn turn = co_await asked;
  Task<AnswerVerdict> checking = check_answer(services.loop, std::move(format), turn.text());
  AnswerVerdict verdict = co_await checking;
  if (verdict.fits()) co_return std::nullopt;
  co_return RunFailure("output.schema_mismatch",
                       "The model's answer does not fit response_format: " + verdict.reason);
}

// What a check throws is what it found.
Task<Failure> caught(Task<Failure> check) {
  try {
    Failure failure = co_await check;
    co_return failure;
  } catch (const RunFailure& failure) {
    co_return Failure(failure);
  } catch (const std::exception& failure) {
    log_error("model_check_failed", {{"cause", failure.what()}});
    co_return RunFailure("internal.error", "Something went wrong on our side.");
  }
}

Task<CheckOutcome> timed(loop::Loop& loop, std::string_view name, Task<Failure> check,
                         int64_t limit_ms) {
  CheckOutcome outcome{.name = name, .failure = {}};
  int64_t begun_ms = loop.now_ms();
  Task<Failure> guarded = caught(std::move(check));
  std::optional<Failure> ended = co_await loop::with_timeout(loop, std::move(guarded), limit_ms);
  outcome.duration_ms = loop.now_ms() - begun_ms;
  if (ended) {
    outcome.failure = std::move(*ended);
  } else {
    outcome.failure =
        RunFailure("model.unavailable",
                   fmt::format("The model had not answered after {} seconds.", limit_ms / 1000));
  }
  co_return outcome;
}

std::string result_json(const std::vector<CheckOutcome>& outcomes) {
  bool is_ok = true;
  JsonWriter checks;
  checks.begin_array();
  for (const CheckOutcome& outcome : outcomes) {
    is_ok = is_ok && !outcome.failure;
    checks.begin_object().member("name", outcome.name).member("ok", !outcome.failure);
    if (outcome.failure) {
      checks.member("code", outcome.failure->code).member("message", outcome.failure->message);
    } else {
      checks.key("code").null().key("message").null();
    }
    checks.member("duration_ms", outcome.duration_ms).end_object();
  }
  checks.end_array();
  JsonWriter json;
  json.begin_object().member("ok", is_ok).member_raw("checks", checks.take()).end_object();
  return json.take();
}

}  // namespace

Task<std::string> check_model(loop::Loop& loop, http::HttpClient& http, ModelRequest request,
                              int64_t limit_ms) {
  struct Check {
    std::string_view name;
    Task<Failure> (*begin)(Services, ModelRequest);
  };
  constexpr Check checks[] = {
      {"text", check_text}, {"tools", check_tools}, {"schema", check_schema}};
  int64_t end_ms = loop.now_ms() + limit_ms;
  std::vector<CheckOutcome> outcomes;
  for (const Check& check : checks) {
    int64_t rest_ms = std::min(check_limit_ms, end_ms - loop.now_ms());
    bool is_answering = outcomes.empty() || !outcomes.front().failure;
    if (!is_answering || rest_ms <= 0) {
      std::string code = is_answering ? "model.unavailable" : outcomes.front().failure->code;
      std::string_view why = is_answering ? "The checks before it took all the time."
                                          : "The model does not answer at all.";
      outcomes.push_back({check.name, RunFailure(code, fmt::format("Not tried: {}", why))});
      continue;
    }
    Task<Failure> begun = check.begin(Services{loop, http}, request);
    Task<CheckOutcome> checking = timed(loop, check.name, std::move(begun), rest_ms);
    CheckOutcome outcome = co_await checking;
    outcomes.push_back(std::move(outcome));
  }
  co_return result_json(outcomes);
}

}  // namespace hostler::runner
