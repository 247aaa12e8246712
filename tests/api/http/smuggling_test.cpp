// Request smuggling: eighty ways to say two lengths of one body, or one that is none. Each is
// refused or passed on as exactly one request; what is hidden in the body never becomes another.
// nginx's access log is the witness: it has a line for each request that nginx saw.
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <map>
#include <thread>

#include <fmt/format.h>

#include "lib/json.h"
#include "lib/utf8.h"
#include "tests/support/rigs/api_stack.h"
#include "tests/support/rigs/run_program.h"

namespace hostler::testing_support {
namespace {

using std::string_literals::operator""s;

constexpr int senders_max = 12;

// @ stands for the length of everything behind the head.
const std::vector<std::string> lengths = {"Content-Length: +@",
                                          "Content-Length: -@",
                                          "Content-Length: 0x@",
                                          "Content-Length: @,@",
                                          "Content-Length: @, @",
                                          "Content-Length: @ @",
                                          "Content-Length: @.0",
                                          "Content-Length: @e0",
                                          "Content-Length: ",
                                          "Content-Length: @;",
                                          "Content-Length: \"@\"",
                                          "Content-Length: @\x0b",
                                          "Content-Length: 99999999999999999999",
                                          "Content-Length: 18446744073709551621",
                                          "Content-Length: 5\r\nContent-Length: @",
                                          "Content-Length: @\r\nContent-Length: 5",
                                          "Content-Length: 0\r\nContent-Length: @",
                                          "Content-Length: @\r\nContent-Length: @",
                                          "Content-Length : @",
                                          "Content_Length: @",
                                          " Content-Length: @",
                                          "Content-Length\t: @",
                                          "Content-Length\0: @"s,
                                          "X: y\r\n Content-Length: @",
                                          "X: y\rContent-Length: @",
                                          "Content-Length:\r\n @",
                                          "Content-Length: @\r\nHost: b",
                                          "Content-Length: 05\r\nContent-Length: @"};

const std::vector<std::string> codings = {
    "Transfer-Encoding: xchunked",
    "Transfer-Encoding: chunkedx",
    "Transfer-Encoding: chunk",
    "Transfer-Encoding: chunked, chunked",
    "Transfer-Encoding: chunked, identity",
    "Transfer-Encoding: identity, chunked",
    "Transfer-Encoding: gzip, chunked",
    "Transfer-Encoding: chunked;q=1",
    "Transfer-Encoding: \"chunked\"",
    "Transfer-Encoding: chunked\x0b",
    "Transfer-Encoding: \x0b"
    "chunked",
    "Transfer-Encoding: chunked\x7f",
    "Transfer-Encoding: chunked\0"s,
    "Transfer-Encoding: identity",
    "Transfer-Encoding: ",
    "Transfer-Encoding: chunked\r\n\tx",
    "Transfer-Encoding:\r\n chunked",
    "Transfer-Encoding : chunked",
    "Transfer-Encoding\t: chunked",
    "Transfer_Encoding: chunked",
    " Transfer-Encoding: chunked",
    "Transfer-Encoding\0: chunked"s,
    "X: y\rTransfer-Encoding: chunked",
    "Transfer-Encoding: identity\r\nTransfer-Encoding: chunked",
    "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
    "Transfer-Encoding: chunked\r\nTransfer-Encoding: x"};

std::vector<std::string> shapes() {
  std::vector<std::string> all = lengths;
  for (const std::string& coding : codings) {
    all.push_back(coding);
    all.push_back("Content-Length: @\r\n" + coding);
  }
  all.emplace_back("Content-Length: @\r\nTransfer-Encoding: chunked");
  all.emplace_back("Transfer-Encoding: chunked\r\nContent-Length: @");
  all.emplace_back("Transfer-Encoding: chunked\r\nContent-Length: 5");
  return all;
}

std::string request_of(const std::string& shape, size_t number) {
  std::string rest = fmt::format("0\r\n\r\nGET /v1/inner-{} HTTP/1.1\r\nHost: a\r\n\r\n", number);
  std::string head = shape;
  for (size_t at = head.find('@'); at != head.npos; at = head.find('@', at)) {
    head.replace(at, 1, std::to_string(rest.size()));
  }
  // The last one ends the connection: if a hidden request comes to life, it does before.
  return fmt::format(
      "POST /v1/outer-{} HTTP/1.1\r\nHost: a\r\n{}\r\n\r\n{}"
      "GET /v1/last HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
      number, head, rest);
}

void send_raw(const std::string& address, const std::string& bytes) {
  run_program(
      {"/usr/bin/timeout", "20", "/usr/bin/openssl", "s_client", "-quiet", "-connect", address}, {},
      bytes);
}

std::map<std::string, int> lines_by_uri(const std::string& folder) {
  std::map<std::string, int> lines;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    std::istringstream text(read_text_file(file.path()));
    for (std::string line; std::getline(text, line);) {
      std::optional<Json> read = parse_json_or_nothing(utf8_lossy(line));
      EXPECT_TRUE(read) << line;
      if (read) ++lines[std::string(read->text_or("uri"))];
    }
  }
  return lines;
}

TEST(Smuggling, MakesNoSecondRequestInAnyOfItsShapes) {
  ApiStack stack;
  std::string address = stack.line().base_url().substr(std::string("https://").size());
  std::vector<std::string> all = shapes();
  ASSERT_GE(all.size(), 80u);
  std::atomic<size_t> next = 0;
  std::vector<std::thread> senders;
  for (int sender = 0; sender < senders_max; ++sender) {
    senders.emplace_back([&] {
      for (size_t i = next++; i < all.size(); i = next++) send_raw(address, request_of(all[i], i));
    });
  }
  for (std::thread& sender : senders) sender.join();
  std::map<std::string, int> lines = lines_by_uri(stack.folder() + "/access-log");
  int seen = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(lines[fmt::format("/v1/inner-{}", i)], 0) << all[i];
    EXPECT_LE(lines[fmt::format("/v1/outer-{}", i)], 1) << all[i];
    seen += lines[fmt::format("/v1/outer-{}", i)];
  }
  int without_uri = 0;
  for (const auto& [uri, count] : lines) {
    if (!uri.starts_with("/v1/outer-") && uri != "/v1/last") without_uri += count;
  }
  // nginx leaves out the path of what it refuses at once.
  EXPECT_GE(seen + without_uri, static_cast<int>(all.size())) << "the shapes have not arrived";
}

}  // namespace
}  // namespace hostler::testing_support
