// Needs of the web tools, for unit tests: an organization of their own, rows of tool providers,
// settings, and a peer that keeps its requests. The fixtures of a program share a database, one
// after the other, each from a clean table.
#pragma once

#include <fmt/format.h>

#include <csignal>
#include <mutex>
#include <string>
#include <variant>
#include <vector>

#include "lib/config/live_settings.h"
#include "lib/config/secret_box.h"
#include "lib/crypto.h"
#include "lib/http/client.h"
#include "lib/json.h"
#include "lib/postgres/database.h"
#include "runner/tools/tool_box.h"
#include "tests/support/peers/scripted_server.h"
#include "tests/support/rigs/database.h"
#include "tests/support/run_task.h"

namespace hostler::testing_support {

// Answers every request with one text, head and all, and keeps what came.
class KeepingPeer {
 public:
  explicit KeepingPeer(std::string answer)
      : answer_(std::move(answer)), server_([this](Peer& peer) { serve(peer); }) {}

  std::string url(std::string_view path) const { return server_.url(path); }
  int port() const { return server_.port(); }
  int connections() const { return server_.connections(); }
  // The newest request; empty: none came.
  std::string request() {
    std::lock_guard<std::mutex> lock(mutex_);
    return request_;
  }
  std::string body() {
    std::string all = request();
    size_t end = all.find("\r\n\r\n");
    return end == std::string::npos ? "" : all.substr(end + 4);
  }
  bool was_sent(std::string_view text) { return request().find(text) != std::string::npos; }

 private:
  void serve(Peer& peer) {
    std::string request = peer.read_request();
    if (request.empty()) return;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      request_ = request;
    }
    peer.send(answer_);
  }
  std::mutex mutex_;
  std::string request_;
  std::string answer_;
  ScriptedServer server_;  // last: its threads use the rest
};

inline std::string http_answer(std::string_view status, std::string_view type,
                               std::string_view body) {
  return fmt::format(
      "HTTP/1.1 {} X\r\nContent-Type: {}\r\nContent-Length: {}\r\n"
      "Connection: close\r\n\r\n{}",
      status, type, body.size(), body);
}
inline std::string json_answer(std::string_view body) {
  return http_answer("200", "application/json", body);
}

struct ProviderRow {
  std::string name;      // web_search.alpha
  std::string base_url;  // empty: none
  std::string api_key;   // empty: none
  bool is_active = true;
  std::string org_id = {};  // empty: the platform's
};

class ToolFixture {
 public:
  ToolFixture()
      : sql_(database().as_superuser()),
        db_(loop_, options_of(database())),
        secrets_(std::get<config::SecretBox>(config::SecretBox::parse(random_bytes(32)))) {
    std::signal(SIGPIPE, SIG_IGN);
    run_sql("DELETE FROM tool_providers");
    org_id = new_org();
  }

  std::string new_org() {
    std::string id(sql_.run_text("SELECT uuidv7()").text());
    sql_.run_text(fmt::format(
        "INSERT INTO orgs (id, slug, name, type) VALUES ('{0}', '{0}', 'fixture', 'workspace')",
        id));
    return id;
  }

  void add_provider(const ProviderRow& row) {
    std::string group = row.name.substr(0, row.name.find('.'));
    std::string org = row.org_id.empty() ? "NULL" : "'" + row.org_id + "'";
    std::string secret_id = "NULL";
    if (!row.api_key.empty()) secret_id = "'" + add_secret(row) + "'";
    sql_.run_text(fmt::format(
        "INSERT INTO tool_providers (org_id, group_name, provider_name, is_active, base_url, "
        "secret_id, key_prefix) VALUES ({}, '{}', '{}', {}, nullif('{}', ''), {}, {})",
        org, group, row.name, row.is_active, row.base_url, secret_id,
        row.api_key.empty() ? "NULL" : "'****'"));
  }
  void run_sql(const std::string& text) { sql_.run_text(text); }

  void set(std::string_view name, config::SettingValue value) {
    size_t index = config::find_setting(name);
    ASSERT_NE(index, config::setting_count) << name;
    start_.set(index, std::move(value), config::SettingSource::environment);
  }

  // Like the agent loop: the arguments are checked before the tool is called.
  runner::ToolOutcome call(const std::string& tool, const std::string& arguments) {
    config::LiveSettings settings(start_);
    http_.allow_cidrs(net::CidrList::parse(settings.current()->strings("outbound.allow_cidrs"))
                          .value_or(net::CidrList()));
    runner::ToolBox box(loop_, db_, http_, secrets_, settings);
    ToolCall asked{"call-1", tool, arguments};
    std::optional<runner::ToolOutcome> refusal = box.refuse(asked, {tool});
    if (refusal) return *refusal;
    return run_task(loop_, box.call({run_id, org_id, "trace"}, asked));
  }
  // The code of the failure, "ok" otherwise; for short comparisons.
  std::string code_of(const std::string& tool, const std::string& arguments) {
    runner::ToolOutcome outcome = call(tool, arguments);
    return outcome.error_code.empty() ? "ok" : outcome.error_code;
  }

  loop::Loop& loop() { return loop_; }
  postgres::Database& db() { return db_; }
  http::HttpClient& http() { return http_; }
  const config::SecretBox& secrets() const { return secrets_; }
  const config::Settings& settings() const { return start_; }

  std::string org_id;
  const std::string run_id = "01890000-0000-7000-8000-000000000001";  // there is no such run

 private:
  static const TestDatabase& database() {
    static const TestDatabase shared;
    return shared;
  }
  static postgres::DatabaseOptions options_of(const TestDatabase& database) {
    postgres::DatabaseOptions options;
    options.conninfo = database.runner_url();
    options.application_name = "tool fixture";
    return options;
  }
  std::string add_secret(const ProviderRow& row) {
    config::SecretIdentity identity{std::string(sql_.run_text("SELECT uuidv7()").text()),
                                    row.org_id, "tool_provider"};
    config::SealedSecret sealed = secrets_.seal(identity, row.api_key);
    sql_.run_text(fmt::format(
        "INSERT INTO secrets (id, org_id, kind, key_version, wrapped_key, sealed) VALUES ('{}', "
        "{}, 'tool_provider', {}, '\\x{}', '\\x{}')",
        identity.id, row.org_id.empty() ? "NULL" : "'" + row.org_id + "'", sealed.key_version,
        to_hex(sealed.wrapped_key), to_hex(sealed.sealed)));
    return identity.id;
  }

  postgres::DbSession sql_;
  loop::Loop loop_;
  postgres::Database db_;
  http::HttpClient http_{loop_};
  config::SecretBox secrets_;
  config::Settings start_;
};

}  // namespace hostler::testing_support
