// TLS of outbound calls against a real server (openssl s_server): who is believed and who is not.
#include <gtest/gtest.h>

#include <charconv>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <stdexcept>

#include "lib/http/client.h"
#include "tests/support/rigs/child.h"
#include "tests/support/rigs/run_program.h"
#include "tests/support/run_task.h"

namespace hostler {
namespace {

using testing_support::Child;
using testing_support::ChildPlan;
using testing_support::run_program;
using testing_support::run_task;

constexpr const char* openssl = "/usr/bin/openssl";

class HttpTlsTest : public testing::Test {
 protected:
  HttpTlsTest() {
    std::signal(SIGPIPE, SIG_IGN);
    std::string pattern = (std::filesystem::temp_directory_path() / "http-tls-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~HttpTlsTest() override { std::filesystem::remove_all(folder_); }

  // A certificate that vouches for itself.
  std::string make_certificate(const std::string& name) {
    std::string path = folder_ + "/" + name;
    testing_support::ProgramRun run = run_program(
        {openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
         "-nodes", "-keyout", path + ".key", "-out", path + ".pem", "-subj", "/CN=" + name,
         "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2"});
    EXPECT_EQ(run.status, 0) << run.err;
    return path;
  }
  std::unique_ptr<Child> start_server(const std::string& certificate,
                                      const std::vector<std::string>& more = {}) {
    ChildPlan plan;
    plan.command = {openssl, "s_server",           "-accept", "127.0.0.1:0",
                    "-cert", certificate + ".pem", "-key",    certificate + ".key",
                    "-www"};
    plan.command.insert(plan.command.end(), more.begin(), more.end());
    plan.reads_stdout = true;
    std::unique_ptr<Child> server = std::make_unique<Child>(plan);
    for (std::string line = server->read_line(); !line.empty(); line = server->read_line()) {
      if (!line.starts_with("ACCEPT 127.0.0.1:")) continue;
      std::from_chars(line.data() + 17, line.data() + line.size(), port_);
      return server;
    }
    ADD_FAILURE() << "openssl s_server does not start";
    return server;
  }
  std::string fetch(const std::string& host, const std::string& ca_file) {
    http::HttpClientOptions options;
    options.ca_file = ca_file;
    http::HttpClient client(loop_, options);
    http::HttpRequest request;
    request.url = "https://" + host + ":" + std::to_string(port_) + "/";
    request.guarded = false;
    http::HttpAnswer answer = run_task(loop_, client.fetch(request));
    if (!answer.failure) return std::to_string(answer.head.status);
    return std::string(http::http_failure_name(answer.failure->kind));
  }

  loop::Loop loop_;
  std::string folder_;
  int port_ = 0;
};

TEST_F(HttpTlsTest, BelievesOnlyWhomTheSystemOrTheOperatorTrusts) {
  std::string ours = make_certificate("ours");
  std::string other = make_certificate("other");
  std::unique_ptr<Child> server = start_server(ours);
  EXPECT_EQ(fetch("127.0.0.1", ""), "tls");
  EXPECT_EQ(fetch("127.0.0.1", other + ".pem"), "tls");
  EXPECT_EQ(fetch("127.0.0.1", ours + ".pem"), "200");
}

TEST_F(HttpTlsTest, RefusesACertificateForAnotherHost) {
  std::string ours = make_certificate("ours");
  std::unique_ptr<Child> server = start_server(ours);
  EXPECT_EQ(fetch("localhost", ours + ".pem"), "tls");
}

TEST_F(HttpTlsTest, RefusesVersionsBefore12) {
  std::string ours = make_certificate("ours");
  std::unique_ptr<Child> old = start_server(ours, {"-tls1_1", "-cipher", "DEFAULT:@SECLEVEL=0"});
  EXPECT_EQ(fetch("127.0.0.1", ours + ".pem"), "tls");
  old.reset();
  std::unique_ptr<Child> good = start_server(ours, {"-tls1_2"});
  EXPECT_EQ(fetch("127.0.0.1", ours + ".pem"), "200");
}

TEST_F(HttpTlsTest, DoesNotStartWithoutTheFileItIsToTrust) {
  http::HttpClientOptions options;
  options.ca_file = folder_ + "/absent.pem";
  EXPECT_THROW(http::HttpClient(loop_, options), std::runtime_error);
}

}  // namespace
}  // namespace hostler
