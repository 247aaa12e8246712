// The pool's calls through the daemon: the captcha of POST /v1/auth/login and the mail of
// POST /v1/admin/email/test go out over the socket outbound.socket, to where settings lead and to
// nowhere else; real peers on this machine answer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstring>

#include <fmt/format.h>

#include "lib/net/unix_listener.h"
#include "tests/support/eventually.h"
#include "tests/support/peers/outside_peers.h"
#include "tests/support/peers/scripted_server.h"
#include "tests/support/rigs/run_program.h"
#include "tests/support/rows/accounts.h"

namespace hostler::testing_support {
namespace {

using std::string_literals::operator""s;

class Egress : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    std::vector<std::string> settings = {"HOSTLER_OUTBOUND_CA_FILE=" + OutsidePeer::ca_file(),
                                         "HOSTLER_CAPTCHA_SITE_KEY=site"};
    stack_ = std::make_unique<ApiStack>(ApiStackOptions{std::move(settings), true});
    admin_ = std::make_unique<TestUser>(register_admin(*stack_));
    until_open();
  }
  static void TearDownTestSuite() {
    admin_.reset();
    stack_.reset();
  }
  // Removes settings that another test left.
  void SetUp() override { set("captcha.secret_key", "\"\""); }

  static std::string socket_path() { return stack_->folder() + "/outbound.sock"; }
  static void until_open() {
    EXPECT_TRUE(eventually(20'000, [] { return access(socket_path().c_str(), F_OK) == 0; }));
  }
  static void set(std::string_view name, std::string_view value) {
    Answer answer = admin_->client.put(fmt::format("/v1/admin/settings/{}", name),
                                       fmt::format(R"({{"value":{}}})", value));
    ASSERT_LT(answer.status, 300) << answer.body;
  }
  static void use_captcha(const std::string& url) {
    set("captcha.verify_url", json_quote(url));
    set("captcha.secret_key", "\"hush\"");
  }
  static Answer login() {
    return stack_->client().post(
        "/v1/auth/login", R"({"login":"nobody","password":"x","cf_turnstile_token":"good"})");
  }
  // A worker hears of a setting within a second.
  static Answer login_until(int status) {
    Answer answer;
    EXPECT_TRUE(eventually(10'000, [&] {
      answer = login();
      return answer.status == status;
    })) << answer.status;
    return answer;
  }
  static void use_mail(int port, std::string_view tls) {
    Answer stored = admin_->client.put(
        "/v1/admin/email/config",
        fmt::format(R"({{"from":"hostler@example.org","smtp_host":"localhost","smtp_port":{},)"
                    R"("smtp_tls_mode":"{}"}})",
                    port, tls));
    ASSERT_EQ(stored.status, 204) << stored.body;
  }
  static Answer test_mail() {
    return admin_->client.post("/v1/admin/email/test", R"({"to":"ada@example.org"})");
  }
  // Returns what the daemon answers to a client that asks for this: greeting and request in one go.
  static std::string asked(const std::string& request) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::string path = socket_path();
    std::memcpy(address.sun_path, path.data(), path.size());
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    std::string bytes = "\x05\x01\x00"s + request;
    EXPECT_EQ(write(fd, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    std::string answer;
    std::array<char, 64> piece;
    while (ssize_t count = read(fd, piece.data(), piece.size())) {
      if (count < 0) break;
      answer.append(piece.data(), static_cast<size_t>(count));
      if (answer.size() >= 12 && answer[3] == 0) break;
    }
    close(fd);
    return answer;
  }
  static std::string to_v4(const std::string& address, int port) {
    return "\x05\x01\x00\x01"s + address + static_cast<char>(port >> 8) + static_cast<char>(port);
  }
  // Number of the pool's calls that ended so.
  static int64_t calls(const std::string& result) {
    std::string text = run_program({"/usr/bin/curl", "-sS", "--unix-socket",
                                    stack_->folder() + "/metrics-runner.sock", "http://x/"})
                           .out;
    std::string row = "\nhostler_runner_egress_calls_total{result=\"" + result + "\"} ";
    size_t at = text.find(row);
    int64_t count = 0;
    EXPECT_NE(text.find("TYPE hostler_runner_egress_calls_total"), text.npos) << text;
    if (at == text.npos) return count;  // series that were never counted are left out
    std::from_chars(text.data() + at + row.size(), text.data() + text.size(), count);
    return count;
  }
  // Returns what hostlerctl doctor says of the socket, after its verdict.
  static std::string doctor_output() {
    std::string text = run_program({build_folder() + "/hostlerctl", "doctor"},
                                   {"HOSTLER_DATABASE_URL=" + stack_->database().superuser_url(),
                                    "HOSTLER_OUTBOUND_SOCKET=" + socket_path()})
                           .out;
    size_t at = text.find("outbound socket");
    size_t begin = at == text.npos ? at : text.rfind('\n', at) + 1;
    return at == text.npos ? text : text.substr(begin, text.find('\n', at) - begin);
  }
  static std::string log_of(const char* program) {
    return read_text_file(stack_->folder() + "/" + program + ".log");
  }

  static inline std::unique_ptr<ApiStack> stack_;
  static inline std::unique_ptr<TestUser> admin_;
};

const std::string greeted = "\x05\x00"s;
const std::string not_allowed = greeted + "\x05\x02\x00\x01"s + std::string(6, '\0');
const std::string this_host = "\x7f\x00\x00\x01"s;

TEST_F(Egress, CarriesTheCaptchaToItsServer) {
  ScriptedServer server([](Peer& peer) {
    while (!peer.read_request().empty()) peer.answer(R"({"success":true})");
  });
  use_captcha(server.url("/siteverify"));
  // A worker that has not heard of the captcha yet answers 401 too, without asking anybody.
  EXPECT_TRUE(eventually(10'000, [&] {
    EXPECT_EQ(login_until(401).status, 401);
    return server.connections() > 0;
  }));
}

TEST_F(Egress, CarriesTheTestMailOverEachKindOfConnection) {
  int64_t carried = calls("carried");
  for (const char* mode : {"plain", "starttls", "tls"}) {
    SCOPED_TRACE(mode);
    auto server = start_mail_server(mode);
    std::string_view tls = std::string_view(mode) == "plain" ? "none" : mode;
    use_mail(server->port(), tls);
    Answer sent = test_mail();
    EXPECT_EQ(sent.status, 204) << sent.body;
    std::vector<Json> records = server->wait_for_records(1);
    ASSERT_FALSE(records.empty());
    EXPECT_EQ(calls("carried"), ++carried);
    EXPECT_EQ(*records.back().find("tls")->as_boolean(), tls != "none");
  }
}

TEST_F(Egress, LeadsNowhereElse) {
  Canary other;
  auto mail = start_mail_server("plain");
  use_mail(mail->port(), "none");
  ASSERT_EQ(test_mail().status, 204);
  int64_t refused = calls("refused");
  EXPECT_EQ(asked(to_v4(this_host, other.port())), not_allowed);
  EXPECT_EQ(asked(to_v4(this_host, mail->port())), not_allowed) << "it is configured by its name";
  std::string by_name = "\x05\x01\x00\x03\x09localhost"s;
  int port = other.port();
  std::string other_port = {static_cast<char>(port >> 8), static_cast<char>(port)};
  EXPECT_EQ(asked(by_name + other_port), not_allowed);
  EXPECT_EQ(asked("\x05\x01\x00\x04"s + std::string(15, '\0') + "\x01"s + other_port), not_allowed);
  int64_t broken = calls("broken");
  EXPECT_EQ(asked("\x05\x02\x00\x01"s + this_host + other_port)[3], 7) << "CONNECT only";
  EXPECT_EQ(calls("broken"), broken + 1);
  EXPECT_EQ(calls("refused"), refused + 4);
  EXPECT_FALSE(other.was_touched());
  EXPECT_NE(log_of("runner").find("egress_refused"), std::string::npos);
}

TEST_F(Egress, ForgetsWhereSettingsNoLongerLead) {
  auto first = start_mail_server("plain");
  use_mail(first->port(), "none");
  ASSERT_EQ(test_mail().status, 204);
  auto second = start_mail_server("plain");
  use_mail(second->port(), "none");
  ASSERT_EQ(test_mail().status, 204);
  std::string port = {static_cast<char>(first->port() >> 8), static_cast<char>(first->port())};
  EXPECT_EQ(asked("\x05\x01\x00\x03\x09localhost"s + port), not_allowed);
}

TEST_F(Egress, TellsThatNobodyIsThereAsIfItHadBeenAskedItself) {
  int port = free_port();
  use_mail(port, "none");
  int64_t unreachable = calls("unreachable");
  Answer mail = test_mail();
  EXPECT_EQ(calls("unreachable"), unreachable + 1);
  EXPECT_TRUE(is_problem(mail, 502, "email.delivery_failed"));
  EXPECT_EQ(mail.member("detail"),
            fmt::format("localhost:{} refuses connections: check smtp_host and smtp_port", port));
  use_captcha(fmt::format("http://127.0.0.1:{}/", free_port()));
  EXPECT_TRUE(is_problem(login_until(503), 503, "auth.captcha_unavailable"));
  EXPECT_NE(log_of("runner").find("egress_unreachable"), std::string::npos);
}

TEST_F(Egress, IsMissedWhileNoDaemonIsThereAndBackWithIt) {
  auto server = start_mail_server("tls");
  use_mail(server->port(), "tls");
  ASSERT_EQ(test_mail().status, 204);
  EXPECT_TRUE(doctor_output().starts_with("ok ")) << doctor_output();
  stack_->kill_runner();
  EXPECT_THAT(doctor_output(), testing::ContainsRegex("failure +outbound socket .*refused"));
  Answer mail = test_mail();
  EXPECT_TRUE(is_problem(mail, 502, "email.delivery_failed"));
  EXPECT_NE(mail.member("detail").find("no hostler-runner takes calls"), std::string::npos);
  use_captcha("http://127.0.0.1:9/");
  EXPECT_TRUE(is_problem(login_until(503), 503, "auth.captcha_unavailable"));
  EXPECT_NE(log_of("api").find("no hostler-runner takes calls on outbound.socket"),
            std::string::npos);
  unlink(socket_path().c_str());
  {
    // Holds it like the service manager while no daemon runs.
    int held = net::listen_unix(socket_path(), 0660);
    EXPECT_THAT(doctor_output(), testing::ContainsRegex("failure +outbound socket .*not answer"));
    close(held);
    unlink(socket_path().c_str());
  }
  stack_->start_runner();
  until_open();
  EXPECT_EQ(test_mail().status, 204);
}

}  // namespace
}  // namespace hostler::testing_support
