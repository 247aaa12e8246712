// fake-model: a language model's far end for the demo and the tests. It speaks the OpenAI and
// Anthropic wire forms on 127.0.0.1 and does what the last user message tells it. A test tool,
// never a feature.
//
// Says "listening on http://127.0.0.1:PORT" on stdout. Ends on SIGTERM and SIGINT with status 0;
// 1: the port cannot be had; 2: bad arguments.
#include <sys/resource.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "dev/fake-model/http_server.h"
#include "dev/fake-model/pages.h"
#include "dev/fake-model/script.h"
#include "dev/fake-model/service.h"
#include "dev/fake-model/tool_backends.h"
#include "lib/log.h"
#include "lib/loop/loop.h"

namespace {

using namespace hostler;

constexpr std::string_view usage_text =
    "usage: fake-model [--port N] [--word-delay-ms N] [--tick-ms N]\n"
    "                      [--require-key KEY] [--help]\n"
    "\n"
    "A language model's far end for demos and tests, on 127.0.0.1.\n"
    "  --port N           0 (default) takes a free port; stdout tells which\n"
    "  --word-delay-ms N  pause after each word, 0 to 60000, default 20; 0: as fast as it goes\n"
    "  --tick-ms N        write only at multiples of so many milliseconds, 1 (default) to 1000: a\n"
    "                     long tick joins words into fewer writes, which saves CPU under load\n"
    "  --require-key KEY  refuse model requests without this key with 401\n"
    "\n"
    "Model paths, below any prefix\n"
    "  POST …/chat/completions   OpenAI Chat Completions, streamed or not\n"
    "  POST …/v1/messages        Anthropic Messages, streamed or not\n";

struct Arguments {
  uint16_t port = 0;
  bool wants_help = false;
  fake_model::ServiceOptions service;
};

std::optional<int64_t> number_up_to(std::string_view text, int64_t max) {
  int64_t number = 0;
  auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (fault != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (number < 0 || number > max) return std::nullopt;
  return number;
}

std::optional<Arguments> read_arguments(int count, char** texts) {
  Arguments arguments;
  for (int i = 1; i < count; ++i) {
    std::string_view name = texts[i];
    if (name == "--help" || name == "-h") {
      arguments.wants_help = true;
      continue;
    }
    if (i + 1 >= count) return std::nullopt;
    std::string_view value = texts[++i];
    if (name == "--port") {
      std::optional<int64_t> port = number_up_to(value, 65535);
      if (!port) return std::nullopt;
      arguments.port = static_cast<uint16_t>(*port);
    } else if (name == "--word-delay-ms") {
      std::optional<int64_t> delay = number_up_to(value, 60000);
      if (!delay) return std::nullopt;
      arguments.service.word_delay_ms = *delay;
    } else if (name == "--tick-ms") {
      std::optional<int64_t> tick = number_up_to(value, 1000);
      if (!tick || *tick < 1) return std::nullopt;
      arguments.service.tick_ms = *tick;
    } else if (name == "--require-key" && !value.empty()) {
      arguments.service.required_key = value;
    } else {
      return std::nullopt;
    }
  }
  return arguments;
}

// Raises the limit to as many streams as the system permits.
void raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

int run(const Arguments& arguments) {
  loop::Loop loop;
  fake_model::Service service(loop, arguments.service);
  fake_model::HttpServer server(loop, service.hooks());
  uint16_t port = server.listen(arguments.port);
  if (port == 0) {
    log_error("listen_failed",
              {{"port", std::to_string(arguments.port)}, {"cause", std::strerror(errno)}});
    return 1;
  }
  loop::SignalWatch on_term(loop, SIGTERM, [&loop] { loop.stop(); });
  loop::SignalWatch on_int(loop, SIGINT, [&loop] { loop.stop(); });
  std::printf("listening on http://127.0.0.1:%u\n", static_cast<unsigned>(port));
  std::fflush(stdout);
  loop.run();
  return 0;
}

}  // namespace

int main(int count, char** texts) {
  log_as("fake-model", LogLevel::info);
  std::optional<Arguments> arguments = read_arguments(count, texts);
  if (!arguments) {
    std::fwrite(usage_text.data(), 1, usage_text.size(), stderr);
    return 2;
  }
  if (arguments->wants_help) {
    std::string help(usage_text);
    for (std::string_view part :
         {fake_model::script_help(), fake_model::tools_help(), fake_model::pages_help()}) {
      help += "\n" + std::string(part);
    }
    std::fwrite(help.data(), 1, help.size(), stdout);
    return 0;
  }
  raise_descriptor_limit();
  return run(*arguments);
}
