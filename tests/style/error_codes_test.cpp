// The table of error codes against the published document, the SQL that raises codes, and nginx's
// own problem documents: one meaning and one status each, everywhere.
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>
#include <string>

#include "lib/error.h"
#include "lib/http/openai_error.h"
#include "tests/style/contract.h"
#include "tests/style/source_text.h"

namespace hostler::style {
namespace {

// Codes with their rows; the enumerator of "threads.not_found" is threads_not_found.
std::map<std::string, const ErrorRow*> rows_by_enumerator() {
  std::map<std::string, const ErrorRow*> rows;
  for (size_t i = 0; i < static_cast<size_t>(ErrorCode::count_); ++i) {
    const ErrorRow& row = error_row(static_cast<ErrorCode>(i));
    std::string enumerator(row.name);
    std::replace(enumerator.begin(), enumerator.end(), '.', '_');
    rows[enumerator] = &row;
  }
  return rows;
}

// Returns what SQL raises: fail('threads.not_found', …).
std::vector<Piece> codes_raised_in(const std::string& sql) {
  std::vector<Piece> codes;
  static const std::regex raise(R"(\bfail\(\s*'([a-z0-9_.]+)')");
  for (std::sregex_iterator at(sql.begin(), sql.end(), raise), end; at != end; ++at) {
    codes.push_back({line_at(sql, static_cast<size_t>(at->position())), (*at)[1].str()});
  }
  return codes;
}

// Returns what the product may answer: enumerators in C++ outside the table, and codes that SQL
// raises.
std::map<std::string, std::string> answered_codes() {
  std::map<std::string, const ErrorRow*> rows = rows_by_enumerator();
  std::map<std::string, std::string> answered;
  for (const SourceFile& file : source_tree()) {
    bool is_table = file.path == "lib/error.cpp" || file.path == "lib/error.h" ||
                    file.path == "fcgi/route_table.h";  // codes of ids, of paths yet to come too
    if (is_table || is_test(file.path) || file.path.starts_with("ctl/")) continue;
    if (file.path.ends_with(".sql")) {
      for (const Piece& code : codes_raised_in(file.text)) answered[code.text] = file.path;
    } else if (is_cpp(file.path)) {
      std::string code = take_apart(file.text).code;
      for (const Word& word : words_of(code)) {
        std::map<std::string, const ErrorRow*>::iterator row = rows.find(std::string(word.text));
        if (row != rows.end()) answered[std::string(row->second->name)] = file.path;
      }
    }
  }
  return answered;
}

TEST(ErrorCodes, NamesAreTheEnumeratorsWithADot) {
  for (const auto& [enumerator, row] : rows_by_enumerator()) {
    EXPECT_TRUE(error_code_named(row->name).has_value()) << row->name;
    EXPECT_TRUE(std::regex_match(std::string(row->name), std::regex("[a-z0-9_]+\\.[a-z0-9_]+")))
        << row->name;
    EXPECT_GE(row->status, 400) << row->name;
    EXPECT_LE(row->status, 599) << row->name;
  }
}

// A run that cannot be paid for, an administrator who takes more than there is, and redirects.
bool has_second_status(const DocumentedCode& documented) {
  if (documented.code == "auth.factor_required") return documented.status == "422";  // of a proof
  if (documented.status == "303") return true;  // the address to which it leads bears the code
  return documented.code == "credits.insufficient" && documented.status == "409";
}

// Code of an error below /v1/openai, which may be of that API, or "".
std::string openai_status_of(std::string_view code) {
  if (code == http::unsupported_parameter) return "400";
  for (size_t i = 0; i < static_cast<size_t>(ErrorCode::count_); ++i) {
    Error error(static_cast<ErrorCode>(i));
    if (http::openai_code(error) == code) return std::to_string(http::openai_status(error));
  }
  return {};
}

TEST(ErrorCodes, InTheDocumentHaveARowWithTheSameStatus) {
  Json document = openapi_document();
  std::vector<DocumentedCode> codes = codes_of(document);
  ASSERT_GT(codes.size(), 100u);
  for (const DocumentedCode& documented : codes) {
    if (documented.where.find(" /v1/openai/") != documented.where.npos) {
      std::string status = openai_status_of(documented.code);
      EXPECT_NE(status, "") << documented.where << ": there is no code " << documented.code;
      if (documented.status == "default") continue;
      EXPECT_EQ(status, documented.status) << documented.where << " " << documented.code;
      continue;
    }
    std::optional<ErrorCode> code = error_code_named(documented.code);
    ASSERT_TRUE(code.has_value()) << documented.where << ": lib/error.cpp has no row "
                                  << documented.code;
    if (documented.status == "default" || has_second_status(documented)) continue;
    EXPECT_EQ(std::to_string(error_row(*code).status), documented.status)
        << documented.where << " " << documented.code;
  }
}

TEST(ErrorCodes, RaisedBySqlHaveARow) {
  for (const SourceFile& file : source_tree()) {
    if (!file.path.ends_with(".sql")) continue;
    for (const Piece& code : codes_raised_in(file.text)) {
      EXPECT_TRUE(error_code_named(code.text).has_value())
          << file.path << ":" << code.line << ": " << code.text;
    }
  }
}

TEST(ErrorCodes, ThatTheProductAnswersStandInTheDocument) {
  Json document = openapi_document();
  std::set<std::string> documented;
  for (const DocumentedCode& code : codes_of(document)) documented.insert(code.code);
  const std::map<std::string, std::string> answered = answered_codes();
  ASSERT_GT(answered.size(), 5u);
  const std::set<std::string> of_hostlerctl = {"users.not_found"};  // admin promote
  std::string silent;
  for (const auto& [code, path] : answered) {
    bool is_reported = documented.contains(code) || of_hostlerctl.contains(code);
    if (!is_reported) silent += "  " + code + " (" + path + ")\n";
  }
  EXPECT_EQ(silent, "") << "name these in docs/openapi.yaml (x-codes)";
}

TEST(ErrorCodes, InNginxHaveTheSameTitleAndStatus) {
  std::string conf = read_source("nginx/problems.conf").text;
  ASSERT_FALSE(conf.empty());
  static const std::regex status_line(R"(\n\s+(\d+)\s+([a-z0-9_]+\.[a-z0-9_]+);)");
  static const std::regex title_line(R"(\n\s+([a-z0-9_]+\.[a-z0-9_]+)\s+\"([^\"]*)\";)");
  int seen = 0;
  for (std::sregex_iterator at(conf.begin(), conf.end(), status_line), end; at != end; ++at) {
    std::optional<ErrorCode> code = error_code_named((*at)[2].str());
    ASSERT_TRUE(code.has_value()) << (*at)[2];
    bool is_tls_fault = (*at)[1] == "497";  // nginx's own number; answered as 400
    std::string status = is_tls_fault ? "400" : (*at)[1].str();
    EXPECT_EQ(std::to_string(error_row(*code).status), status) << (*at)[2];
    ++seen;
  }
  for (std::sregex_iterator at(conf.begin(), conf.end(), title_line), end; at != end; ++at) {
    std::optional<ErrorCode> code = error_code_named((*at)[1].str());
    ASSERT_TRUE(code.has_value()) << (*at)[1];
    EXPECT_EQ(error_row(*code).title, (*at)[2].str()) << (*at)[1];
    ++seen;
  }
  EXPECT_GT(seen, 10) << "nginx/problems.conf is written in another way now: teach this test";
}

TEST(ErrorCodes, AreFoundInSql) {
  std::vector<Piece> codes =
      codes_raised_in("BEGIN\n  PERFORM fail('runs.no_model', 'x');\nEND; failure('a.b')");
  ASSERT_EQ(codes.size(), 1u);
  EXPECT_EQ(codes[0].text, "runs.no_model");
  EXPECT_EQ(codes[0].line, 2);
}

}  // namespace
}  // namespace hostler::style
