// hostler-runner: executes agent runs and serves their event streams.
//
// Talks to: Postgres, the models and tools, nginx (SCGI on stream.socket). Two threads: one loop
// runs the agents, one the streams; they share the event bus only. Signals: SIGTERM and SIGINT
// hand the runs back, end the streams with a retry line, exit within 25 s. Exit: 0 after a signal,
// 64 bad command line, 70 an essential task ended, 71 a socket or a file that settings name cannot
// be used, 75 another daemon has the socket, 78 bad configuration, or a pooler in front of Postgres
// that pools transactions.
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <thread>

#include "lib/client/gateway.h"
#include "lib/config/settings_load.h"
#include "lib/error.h"
#include "lib/log.h"
#include "lib/net/unix_listener.h"
#include "lib/program/metrics_server.h"
#include "lib/program/program_start.h"
#include "lib/program/service_notify.h"
#include "runner/access_log/lock_file.h"
#include "runner/daemon.h"
#include "sse-relay/stream_server.h"

namespace hostler::runner {
namespace {

constexpr int exit_os_error = 71;  // sysexits.h
constexpr int exit_instance_taken = 75;
constexpr int64_t exit_limit_ms = 22'000;

// Streams need descriptors: the soft limit is raised to the hard one.
void raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

// A coroutine that ends for want of memory would leave its runs owned and unattended: the process
// dies instead, and its successor goes on with them.
[[noreturn]] void exit_on_out_of_memory() {
  constexpr std::string_view words = "hostler-runner: out of memory\n";
  [[maybe_unused]] ssize_t written = write(STDERR_FILENO, words.data(), words.size());
  std::abort();
}

std::unique_ptr<program::MetricsServer> serve_metrics(loop::Loop& loop,
                                                      const config::Settings& start,
                                                      Daemon& daemon) {
  const std::string& path = start.text("metrics.runner_socket");
  if (path.empty()) return nullptr;
  int fd = net::listen_unix(path, 0660);
  return std::make_unique<program::MetricsServer>(loop, fd,
                                                  [&daemon] { return daemon.metrics_text(); });
}

StreamSide stream_side_of(relay::StreamServer& relay) {
  StreamSide side;
  side.count = [&relay](RunnerCounts& counts) {
    relay::StreamCounts now = relay.counts();
    counts.streams = now.streams;
    counts.streams_opened = now.opened;
    counts.streams_refused = now.refused;
    counts.streams_cut_off = now.cut_off;
    counts.peers_refused = now.peers_refused;
    counts.denials_dropped = now.denials_dropped;
    counts.stream_runs_gone_back = now.runs_gone_back;
  };
  side.allow_origins = [&relay](std::vector<std::string> origins) {
    relay.allow_origins(std::move(origins));
  };
  side.use_limits = [&relay](const config::Settings& now) {
    relay.use_limits(relay::stream_limits(now));
  };
  side.use_gateway = [&relay](const client::Gateway& gateway) { relay.use_gateway(gateway); };
  side.full_holders = [&relay](int64_t for_ms) { return relay.full_holders(for_ms); };
  return side;
}

// The streams' side on its thread, which ends however the daemon does.
class StreamThread {
 public:
  explicit StreamThread(relay::StreamServer& relay)
      : relay_(relay), thread_([&relay] { relay.run(); }) {}
  StreamThread(const StreamThread&) = delete;
  StreamThread& operator=(const StreamThread&) = delete;
  ~StreamThread() {
    relay_.stop();
    thread_.join();
  }

 private:
  relay::StreamServer& relay_;
  std::thread thread_;
};

// Whether a file that a setting names can be read; tells when not.
bool is_readable(std::string_view setting, const std::string& path) {
  if (path.empty() || access(path.c_str(), R_OK) == 0) return true;
  log_error("file_unreadable", {{"setting", std::string(setting)}, {"path", path}});
  return false;
}

void set_limits_and_signals() {
  raise_descriptor_limit();
  // Look-ups of names that tenants chose share libuv's threads with the reading of pages; its own
  // four could all wait for one slow name server. Names get half of them.
  setenv("UV_THREADPOOL_SIZE", "64", 0);
  signal(SIGPIPE, SIG_IGN);
  std::set_new_handler(exit_on_out_of_memory);
}

// Tells why the instance is not ours; the status to end with.
int refuse_instance(const std::string& instance, const std::string& fault) {
  if (fault.empty()) {
    log_error(
        "instance_taken",
        {{"socket", instance},
         {"mend",
          "another hostler-runner uses this stream.socket; stop it, or give this one another"}});
    return exit_instance_taken;
  }
  log_error(
      "instance_not_locked",
      {{"file", instance + ".lock"},
       {"cause", fault},
       {"mend",
        "the folder of stream.socket must exist, and this user must be able to write in it"}});
  return exit_os_error;
}

int run_daemon(const config::Settings& start) {
  const std::string& instance = start.text("stream.socket");
  // One daemon a socket: by the lock's id a successor knows whose runs nobody else writes to.
  LockFile instance_lock(instance + ".lock", boot_of_host());
  if (!instance_lock.take()) return refuse_instance(instance, instance_lock.fault());
  set_limits_and_signals();
  std::variant<config::SecretBox, std::string> box =
      config::SecretBox::load(start.text("secrets.key_file"));
  if (const std::string* fault = std::get_if<std::string>(&box)) {
    log_error("key_file_bad", {{"cause", *fault}});
    return config::exit_bad_configuration;
  }
  config::SecretBox& secrets = std::get<config::SecretBox>(box);
  if (!is_readable("outbound.ca_file", start.text("outbound.ca_file")))
    return config::exit_bad_configuration;
  client::RiskyNetworks risky_networks = client::load_risky_networks(start);
  events::EventBus bus;
  relay::StreamServer relay(relay::stream_options(start), bus);

  {
    StreamThread streams(relay);
    loop::Loop loop;
    DaemonOptions options;
    options.identity = {program::host_name(), instance, instance_lock.id()};
    options.slots = static_cast<int>(start.integer("run.slots"));
    options.risky_networks = std::move(risky_networks);
    Daemon daemon(loop, start, std::move(secrets), bus, options, stream_side_of(relay));
    loop::Timer give_up(loop, [&loop] { loop.stop(); });
    int64_t watchdog_ms = program::watchdog_interval_ms();
    loop::Timer watchdog(loop, [&] {
      program::notify_service("WATCHDOG=1");
      watchdog.restart(watchdog_ms);
    });
    if (watchdog_ms > 0) watchdog.restart(watchdog_ms);
    auto drain = [&] {
      if (give_up.pending()) return;
      program::notify_service("STOPPING=1\nSTATUS=handing runs back");
      log_info("daemon_drains", {{"runs", std::to_string(daemon.runs())}});
      give_up.restart(exit_limit_ms);
      relay.stop();
      daemon.drain([&loop] { loop.stop(); });
    };
    loop::SignalWatch on_term(loop, SIGTERM, drain);
    loop::SignalWatch on_int(loop, SIGINT, drain);
    std::unique_ptr<program::MetricsServer> metrics = serve_metrics(loop, start, daemon);
    daemon.start();
    loop.run();
  }
  log_info("daemon_stopped");
  return 0;
}

}  // namespace
}  // namespace hostler::runner

int main(int argc, char** argv) {
  using namespace hostler;
  program::ProgramStart start = program::start_program(
      argc, argv, "hostler-runner", "Executes agent runs and serves their event streams.",
      {{"metrics", "prints all metrics, with nothing counted, and exits"}});
  if (start.exit_status) return *start.exit_status;
  if (start.has("metrics")) {
    fputs(runner::RunnerMetrics().prometheus_text({}).c_str(), stdout);
    return EXIT_SUCCESS;
  }
  try {
    return runner::run_daemon(start.settings);
  } catch (const Error& failure) {
    log_error("daemon_failed", {{"cause", failure.cause.empty() ? failure.detail : failure.cause}});
    return runner::exit_os_error;
  } catch (const std::exception& failure) {
    log_error("daemon_failed", {{"cause", failure.what()}});
    return runner::exit_os_error;
  }
}
