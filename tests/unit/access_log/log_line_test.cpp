// nginx's lines as rows of the access log: what the programs noted, what is found out here, what is
// no line at all; and the pieces in which files are read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "lib/crypto.h"
#include "runner/access_log/log_folder.h"
#include "runner/access_log/log_line.h"
#include "runner/access_log/tailer.h"

namespace hostler::runner {
namespace {

using testing::HasSubstr;

// The row as JSON text; empty: the line was refused.
std::string row_of(std::string_view line) {
  JsonWriter row;
  GeoLookup nowhere("");
  return write_log_entry(line, client::Gateway(config::Settings()), nowhere, row) ? row.take() : "";
}

TEST(LogLine, TakesWhatTheProgramsNoted) {
  EXPECT_EQ(
      row_of(R"({"end":"1763673000.500","took":"0.250","status":"200","method":"GET",)"
             R"("uri":"/v1/me?x=1","trace_id":"0af7651916cd43dd8448eb211c80319c","request_id":"y",)"
             R"("peer":"10.0.0.1","forwarded_for":"1.1.1.1","connecting_ip":"",)"
             R"("user_agent":"curl/8","authorization":"yes","note":"192.0.2.7 0.40 user )"
             R"(01a1fa43-8dcd-7506-ab81-ef7a33b2be1a 01a1fa43-8dcd-7506-ab81-ef7a33b2be1b"})"),
      R"({"at":1763673000.25,"trace_id":"0af7651916cd43dd8448eb211c80319c","method":"GET",)"
      R"("path":"/v1/me","status_code":200,"duration_ms":250,"client_ip":"192.0.2.7",)"
      R"("country":"","city":"","user_agent":"curl/8","ua_type":"tool","risk_score":0.4,)"
      R"("identity_type":"user","org_id":"01a1fa43-8dcd-7506-ab81-ef7a33b2be1a",)"
      R"("user_id":"01a1fa43-8dcd-7506-ab81-ef7a33b2be1b"})");
}

TEST(LogLine, FindsOutWhatNobodyNoted) {
  std::string row = row_of(
      R"({"end":"1.5","took":"0.000","status":"431","method":"","uri":"","trace_id":"",)"
      R"("request_id":"the one","peer":"10.0.0.1","user_agent":"","authorization":"","note":""})");
  EXPECT_THAT(row, HasSubstr(R"("trace_id":"the one")"));
  EXPECT_THAT(row, HasSubstr(R"("client_ip":"10.0.0.1")"));
  EXPECT_THAT(row, HasSubstr(R"("risk_score":0.6,"identity_type":"anonymous")"));
  EXPECT_THAT(row, HasSubstr(R"("org_id":null,"user_id":null)"));
}

TEST(LogLine, SurvivesTheBytesOfClients) {
  std::string row = row_of(
      "{\"end\":\"1\",\"took\":\"0\",\"status\":\"000\",\"uri\":\"/\xFF\xC3\","
      "\"user_agent\":\"a\\\"b\\u0007\",\"peer\":\"unix:\"}");
  EXPECT_THAT(row, HasSubstr("\xEF\xBF\xBD"));
  EXPECT_THAT(row, HasSubstr(R"("client_ip":"0.0.0.0")"));
  EXPECT_THAT(row, HasSubstr(R"("user_agent":"a\"b\u0007")"));
  std::string long_path(10'000, 'x');
  EXPECT_LT(row_of(R"({"end":"1","took":"0","status":"200","uri":"/)" + long_path + "\"}").size(),
            3000u);
}

TEST(LogLine, HidesTheTokenOfAnInvitation) {
  for (const char* uri :
       {"/v1/org-invitations/inv_secret/accept", "/v1/org-invitations/inv_secret/accept?x=1",
        "/v1/org-invitation%73/inv_secret/accept", "/%761/org-invitations/inv_secret",
        "/v1/org-invitations/inv_secret/accept?%", "/v1/org-invitations/inv_secret/%zz",
        "/v1/org-invitations/inv_secret%zz"}) {
    std::string row = row_of(
        fmt::format(R"({{"end":"1","took":"0","status":"200","method":"POST","uri":"{}"}})", uri));
    EXPECT_THAT(row, HasSubstr(R"("path":"/v1/org-invitations/{token}/accept")")) << uri;
    EXPECT_THAT(row, testing::Not(HasSubstr("secret"))) << uri;
  }
  EXPECT_THAT(row_of(R"({"end":"1","took":"0","status":"404","uri":"/v1/org-invitations"})"),
              HasSubstr(R"("path":"/v1/org-invitations")"));
}

TEST(LogLine, IsRefusedWhenItIsNone) {
  for (const char* bad : {"", "x", "[]", "{}", R"({"end":"x","took":"0","status":"200"})",
                          R"({"end":"1","took":"0","status":""})"}) {
    EXPECT_EQ(row_of(bad), "") << bad;
  }
}

class LogFolderTest : public testing::Test {
 protected:
  LogFolderTest() : folder_(testing::TempDir() + "log-" + to_hex(random_bytes(6))) {
    std::filesystem::create_directories(folder_);
  }
  ~LogFolderTest() override { std::filesystem::remove_all(folder_); }
  std::string write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ + "/" + name, std::ios::app) << text;
    return folder_ + "/" + name;
  }
  static LogPiece read(const std::string& path, int64_t from) {
    LogReaders readers{std::make_shared<const client::Gateway>(config::Settings()),
                       std::make_shared<const GeoLookup>("")};
    return read_log_piece(path, from, readers);
  }
  std::string folder_;
};

constexpr const char* line = "{\"end\":\"1\",\"took\":\"0\",\"status\":\"200\"}\n";

TEST_F(LogFolderTest, IsListedInTheOrderOfTime) {
  write("access-2026-11-20T21:00:01+00:00.json", line);
  write("access-2026-11-20T21:00:00+00:00.json", line);
  write("other.json", line);
  std::filesystem::create_directory(folder_ + "/access-folder.json");
  std::vector<LogFile> files = list_log_files(folder_);
  ASSERT_EQ(files.size(), 2u);
  EXPECT_THAT(files[0].path, HasSubstr("21:00:00"));
  EXPECT_EQ(files[0].bytes, static_cast<int64_t>(std::string(line).size()));
  EXPECT_TRUE(list_log_files(folder_ + "/nowhere").empty());
  EXPECT_TRUE(remove_log_file(files[0]));
  EXPECT_EQ(list_log_files(folder_).size(), 1u);
}

TEST_F(LogFolderTest, FilesAreReadUpToTheirLastWholeLine) {
  std::string path = write("access-a.json", std::string(line) + "nonsense\n" + line + "{\"half");
  LogPiece piece = read(path, 0);
  EXPECT_EQ(piece.lines, 3);
  EXPECT_EQ(piece.unreadable, 1);
  EXPECT_EQ(parse_json_or_nothing(piece.entries)->as_array()->size(), 2u);
  EXPECT_EQ(read(path, piece.bytes_to).bytes_to, piece.bytes_to) << "nothing new";
  write("access-a.json", "\n");
  EXPECT_EQ(read(path, piece.bytes_to).lines, 1);
  EXPECT_EQ(read(folder_ + "/nowhere", 5).bytes_to, 5);
}

TEST_F(LogFolderTest, AreReadInPiecesAndNeverStuck) {
  std::string many;
  for (int i = 0; i < 30'000; ++i) many += line;
  std::string path = write("access-a.json", many);
  int64_t at = 0;
  int lines = 0;
  int pieces = 0;
  while (at < static_cast<int64_t>(many.size())) {
    LogPiece piece = read(path, at);
    ASSERT_GT(piece.bytes_to, at);
    at = piece.bytes_to;
    lines += piece.lines;
    ++pieces;
  }
  EXPECT_EQ(lines, 30'000);
  EXPECT_GT(pieces, 1);
  std::string endless = write("access-b.json", std::string(2 << 20, 'x'));
  EXPECT_GT(read(endless, 0).bytes_to, 0);
}

TEST_F(LogFolderTest, HasOneReader) {
  LockFile first(lock_of_folder(folder_));
  LockFile second(lock_of_folder(folder_));
  EXPECT_TRUE(first.take());
  EXPECT_TRUE(first.take());
  EXPECT_FALSE(second.take());
  EXPECT_FALSE(LockFile(lock_of_folder(folder_ + "/nowhere")).take());
}

TEST_F(LogFolderTest, TellsFilesApartWhateverTheHostIsCalled) {
  std::filesystem::create_directory(folder_ + "/elsewhere");
  LockFile here(lock_of_folder(folder_));
  LockFile elsewhere(lock_of_folder(folder_ + "/elsewhere"));
  ASSERT_TRUE(here.take());
  ASSERT_TRUE(elsewhere.take());
  LogFile file;
  file.path = "/var/log/hostler/access-a.json";
  file.inode = 7;
  file.born_ns = std::max(here.id_created_ns(), elsewhere.id_created_ns()) + 1;
  std::string key = log_file_key(here, "host", file);
  EXPECT_EQ(log_file_key(here, "host", file), key);
  EXPECT_NE(log_file_key(elsewhere, "host", file), key) << "another folder";
  LogFile copied = file;
  copied.born_ns += 1000;
  EXPECT_NE(log_file_key(here, "host", copied), key) << "another file, on a copy of the disk";
  LogFile older = file;
  older.born_ns = here.id_created_ns() - 1;
  EXPECT_EQ(log_file_key(here, "host", older), "host:/var/log/hostler/access-a.json#7");
}

// An MMDB file with one network, by the format's description (MaxMind DB 2.0): 24-bit records.
std::string mmdb_text(std::string_view text) {
  return std::string(1, static_cast<char>(2 << 5 | text.size())) + std::string(text);
}
std::string mmdb_map(std::initializer_list<std::pair<std::string_view, std::string>> members) {
  std::string bytes(1, static_cast<char>(7 << 5 | members.size()));
  for (const auto& [name, value] : members) bytes += mmdb_text(name) + value;
  return bytes;
}
std::string mmdb_uint16(int value) {
  return {static_cast<char>(5 << 5 | 2), static_cast<char>(value >> 8), static_cast<char>(value)};
}
std::string mmdb_of(const net::IpAddress& network, int prefix_bits, const std::string& data) {
  std::string tree;
  auto record = [&](int value) {
    for (int shift : {16, 8, 0}) tree += static_cast<char>(value >> shift);
  };
  for (int bit = 0; bit < prefix_bits; ++bit) {
    bool goes_right = (network.bytes[static_cast<size_t>(bit) / 8] >> (7 - bit % 8) & 1) != 0;
    int next = bit + 1 == prefix_bits ? prefix_bits + 16 : bit + 1;
    record(goes_right ? prefix_bits : next);
    record(goes_right ? next : prefix_bits);
  }
  std::string node_count{static_cast<char>(6 << 5 | 1), static_cast<char>(prefix_bits)};
  std::string epoch{static_cast<char>(1), static_cast<char>(2), static_cast<char>(1)};
  std::string no_languages{static_cast<char>(0), static_cast<char>(4)};
  return tree + std::string(16, '\0') + data + "\xab\xcd\xefMaxMind.com" +
         mmdb_map({{"binary_format_major_version", mmdb_uint16(2)},
                   {"binary_format_minor_version", mmdb_uint16(0)},
                   {"build_epoch", epoch},
                   {"database_type", mmdb_text("Test")},
                   {"description", mmdb_map({})},
                   {"ip_version", mmdb_uint16(4)},
                   {"languages", no_languages},
                   {"node_count", node_count},
                   {"record_size", mmdb_uint16(24)}});
}

TEST_F(LogFolderTest, HasLocationsOfAnMmdbFile) {
  std::string data =
      mmdb_map({{"country", mmdb_map({{"iso_code", mmdb_text("DE")}})},
                {"city", mmdb_map({{"names", mmdb_map({{"en", mmdb_text("Bonn")}})}})}});
  std::string path = write("geo.mmdb", mmdb_of(*net::IpAddress::parse("198.51.100.0"), 24, data));
  GeoLookup geo(path);
  EXPECT_EQ(geo.of("198.51.100.200").country, "DE");
  EXPECT_EQ(geo.of("198.51.100.200").city, "Bonn");
  EXPECT_EQ(geo.of("198.51.101.1").country, "");
  EXPECT_EQ(geo.of("2001:db8::1").country, "") << "the file is for IPv4";
  EXPECT_EQ(geo.of("nonsense").country, "");
  JsonWriter row;
  EXPECT_TRUE(write_log_entry(R"({"end":"1","took":"0","status":"200","peer":"198.51.100.7"})",
                              client::Gateway(config::Settings()), geo, row));
  EXPECT_THAT(row.take(), HasSubstr(R"("country":"DE","city":"Bonn")"));
}

TEST(GeoLookup, KnowsNothingWithoutAFile) {
  EXPECT_EQ(GeoLookup("").of("192.0.2.1").country, "");
  EXPECT_EQ(GeoLookup("/nowhere").of("192.0.2.1").country, "");
}

}  // namespace
}  // namespace hostler::runner
