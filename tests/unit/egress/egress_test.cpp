// The pool's egress proxy: what a SOCKS request may be, and where it may lead. The proxy
// itself is tried in tests/api/platform/egress_test.cpp.
#include <gtest/gtest.h>

#include <map>

#include "runner/egress/destinations.h"
#include "runner/egress/socks_request.h"

namespace hostler::runner {
namespace {

using std::string_literals::operator""s;
using State = SocksReader::State;

const std::string greeting = "\x05\x01\x00"s;

std::string to_name(const std::string& name, const std::string& port = "\x01\xbb"s) {
  return "\x05\x01\x00\x03"s + static_cast<char>(name.size()) + name + port;
}

struct Reading {
  State state;
  std::string target, fault, last_words;
};

Reading read(const std::string& request) {
  SocksReader reader;
  EXPECT_EQ(reader.take(greeting), State::request);
  State state = reader.take(request);
  return {state, state == State::whole ? reader.target().text() : "", reader.fault(),
          reader.last_words()};
}

TEST(SocksRequest, NamesAHostAndAPort) {
  EXPECT_EQ(read(to_name("Captcha.Example.org.")).target, "captcha.example.org:443");
  EXPECT_EQ(read("\x05\x01\x00\x01\x7f\x00\x00\x01\x00\x19"s).target, "127.0.0.1:25");
  EXPECT_EQ(read("\x05\x01\x00\x04"s + std::string(15, '\0') + "\x01\x02\x4b"s).target,
            "[::1]:587");
}

TEST(SocksRequest, MayComeInAnyPieces) {
  std::string all = greeting + to_name("mx.example.org");
  SocksReader reader;
  for (size_t i = 0; i + 1 < all.size(); ++i) {
    State expected = i + 1 < greeting.size() ? State::greeting : State::request;
    EXPECT_EQ(reader.take(all.substr(i, 1)), expected) << i;
  }
  EXPECT_EQ(reader.take(all.substr(all.size() - 1)), State::whole);
  EXPECT_EQ(reader.target().text(), "mx.example.org:443");
}

TEST(SocksRequest, IsRefusedWhereItIsAnotherProtocol) {
  SocksReader http;
  EXPECT_EQ(http.take("CONNECT a:443 HTTP/1.1\r\n\r\n"), State::broken);
  EXPECT_EQ(http.last_words(), "");
  SocksReader older;
  EXPECT_EQ(older.take("\x04\x01\x00\x50\x7f\x00\x00\x01\x00"s), State::broken);
  SocksReader with_login;
  EXPECT_EQ(with_login.take("\x05\x01\x02"s), State::broken);
  EXPECT_EQ(with_login.last_words(), "\x05\xff");
  EXPECT_EQ(read("\x04\x01\x00\x03"s).fault, "not SOCKS 5");
}

TEST(SocksRequest, ConnectsAndDoesNothingElse) {
  Reading bind = read("\x05\x02\x00\x01\x7f\x00\x00\x01\x00\x19"s);
  EXPECT_EQ(bind.state, State::broken);
  EXPECT_EQ(bind.last_words, socks_reply(SocksReply::bad_command));
  EXPECT_EQ(read("\x05\x01\x00\x02\x7f\x00\x00\x01\x00\x19"s).last_words,
            socks_reply(SocksReply::bad_address_type));
}

TEST(SocksRequest, TakesNoNameThatNoHostHas) {
  for (const std::string& name : {""s, "a b"s, "a\r\nb"s, "a\0b"s, "h\xc3\xb6st"s, "."s}) {
    Reading reading = read(to_name(name));
    EXPECT_EQ(reading.state, State::broken) << name;
    EXPECT_EQ(reading.last_words, socks_reply(SocksReply::not_allowed)) << name;
  }
}

TEST(SocksRequest, EndsWhereItSaysSo) {
  EXPECT_EQ(read(to_name("a.example") + "x").fault, "bytes after the request");
  EXPECT_EQ(read(std::string(700, '\x05')).fault, "more bytes than a request may have");
}

config::Settings settings_of(const std::map<std::string, std::string>& texts) {
  config::Settings settings;
  for (const auto& [name, text] : texts) {
    settings.set(config::find_setting(name), config::SettingValue(text),
                 config::SettingSource::file);
  }
  return settings;
}

std::vector<std::string> texts_of(const std::vector<SocksTarget>& targets) {
  std::vector<std::string> texts;
  for (const SocksTarget& target : targets) texts.push_back(target.text());
  return texts;
}

TEST(EgressDestinations, AreWhatIsConfiguredAndNothingElse) {
  using Texts = std::vector<std::string>;
  mail::MailSettings no_mail;
  EXPECT_EQ(texts_of(egress_destinations(settings_of({}), no_mail)), Texts());
  std::map<std::string, std::string> captcha = {{"captcha.site_key", "s"},
                                                {"captcha.secret_key", "k"}};
  EXPECT_EQ(texts_of(egress_destinations(settings_of(captcha), no_mail)),
            Texts{"challenges.cloudflare.com:443"});
  captcha["captcha.verify_url"] = "http://Captcha.Example.org.:8080/verify";
  EXPECT_EQ(texts_of(egress_destinations(settings_of(captcha), no_mail)),
            Texts{"captcha.example.org:8080"});
  mail::MailSettings mail;
  mail.source = mail::MailSource::database;
  mail.server.host = "MX.example.org";
  mail.server.port = 465;
  EXPECT_EQ(texts_of(egress_destinations(settings_of({}), mail)), Texts{"mx.example.org:465"});
  mail.server.host = "::1";
  EXPECT_EQ(texts_of(egress_destinations(settings_of({}), mail)), Texts{"[::1]:465"});
}

}  // namespace
}  // namespace hostler::runner
