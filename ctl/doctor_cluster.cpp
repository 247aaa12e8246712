// The doctor's findings about several Postgres hosts: each is asked by itself, then the leader
// about its standbys. See ctl/doctor_report.h. docs/scaling.md describes the setup.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "ctl/doctor_report.h"
#include "lib/postgres/hosts.h"
#include "queries/operator.h"

namespace hostler {
namespace {

// About a second of a busy server's log.
constexpr int64_t behind_bytes_max = 64 * 1024 * 1024;

struct Server {
  std::string host;
  std::string why_silent;  // empty: it answered
  bool follows = false;
  bool streams = false;
  int64_t timeline = 0;
  int64_t behind_bytes = 0;
  std::string address;
  std::string synchronous_standby_names;
};

struct Standby {
  std::string name;
  std::string address;
  std::string sync_state;
  int64_t behind_bytes = 0;
};

struct Cluster {
  std::vector<Server> servers;
  std::optional<size_t> leader;
  int leaders = 0;
  std::vector<Standby> standbys;
  std::string disk_fault;

  const Standby* standby_at(const std::string& address) const {
    auto found = std::ranges::find(standbys, address, &Standby::address);
    return found == standbys.end() ? nullptr : &*found;
  }
};

void ask_leader(postgres::DbSession& session, Cluster& cluster) {
  postgres::Result rows = session.run(query::DoctorStandbys{});
  for (int i = 0; i < rows.size(); ++i) {
    cluster.standbys.push_back(
        {std::string(rows[i].text("name")), std::string(rows[i].text("address")),
         std::string(rows[i].text("sync_state")), rows[i].integer("behind_bytes")});
  }
}

void ask(postgres::DbSession& session, Server& server) {
  postgres::Result facts = session.run(query::DoctorServer{});
  const postgres::Row& row = facts.front();
  server.follows = row.boolean("follows");
  server.streams = row.boolean("streams");
  server.timeline = row.integer("timeline");
  server.behind_bytes = row.integer("behind_bytes");
  server.address = row.text("address");
  server.synchronous_standby_names = row.text("synchronous_standby_names");
}

Cluster ask_each(const std::string& url, const postgres::HostOrder& hosts) {
  Cluster cluster;
  for (size_t i = 0; i < hosts.count(); ++i) {
    Server& server = cluster.servers.emplace_back();
    std::vector<std::pair<std::string, std::string>> words{{"target_session_attrs", "any"},
                                                           {"connect_timeout", "5"}};
    for (const auto& [name, value] : hosts.words_of_one(i)) {
      words.emplace_back(name, value);
      if (std::string_view(name) == "host" || server.host.empty()) server.host = value;
    }
    std::string one = postgres::conninfo_with(url, words);
    server.why_silent = postgres::why_no_connection(one).value_or("");
    if (!server.why_silent.empty()) continue;
    postgres::DbSession session(one, "hostlerctl doctor");
    ask(session, server);
    if (server.follows) continue;
    ++cluster.leaders;
    cluster.leader = i;
    ask_leader(session, cluster);
  }
  return cluster;
}

void tell_of_leader(const Cluster& cluster, const Server& server, DoctorReport& report) {
  bool is_waited_for = std::ranges::any_of(cluster.standbys, [](const Standby& standby) {
    return standby.sync_state == "sync" || standby.sync_state == "quorum";
  });
  std::string what = "postgres " + server.host;
  if (is_waited_for) {
    report.well(what, fmt::format("leads, timeline {}; acknowledged writes are on a standby too",
                                  server.timeline));
  } else if (server.synchronous_standby_names.empty()) {
    report.warn(
        what,
        fmt::format("leads, timeline {}, and waits for no standby: acknowledged writes may be lost "
                    "with it; start the others, and patronictl edit-config: synchronous_mode: true",
                    server.timeline));
  } else {
    report.fault(
        what,
        fmt::format(
            "leads, timeline {}, and every write waits: no standby of '{}' is connected; start one",
            server.timeline, server.synchronous_standby_names));
  }
}

void tell_of_standby(const Cluster& cluster, const Server& server, DoctorReport& report) {
  std::string what = "postgres " + server.host;
  const Standby* seen = cluster.standby_at(server.address);
  int64_t timeline = cluster.leader ? cluster.servers[*cluster.leader].timeline : server.timeline;
  int64_t behind_bytes = server.behind_bytes + (seen == nullptr ? 0 : seen->behind_bytes);
  if (!server.streams || (cluster.leader && seen == nullptr) || server.timeline != timeline) {
    report.warn(what, fmt::format("follows nobody, timeline {} of {}: its log says why; patronictl "
                                  "reinit if it does not come back by itself",
                                  server.timeline, timeline));
  } else if (behind_bytes > behind_bytes_max) {
    report.warn(what, fmt::format("follows, lags {} MiB: its disk or the network is too slow",
                                  behind_bytes / 1024 / 1024));
  } else {
    report.well(what, fmt::format("follows, {}, {} bytes behind, timeline {}",
                                  seen == nullptr ? "of an unknown kind" : seen->sync_state,
                                  behind_bytes, server.timeline));
  }
}

}  // namespace

void look_at_cluster(const config::Settings& settings, DoctorReport& report) {
  const std::string& url = settings.text("database.url");
  postgres::HostOrder hosts(url);
  if (hosts.count() < 2) return;
  Cluster cluster = ask_each(url, hosts);
  for (const Server& server : cluster.servers) {
    if (!server.why_silent.empty()) {
      report.warn(
          "postgres " + server.host,
          fmt::format("does not answer: {}; systemctl status patroni there, patronictl list",
                      server.why_silent));
    } else if (server.follows) {
      tell_of_standby(cluster, server, report);
    } else {
      tell_of_leader(cluster, server, report);
    }
  }
  if (cluster.leaders == 0) {
    report.fault("postgres",
                 "none of the hosts accepts writes: patronictl list; etcd needs more than half of "
                 "its members");
  } else if (cluster.leaders > 1) {
    report.fault("postgres",
                 "several hosts accept writes, each without the others': stop all except the one "
                 "that patronictl list names");
  }
}

void look_at_disk(postgres::DbSession& session, DoctorReport& report) {
  session.begin();
  session.run(query::DoctorSmallMemory{});
  std::optional<std::string> why = session.why_refused(query::DoctorDisk{});
  session.rollback();
  if (!why) return;
  postgres::Result facts = session.run(query::DoctorServer{});
  std::string_view address = facts.front().text("address");
  report.fault(
      "database disk",
      fmt::format("the data volume of {} accepts no writes: {}. Writes are answered 503 until it "
                  "has room. No standby is promoted for that, because its volume is as full",
                  address.empty() ? "this host" : address, *why));
}

}  // namespace hostler
