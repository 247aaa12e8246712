// The whole of Hostler for the tests of one program: a database of its own, the real hostler-api
// behind the real nginx with TLS, and, when asked for, the real hostler-runner with the fake model
// model. All in a folder of its own that goes away with it, together with every program it started.
//
// TEST_PRISM=PROGRAM: prism stands between the clients and nginx, and what it finds wrong with an
// answer fails the test (make prism). TEST_API_UNDER="PROGRAM OPTIONS…" runs the pool (make
// valgrind).
//
// Tests share one (ApiStack::shared()) and keep apart by making users of their own. Tests of a
// setting start one with that setting.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lib/postgres/session.h"
#include "tests/support/clients/client.h"
#include "tests/support/rigs/child.h"
#include "tests/support/rigs/database.h"

namespace hostler::testing_support {

struct ApiStackOptions {
  std::vector<std::string> settings;  // HOSTLER_…=value, laid over the stack's own
  bool has_runner = false;            // also starts the fake model
  // Folders of Postgres' socket, such as that of a proxy that breaks; empty: directly.
  std::string runner_database_host = {};
  std::string api_database_host = {};
  // Where nginx finds who listens on a socket: handed the socket's path, answers the path that
  // leads there, such as that of a proxy. Empty: directly.
  std::function<std::string(const std::string&)> nginx_proxy = {};
};

class ApiStack {
 public:
  explicit ApiStack(ApiStackOptions options = {});
  ~ApiStack();
  ApiStack(const ApiStack&) = delete;
  ApiStack& operator=(const ApiStack&) = delete;

  // Started at the first call, without a runner: runs stay as the API leaves them.
  static ApiStack& shared();

  Client client() { return Client(line_); }
  Line& line() { return line_; }
  // A superuser in the stack's database, for what no client can do or see.
  postgres::DbSession& sql() { return sql_; }
  const TestDatabase& database() const { return database_; }
  const std::string& folder() const { return folder_.path; }
  static std::string certificate();                            // for a Line of one's own
  const std::string& model_url() const { return model_url_; }  // empty without a runner
  Child& api() { return *api_; }
  Child& runner() { return *runner_; }
  Child& nginx() { return *nginx_; }
  // hostler-files, for tests of its absence; the stack starts it itself.
  void stop_files() { files_.reset(); }
  void start_files();
  // For tests of crashes; the stack starts its runner itself.
  void kill_runner();
  void start_runner();
  // A second daemon beside the first, on sockets of its own: its streams are at
  // folder()/stream-other.sock. It ends with the stack.
  Child& start_other_runner(const std::string& further_setting = "");

 private:
  struct Folder {
    Folder();
    ~Folder();
    std::string path;
  };
  std::vector<std::string> environment(const std::string& database_url) const;
  void write_nginx();
  void start_model();
  void wait_until_ready();
  void start_prism(const std::string& program);

  ApiStackOptions options_;
  Folder folder_;
  TestDatabase database_;
  postgres::DbSession sql_;
  int port_;
  std::string model_url_;
  // Ended in the opposite order.
  std::unique_ptr<Child> model_;
  std::unique_ptr<Child> files_;
  std::unique_ptr<Child> api_;
  std::unique_ptr<Child> runner_;
  std::unique_ptr<Child> other_runner_;
  std::unique_ptr<Child> nginx_;
  std::unique_ptr<Child> prism_;
  Line line_;
};

}  // namespace hostler::testing_support
