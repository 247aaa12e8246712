// Starts and stops a stack; see tests/support/rigs/api_stack.h.
#include "tests/support/rigs/api_stack.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include <csignal>

#include <fmt/format.h>

#include "lib/crypto.h"
#include "tests/support/eventually.h"
#include "tests/support/rigs/run_program.h"

namespace hostler::testing_support {
namespace {

constexpr int64_t ready_limit_ms = 30'000;

void write_file(const std::string& path, std::string_view text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

// TEST_API_UNDER: a program that runs the pool, such as valgrind with its options.
std::vector<std::string> under_test(const std::string& program) {
  const char* runner = std::getenv("TEST_API_UNDER");
  std::vector<std::string> command;
  std::istringstream words(runner == nullptr ? "" : runner);
  for (std::string word; words >> word;) command.push_back(word);
  command.push_back(program);
  return command;
}

std::string through(const std::string& url, const std::string& host) {
  return host.empty() ? url : postgres::conninfo_with(url, {{"host", host}});
}

void must_end_well(const ProgramRun& run, std::string_view what) {
  if (run.status != 0) throw std::runtime_error(fmt::format("{}: {}{}", what, run.out, run.err));
}

// One certificate for all stacks of this program.
const std::string& certificate_folder() {
  static const std::filesystem::path folder = [] {
    std::string name = std::filesystem::temp_directory_path().string() + "/certificate-XXXXXX";
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make " + name);
    must_end_well(run_program({"/usr/bin/openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                               "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
                               "/CN=Hostler tests", "-addext", "subjectAltName=IP:127.0.0.1",
                               "-keyout", name + "/key.pem", "-out", name + "/ca.pem"}),
                  "openssl");
    return name;
  }();
  static const struct Removal {
    ~Removal() {
      std::error_code ignored;
      std::filesystem::remove_all(folder, ignored);
    }
  } removal;
  static const std::string path = folder.string();
  return path;
}

}  // namespace

ApiStack::Folder::Folder() {
  path = std::filesystem::temp_directory_path().string() + "/api-XXXXXX";
  if (mkdtemp(path.data()) == nullptr) throw std::runtime_error("cannot make " + path);
  std::filesystem::create_directories(path + "/mail");
  std::filesystem::create_directories(path + "/access-log");
}

ApiStack::Folder::~Folder() {
  if (testing::Test::HasFailure()) {
    std::string log = read_text_file(path + "/api.log") + read_text_file(path + "/runner.log");
    if (!log.empty())
      fmt::print("The last words of the programs:\n{}\n",
                 log.substr(log.size() - std::min<size_t>(log.size(), 4000)));
  }
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

ApiStack::ApiStack(ApiStackOptions options)
    : options_(std::move(options)),
      sql_(database_.as_superuser()),
      port_(free_port()),
      line_(fmt::format("https://127.0.0.1:{}", port_), certificate_folder() + "/ca.pem") {
  write_file(folder_.path + "/key", random_bytes(32));
  std::filesystem::permissions(folder_.path + "/key", std::filesystem::perms::owner_read);
  write_nginx();
  std::string programs = build_folder();
  ChildPlan api{under_test(programs + "/hostler-api"),
                environment(through(database_.api_url(), options_.api_database_host)),
                folder_.path + "/api.log", false};
  api_ = std::make_unique<Child>(api);
  start_files();
  if (options_.has_runner) start_runner();
  ChildPlan nginx{{"dev/stack/nginx", "run", folder_.path}, {}, folder_.path + "/nginx.log", false};
  nginx_ = std::make_unique<Child>(nginx);
  wait_until_ready();
  if (const char* prism = std::getenv("TEST_PRISM")) start_prism(prism);
}

// Not with --errors: prism would answer the bad requests of our tests itself. It tells what it
// finds in a header, which tests/support/clients/client.cpp reads.
void ApiStack::start_prism(const std::string& program) {
  int port = free_port();
  ChildPlan plan{{program, "proxy", "docs/openapi.yaml", fmt::format("https://127.0.0.1:{}", port_),
                  "--port", std::to_string(port), "--host", "127.0.0.1"},
                 {"NODE_EXTRA_CA_CERTS=" + certificate()},
                 folder_.path + "/prism.log",
                 false};
  prism_ = std::make_unique<Child>(plan);
  line_.go_through(fmt::format("http://127.0.0.1:{}", port));
  wait_until_ready();
}

ApiStack::~ApiStack() = default;

std::string ApiStack::certificate() { return certificate_folder() + "/ca.pem"; }

ApiStack& ApiStack::shared() {
  static std::string fault;
  if (!fault.empty()) throw std::runtime_error("the stack did not start; see the first failure");
  try {
    static ApiStack stack;
    return stack;
  } catch (const std::exception& error) {
    fault = error.what();
    throw;
  }
}

std::vector<std::string> ApiStack::environment(const std::string& database_url) const {
  const std::string& at = folder_.path;
  std::vector<std::string> all = {
      "HOSTLER_DATABASE_URL=" + database_url, "HOSTLER_API_SOCKET=" + at + "/api.sock",
      "HOSTLER_API_LOCK_DIR=" + at,
      // Like in a package: with a daemon, the pool has no other way to the network.
      "HOSTLER_OUTBOUND_SOCKET=" + (options_.has_runner ? at + "/outbound.sock" : ""),
      "HOSTLER_STREAM_SOCKET=" + at + "/stream.sock", "HOSTLER_API_WORKERS=2",
      "HOSTLER_ACCESS_LOG_DIR=" + at + "/access-log", "HOSTLER_SECRETS_KEY_FILE=" + at + "/key",
      "HOSTLER_FILES_SOCKET=" + at + "/files.sock", "HOSTLER_MAIL_DIR=" + at + "/mail",
      "HOSTLER_METRICS_API_SOCKET=" + at + "/metrics-api.sock",
      "HOSTLER_METRICS_RUNNER_SOCKET=" + at + "/metrics-runner.sock",
      // The tests are one busy client.
      "HOSTLER_LIMIT_REQUESTS_PER_MINUTE=1000000",
      "HOSTLER_LIMIT_ANONYMOUS_REQUESTS_PER_MINUTE=1000000",
      "HOSTLER_LIMIT_REGISTRATIONS_PER_NETWORK_HOUR=0", "HOSTLER_LIMIT_CONCURRENT_RUNS_PER_USER=0",
      "HOSTLER_LIMIT_STREAMS_PER_USER=0", "HOSTLER_LIMIT_STREAMS=0",
      "HOSTLER_LIMIT_STREAMS_PER_NETWORK=0"};
  all.insert(all.end(), options_.settings.begin(), options_.settings.end());
  return all;
}

void ApiStack::write_nginx() {
  auto way = [this](const char* socket) {
    std::string path = folder_.path + socket;
    return options_.nginx_proxy ? options_.nginx_proxy(path) : path;
  };
  std::string origins;
  constexpr std::string_view cors = "HOSTLER_HTTP_CORS_ORIGINS=";
  for (const std::string& setting : options_.settings) {
    if (setting.starts_with(cors)) origins = setting.substr(cors.size());
  }
  std::replace(origins.begin(), origins.end(), ',', ' ');
  must_end_well(
      run_program({"dev/stack/nginx", "write", folder_.path, "WORKERS=1", "FILES_MAX=4096",
                   "WORKER_CONNECTIONS=2048", fmt::format("LISTEN=127.0.0.1:{}", port_),
                   "LISTEN6=", "SERVER_NAME=localhost", "API_SOCKET=" + way("/api.sock"),
                   "STREAM_SOCKET=" + way("/stream.sock"),
                   "CERTIFICATE=" + certificate_folder() + "/ca.pem",
                   "CERTIFICATE_KEY=" + certificate_folder() + "/key.pem",
                   "ACCESS_LOG_DIR=" + folder_.path + "/access-log", "CONNECTIONS_MAX=4096",
                   "REQUESTS_PER_SECOND=100000", "REQUESTS_BURST=50000",
                   "CORS_ORIGINS=" + origins}),
      "dev/stack/nginx");
}

void ApiStack::start_files() {
  ChildPlan files{{build_folder() + "/hostler-files", "--socket", folder_.path + "/files.sock"},
                  {},
                  folder_.path + "/files.log",
                  false};
  files_ = std::make_unique<Child>(files);
}

void ApiStack::start_model() {
  std::string programs = build_folder();
  ChildPlan model{
      {programs + "/fake-model", "--word-delay-ms", "0"}, {}, folder_.path + "/model.log", true};
  model_ = std::make_unique<Child>(model);
  constexpr std::string_view stated = "listening on ";
  std::string line = model_->read_line();
  if (!line.starts_with(stated)) throw std::runtime_error("fake-model says: " + line);
  model_url_ = line.substr(stated.size());
}

void ApiStack::start_runner() {
  if (!model_) start_model();
  ChildPlan runner{{build_folder() + "/hostler-runner"},
                   environment(through(database_.runner_url(), options_.runner_database_host)),
                   folder_.path + "/runner.log",
                   false};
  runner_ = std::make_unique<Child>(runner);
}

Child& ApiStack::start_other_runner(const std::string& further_setting) {
  ChildPlan runner{{build_folder() + "/hostler-runner"},
                   environment(database_.runner_url()),
                   folder_.path + "/runner-other.log",
                   false};
  if (!further_setting.empty()) runner.environment.push_back(further_setting);
  for (const char* socket : {"STREAM_SOCKET=/stream", "OUTBOUND_SOCKET=/outbound",
                             "METRICS_RUNNER_SOCKET=/metrics-runner"}) {
    std::string setting = socket;
    setting.insert(setting.find('/'), folder_.path);
    runner.environment.push_back("HOSTLER_" + setting + "-other.sock");
  }
  other_runner_ = std::make_unique<Child>(runner);
  return *other_runner_;
}

void ApiStack::kill_runner() {
  runner_->send_signal(SIGKILL);
  runner_->wait();
  runner_.reset();
}

void ApiStack::wait_until_ready() {
  bool is_ready = false;
  auto is_over = [&] {
    is_ready = line_.quiet_status("/readyz") == 200;
    bool is_alive =
        api_->is_running() && nginx_->is_running() && (runner_ == nullptr || runner_->is_running());
    return is_ready || !is_alive;
  };
  if (eventually(ready_limit_ms, is_over) && is_ready) return;
  std::string log;
  for (const char* name : {"/api.log", "/runner.log", "/nginx.log", "/nginx-errors.log"}) {
    log += read_text_file(folder_.path + name);
  }
  throw std::runtime_error("the stack does not become ready:\n" + log);
}

}  // namespace hostler::testing_support
