// See tests/support/rigs/private_stack.h.
#include "tests/support/rigs/private_stack.h"

#include <gtest/gtest.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include <fmt/format.h>

#include "lib/json.h"
#include "lib/loop/task_set.h"
#include "tests/support/eventually.h"
#include "tests/support/rigs/child.h"
#include "tests/support/rigs/run_program.h"
#include "tests/support/rows/accounts.h"
#include "tests/support/run_task.h"

namespace hostler::testing_support {
namespace {

constexpr int64_t stream_limit_ms = 60'000;

std::string value_of(const std::string& written) {
  std::string value = written;
  if (value.size() >= 2 && (value.front() == '\'' || value.front() == '"')) {
    value = value.substr(1, value.size() - 2);
  }
  return value;
}

Task<EventStream> read_on(http::HttpClient& http, std::string url, std::string token,
                          int events_max) {
  http::HttpRequest request;
  request.url = std::move(url);
  request.guarded = false;
  request.total_timeout_ms = stream_limit_ms;
  request.connect_timeout_ms = stream_limit_ms;  // fifty TLS handshakes on a loaded machine
  request.response_bytes_max = size_t{64} << 20;
  request.headers = {{"Accept", "text/event-stream"}, {"Authorization", "Bearer " + token}};
  EventStream reading;
  http::HttpExchange exchange(http, std::move(request));
  const http::HttpHead* head = co_await exchange.head();
  if (head == nullptr) {
    reading.failure = exchange.failure()->message;
    co_return reading;
  }
  reading.status = head->status;
  for (;;) {
    std::optional<std::string> piece = co_await exchange.next_piece();
    if (!piece) break;
    reading.text += *piece;
    bool has_enough = events_max > 0 && reading.seqs().size() >= static_cast<size_t>(events_max);
    if (has_enough) co_return reading;
  }
  reading.has_ended_cleanly = !exchange.failure();
  if (exchange.failure()) reading.failure = exchange.failure()->message;
  co_return reading;
}

Task<void> read_into(http::HttpClient& http, std::string url, std::string token,
                     EventStream& reading) {
  EventStream read = co_await read_on(http, std::move(url), std::move(token), 0);
  reading = std::move(read);
}

Task<void> read_all(loop::Loop& loop, http::HttpClient& http, std::string url, std::string token,
                    std::vector<EventStream>& readings) {
  loop::TaskSet subscribers(loop, [](const std::string&, std::exception_ptr failure) {
    ADD_FAILURE() << loop::cause_of(failure);
  });
  for (EventStream& reading : readings) subscribers.add(read_into(http, url, token, reading));
  co_await subscribers.ended();
}

http::HttpClientOptions trusting(const PrivateStack& stack) {
  http::HttpClientOptions options;
  options.ca_file = stack.env("CA_CERT");
  return options;
}

std::string stream_url(const PrivateStack& stack, const std::string& run_id, int64_t after_seq) {
  return fmt::format("{}/v1/runs/{}/events?after_seq={}", stack.env("BASE_URL"), run_id, after_seq);
}

}  // namespace

std::vector<std::string> PrivateStack::environment() const {
  return {"VAR=" + folder_, fmt::format("PORT={}", port_), fmt::format("NODES={}", nodes_),
          "BUILD_DIR=" + std::filesystem::absolute(build_folder()).string(),
          // The tests are one busy client.
          "HOSTLER_LIMIT_REQUESTS_PER_MINUTE=1000000",
          "HOSTLER_LIMIT_ANONYMOUS_REQUESTS_PER_MINUTE=1000000"};
}

PrivateStack::PrivateStack(int nodes) : port_(free_port()), nodes_(nodes) {
  std::filesystem::path base = std::filesystem::temp_directory_path();
  folder_ = (base / fmt::format("hostler-system-{}-{}", getpid(), port_)).string();
  up();
}

PrivateStack::~PrivateStack() {
  run_program({"dev/stack/down"}, environment());
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

PrivateStack& PrivateStack::shared() {
  static PrivateStack stack;
  return stack;
}

void PrivateStack::up() {
  ProgramRun run = run_program({"dev/stack/up"}, environment());
  if (run.status != 0) throw std::runtime_error("make up failed: " + run.out + run.err);
  read_env();
}

void PrivateStack::read_env() {
  env_.clear();
  std::ifstream file(folder_ + "/env");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("export ")) line.erase(0, 7);
    size_t equals = line.find('=');
    if (line.starts_with('#') || equals == std::string::npos) continue;
    env_[line.substr(0, equals)] = value_of(line.substr(equals + 1));
  }
  if (!line_) line_ = std::make_unique<Line>(env("BASE_URL"), env("CA_CERT"));
}

pid_t PrivateStack::pid(const std::string& name) const {
  const std::string& digits = env(name);
  pid_t number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

std::vector<pid_t> PrivateStack::pids(const std::string& name) const {
  std::istringstream digits(env(name));
  return {std::istream_iterator<pid_t>(digits), {}};
}

void PrivateStack::restart_postgres() {
  // Acts as the cluster's owner, who may differ from the user who runs the tests.
  std::string owner = run_program({"/usr/bin/stat", "-c", "%U", env("PG_DATA")}).out;
  while (owner.ends_with('\n')) owner.pop_back();
  std::string bin = run_program({"dev/stack/postgres-bin", env("PG_DATA")}).out;
  while (bin.ends_with('\n')) bin.pop_back();
  std::vector<std::string> command = {bin + "/pg_ctl", "-D",     env("PG_DATA"), "-m",
                                      "immediate",     "-w",     "-s",           "-l",
                                      "/dev/null",     "restart"};
  if (geteuid() == 0) command.insert(command.begin(), {"/usr/sbin/runuser", "-u", owner, "--"});
  ProgramRun run = run_program(command);
  ASSERT_EQ(run.status, 0) << run.out << run.err;
}

PrivateStack::User PrivateStack::new_user(const std::string& message) {
  std::string name = new_name();
  Client client = this->client();
  std::string body = account_json(name, "a good password", name + "@example.org");
  Answer registered = client.post("/v1/auth/register", body);
  EXPECT_EQ(registered.status, 201) << registered.body;
  client.token = registered.member("access_token");
  std::string thread_id = client.post("/v1/threads").member("id");
  std::string stated = JsonWriter().begin_object().member("content", message).end_object().take();
  EXPECT_EQ(client.post("/v1/threads/" + thread_id + "/messages", stated).status, 201);
  return {client, thread_id};
}

std::string PrivateStack::start_run(const User& user) {
  Answer made = user.client.post("/v1/threads/" + user.thread_id + "/runs");
  EXPECT_EQ(made.status, 201) << made.body;
  return made.member("run_id");
}

EventStream read_stream(const PrivateStack& stack, const std::string& run_id,
                        const std::string& token, int64_t after_seq, int events_max) {
  loop::Loop loop;
  http::HttpClient http(loop, trusting(stack));
  return run_task(loop, read_on(http, stream_url(stack, run_id, after_seq), token, events_max));
}

std::vector<EventStream> read_streams(const PrivateStack& stack, const std::string& run_id,
                                      const std::string& token, size_t subscribers) {
  loop::Loop loop;
  http::HttpClient http(loop, trusting(stack));
  std::vector<EventStream> readings(subscribers);
  run_task(loop, read_all(loop, http, stream_url(stack, run_id, 0), token, readings));
  return readings;
}

EventStream read_whole_stream(const PrivateStack& stack, const std::string& run_id,
                              const std::string& token, int events_per_connection) {
  EventStream whole;
  EXPECT_TRUE(eventually(stream_limit_ms, [&] {
    EventStream part = read_stream(stack, run_id, token, whole.last_seq(), events_per_connection);
    whole.status = part.status;
    whole.add(part);
    return whole.has_ended();
  })) << whole.types();
  return whole;
}

}  // namespace hostler::testing_support
