// See fcgi/worker_parts.h.
#include "fcgi/worker_parts.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "lib/postgres/pooler.h"
#include "lib/program/program_start.h"

namespace hostler {
namespace {

constexpr int64_t written_every_ms = 60'000;
constexpr size_t known_max = 4096;

postgres::DatabaseOptions database_options(const config::Settings& settings, int slot_number) {
  postgres::DatabaseOptions options;
  options.conninfo = settings.text("database.url");
  // node_list() in sql/schema/dashboard.sql takes it apart. Postgres keeps 63 bytes.
  options.application_name =
      fmt::format("hostler-api/{} {} {:.40}", slot_number, HOSTLER_VERSION, program::host_name());
  options.dedicated_connections_max = static_cast<int>(settings.integer("api.own_connections"));
  options.party_connections_max = std::max(1, options.dedicated_connections_max / 2);
  return options;
}

}  // namespace

bool LastUsed::is_due(const std::string& id, int64_t now_ms) {
  auto [written, is_new] = written_ms_.try_emplace(id, now_ms);
  if (!is_new && now_ms - written->second < written_every_ms) return false;
  written->second = now_ms;
  if (written_ms_.size() > known_max) written_ms_.clear();
  return true;
}

WorkerParts::WorkerParts(loop::Loop& worker_loop, const config::Settings& configured,
                         const config::SecretBox& box, SharedPool& shared, int slot_number,
                         client::RiskyNetworks networks)
    : loop(worker_loop),
      database(loop, database_options(configured, slot_number)),
      http(loop, {.ca_file = configured.text("outbound.ca_file"),
                  .allow_cidrs = {},
                  .proxy_socket = configured.text("outbound.socket")}),
      secret_box(box),
      metrics(shared.metrics.writer(slot_number)),
      risky_networks(std::move(networks)),
      settings(loop, database, configured, secret_box,
               [this](const config::Settings& read) {
                 gateway = client::Gateway(read, risky_networks);
               }),
      gateway(*settings.current(), risky_networks),
      limiter(shared.rates),
      passwords(loop, shared.passwords, slot_number),
      background(loop, database, metrics),
      denials(loop, database, [this](int64_t count) {
        background.count_dropped(count, BackgroundQueue::Kind::denial);
      }) {
  settings.listen();
  if (slot_number > 0) return;
  pooling = postgres::refuse_transaction_pooling(loop, database_options(configured, slot_number));
  pooling.start(nullptr);
}

}  // namespace hostler
