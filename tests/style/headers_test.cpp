// Header fields of answers: what the programs and nginx send stands in the published document, and
// each operation declares those that its kind of answer has.
#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <string>

#include "tests/style/contract.h"
#include "tests/style/source_text.h"

namespace hostler::style {
namespace {

bool sends_answers(const SourceFile& file) {
  for (std::string_view folder : {"fcgi/", "sse-relay/", "lib/http/", "lib/formats/"}) {
    if (file.path.starts_with(folder) && is_cpp(file.path)) return true;
  }
  // The console's files are no answers of the API.
  return file.path.starts_with("nginx/") && file.path != "nginx/snippets/console.conf";
}

// Names that are added to an answer, and those that constants hold.
std::set<std::string> fields_sent_in(const std::string& text) {
  static const std::regex sent(
      R"re((?:(?:\badd_header|\bappend_field|headers\.emplace_back|fields\.emplace_back)\(\s*")re"
      R"re(|_field = "|\badd_header )([A-Za-z-]+))re");
  std::set<std::string> names;
  for (std::sregex_iterator at(text.begin(), text.end(), sent), end; at != end; ++at) {
    names.insert((*at)[1]);
  }
  return names;
}

const Json::Object* headers_of(const Json& document, const Json& response) {
  return member_or_null(resolved(document, response), "headers").as_object();
}

std::set<std::string> headers_declared(const Json& document) {
  std::set<std::string> names;
  for (const Operation& operation : operations_of(document)) {
    for (const Json::Member& one : *member_or_null(*operation.body, "responses").as_object()) {
      const Json::Object* headers = headers_of(document, one.second);
      if (headers == nullptr) continue;
      for (const Json::Member& header : *headers) names.insert(header.first);
    }
  }
  return names;
}

TEST(Headers, ThatAnswersHaveStandInTheDocument) {
  Json document = openapi_document();
  std::set<std::string> declared = headers_declared(document);
  // Fields that every answer may have are described once, in words.
  std::string of_all(member_or_null(document, "info").text_or("description"));
  // These are HTTP's own, or nginx keeps them to itself.
  const std::set<std::string> of_http = {"Content-Type", "Content-Length", "X-Accel-Redirect"};
  std::set<std::string> sent;
  std::string silent;
  for (const SourceFile& file : source_tree()) {
    if (!sends_answers(file)) continue;
    for (const std::string& name : fields_sent_in(file.text)) {
      sent.insert(name);
      bool is_declared = declared.contains(name) || of_http.contains(name) ||
                         of_all.find("`" + name) != of_all.npos;
      if (!is_declared) silent += "  " + name + " (" + file.path + ")\n";
    }
  }
  EXPECT_EQ(silent, "") << "declare these in docs/openapi.yaml, where they are sent";
  for (const char* name : {"Idempotency-Replayed", "X-Hostler-Run", "x-should-retry", "Link",
                           "RateLimit", "Retry-After", "x-vercel-ai-ui-message-stream"}) {
    EXPECT_TRUE(sent.contains(name)) << name << " is sent in another way now: teach this test";
  }
}

struct Declaration {
  std::string_view header;
  bool is_due;
};

bool names_code(const Json& document, const Operation& operation, std::string_view code) {
  for (const DocumentedCode& documented : codes_of(document)) {
    if (documented.code == code && documented.where.starts_with(operation.name() + " "))
      return true;
  }
  return false;
}

bool takes_idempotency_key(const Operation& operation) {
  const Json::Array* parameters = member_or_null(*operation.body, "parameters").as_array();
  if (parameters == nullptr) return false;
  return std::any_of(parameters->begin(), parameters->end(), [](const Json& parameter) {
    return parameter.text_or("$ref") == "#/components/parameters/IdempotencyKey";
  });
}

// Returns what lacks of the fields that an operation's answer of this status has, a line each.
std::string missing_headers(const Operation& operation, bool is_counted, std::string_view status,
                            const Json& document, const Json& response) {
  const Json& answer = resolved(document, response);
  bool is_good = status.starts_with('2');
  bool is_openai = operation.path.starts_with("/v1/openai/");
  bool is_stream =
      is_good && member_or_null(answer, "content").find("text/event-stream") != nullptr;
  bool names_run = is_stream && operation.path.find("{run_id}") == operation.path.npos;
  bool asks_to_wait = (status == "429" || status == "503") && operation.path != "/readyz";
  std::string lines;
  for (const Declaration& one : {
           Declaration{"X-Trace-Id", true},
           Declaration{"x-request-id", is_openai},
           Declaration{"RateLimit", is_counted},
           Declaration{"RateLimit-Policy", is_counted},
           Declaration{"WWW-Authenticate", status == "401"},
           Declaration{"Retry-After", asks_to_wait},
           Declaration{"Allow", status == "default"},
           Declaration{"Location", status == "303"},
           Declaration{"Idempotency-Replayed", is_good && takes_idempotency_key(operation)},
           Declaration{"X-Accel-Buffering", is_stream},
           Declaration{"X-Hostler-Run", names_run},
           Declaration{"x-should-retry", is_openai && (status == "409" || status == "default")},
       }) {
    if (one.is_due && member_or_null(answer, "headers").find(one.header) == nullptr) {
      lines += "  " + operation.name() + " " + std::string(status) + ": ";
      lines += std::string(one.header) + "\n";
    }
  }
  return lines;
}

TEST(Headers, AreDeclaredByEachAnswerThatHasThem) {
  Json document = openapi_document();
  std::string missing;
  for (const Operation& operation : operations_of(document)) {
    bool is_counted = names_code(document, operation, "rate_limit.exceeded");
    for (const Json::Member& one : *member_or_null(*operation.body, "responses").as_object()) {
      missing += missing_headers(operation, is_counted, one.first, document, one.second);
    }
  }
  EXPECT_EQ(missing, "");
}

TEST(Headers, AreFoundInSourceText) {
  EXPECT_EQ(fields_sent_in("answer.add_header(\"A-B\", x); fields.emplace_back(\n  \"C\", y);\n"
                           "constexpr const char* run_field = \"D-e\";\n"),
            (std::set<std::string>{"A-B", "C", "D-e"}));
  EXPECT_EQ(fields_sent_in("    add_header RateLimit $x always;\n"),
            (std::set<std::string>{"RateLimit"}));
  EXPECT_EQ(fields_sent_in("rows.emplace_back(\"x\", y);"), std::set<std::string>());
}

}  // namespace
}  // namespace hostler::style
