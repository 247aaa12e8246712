// Workers forked, watched and replaced; see fcgi/pool/master.h.
//
// Forking happens between two runs of the loop, never inside one of its callbacks: the child leaves
// run() on a clean stack.
#include "fcgi/pool/master.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "lib/config/worker_count.h"
#include "lib/error.h"
#include "lib/log.h"
#include "lib/net/unix_listener.h"
#include "lib/program/service_notify.h"
#include "schema_version.h"

namespace hostler {
namespace {

constexpr int64_t tick_ms = 200;
// A loop that has not turned for so long serves nobody.
constexpr int64_t stuck_ms = 10'000;
// Every program ends within 25 s of SIGTERM; workers give up at 20 s by themselves.
constexpr int64_t end_limit_ms = 23'000;
constexpr int64_t fork_delay_min_ms = 100;
constexpr int64_t fork_delay_max_ms = 5'000;
constexpr int exit_bad_configuration = 78;  // sysexits.h; with it a worker ends the pool
// A worker that lived so long is replaced at once.
constexpr int64_t lived_well_ms = 10'000;

int workers_of(const config::Settings& settings) {
  return static_cast<int>(config::worker_count(settings, std::thread::hardware_concurrency()));
}

void set_close_on_exec(int fd, bool closes) {
  int flags = fcntl(fd, F_GETFD);
  fcntl(fd, F_SETFD, closes ? flags | FD_CLOEXEC : flags & ~FD_CLOEXEC);
}

std::string how_it_ended(int status) {
  if (WIFSIGNALED(status)) return fmt::format("signal {}", WTERMSIG(status));
  return fmt::format("status {}", WEXITSTATUS(status));
}

std::vector<char*> argument_list(std::vector<std::string>& words) {
  std::vector<char*> list;
  list.reserve(words.size() + 1);
  for (std::string& word : words) list.push_back(word.data());
  list.push_back(nullptr);
  return list;
}

}  // namespace

Master::Master(const config::Settings& settings, std::vector<std::string> own_command,
               std::optional<Inheritance> inheritance)
    : settings_(settings),
      own_command_(std::move(own_command)),
      listener_(inheritance ? inheritance->listener : open_listener(settings.text("api.socket"))),
      shared_(std::make_shared<SharedPool>(workers_of(settings), settings.text("api.lock_dir"))),
      fork_due_ms_(static_cast<size_t>(shared_->worker_slots.count()), 0),
      fork_delay_ms_(static_cast<size_t>(shared_->worker_slots.count()), 0),
      tick_(loop_, [this] { look_after(); }),
      terminate_(loop_, SIGTERM, [this] { begin_end(); }),
      interrupt_(loop_, SIGINT, [this] { begin_end(); }),
      reload_(loop_, SIGHUP, [this] { begin_reload(); }),
      child_ended_(loop_, SIGCHLD, [this] { reap(); }) {
  // Signals that arrived while one generation became the next were held back.
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  open_port(settings.text("api.listen_tcp"), inheritance.has_value(), listener_);
  set_close_on_exec(listener_.fd, true);
  if (listener_.tcp_fd >= 0) set_close_on_exec(listener_.tcp_fd, true);
  if (inheritance) {
    for (const OldWorker& worker : inheritance->workers) {
      if (worker.drain_fd >= 0) set_close_on_exec(worker.drain_fd, true);
      children_.push_back({worker.pid, worker.drain_fd, -1, monotonic_ms(), false});
    }
  }
  serve_metrics();
  if (shared_->passwords.is_alone()) {
    log_warning(
        "lock_dir_unusable",
        {{"api.lock_dir", settings.text("api.lock_dir")},
         {"means",
          "another pool of this host hashes passwords and ignores the permits of this one"}});
  }
  log_info("pool_started", {{"workers", std::to_string(shared_->worker_slots.count())},
                            {"socket", listener_.path.empty() ? "given" : listener_.path},
                            {"listen_tcp", settings.text("api.listen_tcp")}});
}

void Master::serve_metrics() {
  const std::string& path = settings_.text("metrics.api_socket");
  if (path.empty()) return;
  // The last generation's socket was closed when this program took its place.
  int fd = net::listen_unix(path, 0660);
  std::shared_ptr<SharedPool> shared = shared_;
  metrics_server_ = std::make_unique<program::MetricsServer>(
      loop_, fd, [shared] { return shared->metrics.prometheus_text(); });
}

Master::~Master() {
  for (const Child& child : children_) {
    if (child.drain_fd >= 0) close(child.drain_fd);
  }
  if (is_child_) return;
  close(listener_.fd);
  if (listener_.tcp_fd >= 0) close(listener_.tcp_fd);
}

std::optional<WorkerContext> Master::run() {
  while (!(is_ending_ && children_.empty())) {
    std::optional<WorkerContext> context = fork_due();
    if (context) return context;
    tick_.restart(tick_ms);
    loop_.run();  // until something has to be looked after
    if (std::exchange(is_next_due_, false)) become_next();
  }
  const std::string& metrics_path = settings_.text("metrics.api_socket");
  if (!metrics_path.empty()) unlink(metrics_path.c_str());
  log_info("pool_ended");
  return std::nullopt;
}

std::optional<WorkerContext> Master::fork_due() {
  int64_t now_ms = monotonic_ms();
  for (int worker_slot = 0; worker_slot < shared_->worker_slots.count() && !is_ending_;
       ++worker_slot) {
    int64_t& due_ms = fork_due_ms_[static_cast<size_t>(worker_slot)];
    if (due_ms < 0 || due_ms > now_ms) continue;
    due_ms = -1;
    WorkerContext context{};
    if (fork_worker(worker_slot, context)) return context;
  }
  return std::nullopt;
}

bool Master::fork_worker(int slot_number, WorkerContext& context) {
  int ends[2];
  WorkerSlot& worker_slot = shared_->worker_slots[slot_number];
  worker_slot.is_serving.store(false);
  shared_->metrics.clear_gauges(slot_number);
  shared_->passwords.clear(slot_number);
  worker_slot.heartbeat_ms.store(monotonic_ms());
  // A signal between fork and the worker's own rules would reach the handlers of this loop.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);
  // A signal that was caught but not yet delivered would be lost by the child's copy of the loop,
  // which then waits for it for ever when it is closed.
  loop_.run_once();
  if (is_ending_) {
    sigprocmask(SIG_SETMASK, &before, nullptr);
    return false;
  }
  pid_t pid = pipe2(ends, O_CLOEXEC) == 0 ? fork() : -1;
  if (pid == 0) {
    is_child_ = true;
    loop_.after_fork();
    close(ends[1]);
    context = {slot_number, listener_.fd, listener_.tcp_fd, ends[0]};
    return true;
  }
  if (pid < 0) {
    log_error("fork_failed", {{"cause", strerror(errno)}});
    fork_due_ms_[static_cast<size_t>(slot_number)] = monotonic_ms() + fork_delay_max_ms;
  } else {
    close(ends[0]);
    children_.push_back({pid, ends[1], slot_number, monotonic_ms(), false});
  }
  sigprocmask(SIG_SETMASK, &before, nullptr);
  return false;
}

void Master::look_after() {
  kill_stuck();
  check_generation();
  feed_watchdog();
  loop_.stop();
}

void Master::kill_stuck() {
  int64_t now_ms = monotonic_ms();
  for (Child& child : children_) {
    bool is_silent =
        child.slot_number >= 0 &&
        now_ms - shared_->worker_slots[child.slot_number].heartbeat_ms.load() > stuck_ms;
    bool is_late = is_ending_ && now_ms > end_by_ms_;
    bool has_finished_late =
        child.slot_number < 0 && child.drain_fd < 0 && now_ms - child.started_ms > end_limit_ms;
    if (child.is_stuck || !(is_silent || is_late || has_finished_late)) continue;
    child.is_stuck = true;
    log_error("worker_stuck", {{"worker_pid", std::to_string(child.pid)}});
    kill(child.pid, SIGKILL);
  }
}

// The older generation goes when every worker of this one serves.
void Master::check_generation() {
  for (int worker_slot = 0; worker_slot < shared_->worker_slots.count(); ++worker_slot) {
    if (!shared_->worker_slots[worker_slot].is_serving.load()) return;
  }
  if (!is_ready_) {
    is_ready_ = true;
    program::notify_service(fmt::format("READY=1\nSTATUS={} workers, schema {}",
                                        shared_->worker_slots.count(), schema_version_expected));
  }
  for (Child& child : children_) {
    if (child.slot_number < 0 && child.drain_fd >= 0) request_finish(child);
  }
}

// Stuck workers are ours to replace; the service manager replaces a stuck master.
void Master::feed_watchdog() {
  int64_t interval_ms = program::watchdog_interval_ms();
  int64_t now_ms = monotonic_ms();
  if (interval_ms == 0 || now_ms < watchdog_due_ms_) return;
  watchdog_due_ms_ = now_ms + interval_ms;
  program::notify_service("WATCHDOG=1");
}

void Master::request_finish(Child& child) {
  if (child.drain_fd < 0) return;
  close(child.drain_fd);
  child.drain_fd = -1;
  if (child.slot_number < 0) child.started_ms = monotonic_ms();
}

void Master::reap() {
  int status = 0;
  pid_t pid = 0;
  while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
    if (pid == check_pid_) {
      end_check(status);
      continue;
    }
    auto found = std::find_if(children_.begin(), children_.end(),
                              [pid](const Child& child) { return child.pid == pid; });
    if (found == children_.end()) continue;
    Child child = *found;
    children_.erase(found);
    forget(child, status);
  }
  loop_.stop();
}

void Master::forget(Child child, int status) {
  bool was_asked = child.drain_fd < 0;
  request_finish(child);
  if (was_asked || is_ending_) return;
  log_error("worker_died",
            {{"worker_pid", std::to_string(child.pid)}, {"how", how_it_ended(status)}});
  if (child.slot_number < 0) return;
  if (WIFEXITED(status) && WEXITSTATUS(status) == exit_bad_configuration) {
    exit_status_ = exit_bad_configuration;  // the next one would end as this one did
    return begin_end();
  }
  shared_->passwords.clear(child.slot_number);  // others would yield to who waits no more
  size_t worker_slot = static_cast<size_t>(child.slot_number);
  int64_t now_ms = monotonic_ms();
  int64_t& delay_ms = fork_delay_ms_[worker_slot];
  bool lived_well = now_ms - child.started_ms > lived_well_ms;
  delay_ms = lived_well ? 0 : std::clamp(delay_ms * 2, fork_delay_min_ms, fork_delay_max_ms);
  fork_due_ms_[worker_slot] = now_ms + delay_ms;
}

void Master::begin_end() {
  if (is_ending_) return;
  log_info("pool_ending");
  program::notify_service("STOPPING=1\nSTATUS=finishing requests");
  is_ending_ = true;
  end_by_ms_ = monotonic_ms() + end_limit_ms;
  // First the name, so that nobody new waits at a socket that closes; then the workers take the
  // rest.
  if (!listener_.path.empty()) unlink(listener_.path.c_str());
  for (Child& child : children_) request_finish(child);
  loop_.stop();
}

// The next generation is this program started again, so it also is a new version. First it looks at
// its configuration, in a child: a faulty file changes nothing.
void Master::begin_reload() {
  if (is_ending_ || check_pid_ > 0) return;
  std::vector<std::string> words = own_command_;
  words.push_back("--" + std::string(check_start_flag));
  std::vector<char*> arguments = argument_list(words);
  sigset_t all;
  sigset_t none;
  sigfillset(&all);
  sigemptyset(&none);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  int failed =
      posix_spawn(&check_pid_, arguments[0], nullptr, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  if (failed == 0) return;
  check_pid_ = -1;
  log_error("reload_failed", {{"cause", strerror(failed)}});
}

void Master::end_check(int status) {
  check_pid_ = -1;
  if (status == 0) {
    is_next_due_ = true;
  } else {
    log_error("reload_refused",
              {{"how", how_it_ended(status)},
               {"mend",
                "the pool continues with its old configuration; the lines above say what to fix"}});
  }
}

void Master::become_next() {
  // Signals wait until the next generation has its watches; by default they would end it. One that
  // was caught but not told yet would be lost with this program.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);
  loop_.run_once();
  // Another look at the configuration began: it comes back here.
  bool is_looking = check_pid_ > 0;
  if (!is_ending_ && !is_looking) exec_next();
  sigprocmask(SIG_SETMASK, &before, nullptr);
}

// Comes back only when that cannot be started.
void Master::exec_next() {
  log_info("pool_reloads");
  Inheritance inheritance;
  inheritance.listener = listener_;
  for (const Child& child : children_) {
    inheritance.workers.push_back({child.pid, child.drain_fd});
    if (child.drain_fd >= 0) set_close_on_exec(child.drain_fd, false);
  }
  set_close_on_exec(listener_.fd, false);
  if (listener_.tcp_fd >= 0) set_close_on_exec(listener_.tcp_fd, false);
  setenv(inheritance_variable, inheritance_text(inheritance).c_str(), 1);
  std::vector<char*> arguments = argument_list(own_command_);
  execv(arguments[0], arguments.data());
  log_error("reload_failed", {{"cause", strerror(errno)}});
  unsetenv(inheritance_variable);
  set_close_on_exec(listener_.fd, true);
  if (listener_.tcp_fd >= 0) set_close_on_exec(listener_.tcp_fd, true);
  for (const Child& child : children_) {
    if (child.drain_fd >= 0) set_close_on_exec(child.drain_fd, true);
  }
}

}  // namespace hostler
