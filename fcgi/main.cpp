// hostler-api: the pool of FastCGI workers behind nginx; every REST request of Hostler ends here.
//
// Does:     opens api.socket (or takes the one handed over) and forks api.workers workers.
// Talks to: nginx over that socket, Postgres (workers only), metrics.api_socket for Prometheus.
// Signals:  TERM, INT: answer what is in flight, end. HUP: check the configuration, then a new
//           generation of workers (and of this program) takes over without dropping a request.
// Exit:     0 ended as asked; 64 bad command line; 71 the socket cannot be opened; 78 bad settings,
//           or a pooler in front of Postgres that pools transactions.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>

#include "fcgi/http/api_metrics.h"
#include "fcgi/http/route.h"
#include "fcgi/pool/master.h"
#include "fcgi/pool/reload.h"
#include "fcgi/worker.h"
#include "lib/config/secret_box.h"
#include "lib/config/settings_load.h"
#include "lib/error.h"
#include "lib/postgres/pooler.h"
#include "lib/program/program_start.h"

namespace hostler {
namespace {

constexpr int exit_os_error = 71;  // sysexits.h

// State that the last generation left when this program took its place.
std::optional<Inheritance> inherited(const config::Settings& settings) {
  const char* text = getenv(inheritance_variable);
  if (text == nullptr) return std::nullopt;
  std::optional<Inheritance> found = read_inheritance(text, settings.text("api.socket"));
  if (!found) throw Error(ErrorCode::internal_error, {}, "the inheritance has another form");
  unsetenv(inheritance_variable);
  return found;
}

config::SecretBox load_secret_box(const std::string& path) {
  std::variant<config::SecretBox, std::string> loaded = config::SecretBox::load(path);
  if (const std::string* fault = std::get_if<std::string>(&loaded)) {
    throw Error(ErrorCode::internal_error, {}, "secrets.key_file: " + *fault);
  }
  return std::move(std::get<config::SecretBox>(loaded));
}

// Checks a database that answers. Without one the pool starts, and waits for it.
int check_pooling(const config::Settings& settings) {
  postgres::DatabaseOptions options;
  options.conninfo = settings.text("database.url");
  options.application_name = "hostler-api check";
  if (postgres::pooling_of(options) != postgres::Pooling::transactions) return EXIT_SUCCESS;
  fprintf(stderr, "hostler-api: %s\n", postgres::transaction_pooling_fault);
  return config::exit_bad_configuration;
}

int run(const config::Settings& settings, std::vector<std::string> command) {
  config::SecretBox secret_box = load_secret_box(settings.text("secrets.key_file"));
  client::RiskyNetworks risky_networks = client::load_risky_networks(settings);
  std::unique_ptr<Master> master =
      std::make_unique<Master>(settings, std::move(command), inherited(settings));
  std::optional<WorkerContext> context = master->run();
  if (!context) return master->exit_status();
  // A worker: nothing of the master but the shared memory may live on.
  std::shared_ptr<SharedPool> shared = master->shared();
  master.reset();
  return run_worker(settings, secret_box, risky_networks, *shared, *context);
}

}  // namespace
}  // namespace hostler

int main(int argc, char** argv) {
  hostler::program::ProgramStart started = hostler::program::start_program(
      argc, argv, "hostler-api",
      "The pool of FastCGI workers that answers Hostler's REST requests.",
      {{"routes", "prints the route table and exits"},
       {"metrics", "prints all metrics, with nothing counted, and exits"},
       {hostler::check_start_flag,
        "prints the faults that would keep the pool from starting, and exits"}});
  if (started.exit_status) return *started.exit_status;
  if (started.has("routes")) {
    fputs(hostler::print_routes().c_str(), stdout);
    return EXIT_SUCCESS;
  }
  if (started.has("metrics")) {
    fputs(hostler::Metrics(hostler::api_metric_rows(), 1).prometheus_text().c_str(), stdout);
    return EXIT_SUCCESS;
  }
  bool checks_start = started.has(hostler::check_start_flag);
  std::vector<std::string> command(argv, argv + argc);
  command[0] = hostler::program::own_program(argv[0]);
  try {
    if (checks_start) {
      hostler::load_secret_box(started.settings.text("secrets.key_file"));
      hostler::client::load_risky_networks(started.settings);
      return hostler::check_pooling(started.settings);
    }
    return hostler::run(started.settings, std::move(command));
  } catch (const hostler::Error& error) {
    fprintf(stderr, "hostler-api: %s\n", error.cause.c_str());
    return hostler::exit_os_error;
  }
}
