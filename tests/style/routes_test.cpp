// The route table of hostler-api against the published document, nginx, and the tests: each route
// stands in all of them, with the same rights, body and stream. Runs the program with --routes.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <regex>
#include <set>
#include <string>

#include "tests/style/contract.h"
#include "tests/style/source_text.h"

namespace hostler::style {
namespace {

struct PrintedRoute {
  std::string method, path, access, keys, sending, body_bytes_max, rate, query;
  std::string name() const { return method + " " + path; }
};

std::string build_folder() {
  const char* given = std::getenv("TEST_BUILD");
  if (given != nullptr) return given;
  return std::filesystem::read_symlink("/proc/self/exe").parent_path().string();
}

// Returns what the program prints, without a shell between. Empty when it cannot be run.
std::string output_of(const std::string& program, const char* argument) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return {};
  pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    execl(program.c_str(), program.c_str(), argument, static_cast<char*>(nullptr));
    _exit(127);
  }
  close(ends[1]);
  std::string output;
  char buffer[4096];
  for (ssize_t got = 0; (got = read(ends[0], buffer, sizeof buffer)) > 0;) {
    output.append(buffer, static_cast<size_t>(got));
  }
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return output;
}

// Lines of columns parted by tabs: method, path, access, keys, sending, body limit, rate class,
// query parameters.
std::vector<PrintedRoute> routes_in(const std::string& printed) {
  std::vector<PrintedRoute> routes;
  for (const std::string& line : lines_of(printed)) {
    PrintedRoute route;
    std::istringstream columns(line);
    for (std::string* column : {&route.method, &route.path, &route.access, &route.keys,
                                &route.sending, &route.body_bytes_max, &route.rate, &route.query}) {
      std::getline(columns, *column, '\t');
    }
    routes.push_back(std::move(route));
  }
  return routes;
}

// Fails the test if there are no routes, because loops over them must not pass over nothing.
std::vector<PrintedRoute> routes_of_program() {
  std::vector<PrintedRoute> routes =
      routes_in(output_of(build_folder() + "/hostler-api", "--routes"));
  EXPECT_FALSE(routes.empty()) << build_folder() << "/hostler-api --routes prints nothing";
  return routes;
}

const Operation* operation_named(const std::vector<Operation>& operations,
                                 const std::string& name) {
  for (const Operation& operation : operations) {
    if (operation.name() == name) return &operation;
  }
  return nullptr;
}

// The schemes that serve for an operation: its own list, or the document's.
std::set<std::string> schemes_of(const Json& document, const Operation& operation) {
  const Json* own = operation.body->find("security");
  const Json& security = own == nullptr ? member_or_null(document, "security") : *own;
  std::set<std::string> schemes;
  if (security.as_array() == nullptr) return schemes;
  for (const Json& choice : *security.as_array()) {
    if (choice.as_object() == nullptr) continue;
    for (const Json::Member& scheme : *choice.as_object()) schemes.insert(scheme.first);
  }
  return schemes;
}

bool has_code(const Json& document, const Operation& operation, std::string_view code) {
  for (const DocumentedCode& documented : codes_of(document)) {
    bool is_here = documented.where.starts_with(operation.name() + " ");
    if (is_here && documented.code == code) return true;
  }
  return false;
}

// Returns what the first set has and the second lacks, a line each.
std::string missing(const std::set<std::string>& wanted, const std::set<std::string>& there) {
  std::string lines;
  for (const std::string& name : wanted) {
    if (!there.contains(name)) lines += "  " + name + "\n";
  }
  return lines;
}

TEST(Routes, StandInTheDocumentAndTheDocumentNamesNoOther) {
  Json document = openapi_document();
  std::set<std::string> documented, printed;
  for (const Operation& operation : operations_of(document)) documented.insert(operation.name());
  for (const PrintedRoute& route : routes_of_program()) printed.insert(route.name());
  EXPECT_EQ(missing(printed, documented), "") << "write these into docs/openapi.yaml";
  EXPECT_EQ(missing(documented, printed), "") << "docs/openapi.yaml promises what there is not";
}

// These open routes take a token: as a choice, or within the body.
const std::set<std::string> takes_token_when_open = {"POST /v1/auth/passkey:begin",
                                                     "POST /v1/auth/factor"};

TEST(Routes, AdmitWhomTheDocumentSays) {
  Json document = openapi_document();
  std::vector<Operation> operations = operations_of(document);
  for (const PrintedRoute& route : routes_of_program()) {
    const Operation* operation = operation_named(operations, route.name());
    if (operation == nullptr) continue;  // told by the first test
    std::set<std::string> schemes = schemes_of(document, *operation);
    bool takes_token = route.access != "open" || takes_token_when_open.contains(route.name());
    bool is_scim = route.access == "scim";
    EXPECT_EQ(schemes.contains("scimToken"), is_scim) << route.name();
    EXPECT_TRUE(schemes.contains("accessToken") ? takes_token : is_scim || route.access == "open")
        << route.name();
    EXPECT_EQ(schemes.contains("apiKey"), route.keys == "key") << route.name() << ": API keys";
    EXPECT_EQ(has_code(document, *operation, "auth.invalid_token"),
              takes_token || schemes.contains("refreshCookie"))
        << route.name() << ": 401 is for those who need a token";
    std::string permission = route.access.substr(route.access.find(':') + 1);
    bool is_permission = permission.find('.') != permission.npos;
    std::string description(operation->body->text_or("description"));
    if (is_permission) {
      EXPECT_NE(description.find(permission), description.npos)
          << route.name() << " needs " << permission << ": say so in its description";
    }
  }
}

TEST(Routes, ReadABodyAndCountCallsAsTheDocumentSays) {
  Json document = openapi_document();
  std::vector<Operation> operations = operations_of(document);
  for (const PrintedRoute& route : routes_of_program()) {
    const Operation* operation = operation_named(operations, route.name());
    if (operation == nullptr) continue;
    bool takes_body = route.body_bytes_max != "0";
    const Json* body = operation->body->find("requestBody");
    EXPECT_EQ(body != nullptr, takes_body) << route.name();
    bool takes_json =
        body != nullptr && resolved(document, *body).find("content") != nullptr &&
        resolved(document, *body).find("content")->find("application/json") != nullptr;
    EXPECT_EQ(has_code(document, *operation, "http.bad_json"), takes_json) << route.name();
    if (takes_json) {
      EXPECT_TRUE(has_code(document, *operation, "http.unsupported_media_type")) << route.name();
    }
    EXPECT_EQ(has_code(document, *operation, "rate_limit.exceeded"), route.rate != "none")
        << route.name();
  }
}

TEST(Routes, TakeTheQueryParametersThatTheDocumentNames) {
  Json document = openapi_document();
  std::vector<Operation> operations = operations_of(document);
  size_t compared = 0;
  for (const PrintedRoute& route : routes_of_program()) {
    const Operation* operation = operation_named(operations, route.name());
    if (operation == nullptr || route.query == "*") continue;
    std::set<std::string> documented, taken;
    const Json& path = member_or_null(member_or_null(document, "paths"), route.path);
    for (const Json* level : {&path, operation->body}) {
      const Json::Array* parameters = member_or_null(*level, "parameters").as_array();
      for (const Json& given : parameters == nullptr ? Json::Array() : *parameters) {
        const Json& parameter = resolved(document, given);
        if (parameter.text_or("in") == "query") documented.emplace(parameter.text_or("name"));
      }
    }
    std::istringstream names(route.query);
    for (std::string name; names >> name;) taken.insert(name);
    EXPECT_EQ(taken, documented) << route.name() << ": fcgi/query_names.h and docs/openapi.yaml";
    compared += taken.size();
  }
  EXPECT_GT(compared, 100u);
}

bool takes_idempotency_key(const Operation& operation) {
  const Json::Array* parameters = member_or_null(*operation.body, "parameters").as_array();
  if (parameters == nullptr) return false;
  return std::any_of(parameters->begin(), parameters->end(), [](const Json& parameter) {
    return parameter.text_or("$ref") == "#/components/parameters/IdempotencyKey";
  });
}

TEST(Routes, HappenOnceWhenTheyMakeSomething) {
  Json document = openapi_document();
  std::vector<Operation> operations = operations_of(document);
  for (const PrintedRoute& route : routes_of_program()) {
    const Operation* operation = operation_named(operations, route.name());
    if (operation == nullptr) continue;
    bool is_once = route.sending == "idempotent";
    bool makes = member_or_null(*operation->body, "responses").find("201") != nullptr;
    // Services of SCIM know no Idempotency-Key: names are unique there.
    bool may_make = route.access == "open" || route.access == "scim";
    bool must_be = route.method == "POST" && !may_make && makes;
    EXPECT_TRUE(is_once || !must_be) << route.name() << " answers 201: it must be `idempotent`";
    EXPECT_EQ(takes_idempotency_key(*operation), is_once)
        << route.name() << ": the parameter IdempotencyKey stands where the route is `idempotent`";
    for (std::string_view code : {"idempotency.in_progress", "idempotency.key_reused"}) {
      EXPECT_EQ(has_code(document, *operation, code), is_once) << route.name() << " " << code;
    }
  }
}

// The expression by which nginx tells event streams from the rest, on method and raw path.
std::string stream_expression() {
  std::string conf = read_source("nginx/hostler.conf").text;
  static const std::regex line(R"re("~(\^[^"]* /v1/runs/[^"]*)" 1;)re");
  std::smatch found;
  return std::regex_search(conf, found, line) ? found[1].str() : "";
}

TEST(Routes, ReachTheDaemonFromNginxOnlyWhenTheyAreStreams) {
  std::string expression = stream_expression();
  ASSERT_FALSE(expression.empty())
      << "nginx/hostler.conf tells streams in another way now: teach this test";
  std::regex is_stream(expression);
  int streams = 0;
  for (const PrintedRoute& route : routes_of_program()) {
    std::string request =
        std::regex_replace(route.name(), std::regex(R"(\{[a-z_]+\})"), "019ac3a2");
    bool goes_to_daemon = std::regex_search(request, is_stream);
    EXPECT_EQ(goes_to_daemon, route.name() == "GET /v1/runs/{run_id}/events") << route.name();
    streams += goes_to_daemon ? 1 : 0;
  }
  EXPECT_EQ(streams, 1);
}

TEST(Routes, AreEachNamedByAnApiTest) {
  std::string tests;
  for (const SourceFile& file : source_tree()) {
    if (file.path.starts_with("tests/api/") || file.path.starts_with("tests/system/"))
      tests += file.text;
  }
  std::string untested;
  for (const PrintedRoute& route : routes_of_program()) {
    if (tests.find(route.name()) == tests.npos) untested += "  " + route.name() + "\n";
  }
  EXPECT_EQ(untested, "") << "test these in tests/api and name them there, so that they are found";
}

// The last piece of a path that ends in _id decides the code for a missing thing.
TEST(Routes, TellWhenThereIsNoSuchThing) {
  Json document = openapi_document();
  std::vector<Operation> operations = operations_of(document);
  for (const PrintedRoute& route : routes_of_program()) {
    const Operation* operation = operation_named(operations, route.name());
    bool has_id = route.path.find("_id}") != route.path.npos;
    if (operation == nullptr || !has_id) continue;
    bool tells = false;
    for (const DocumentedCode& code : codes_of(document)) {
      bool is_here = code.where == operation->name() + " 404";
      tells =
          tells || (is_here && code.code.ends_with(".not_found") && code.code != "orgs.not_found");
    }
    EXPECT_TRUE(tells || route.path.find("{org_id}") != route.path.npos) << route.name() << ": 404";
  }
}

TEST(Routes, OperationsHaveANameAndASummaryOfTheirOwn) {
  Json document = openapi_document();
  std::set<std::string> ids;
  for (const Operation& operation : operations_of(document)) {
    std::string id(operation.body->text_or("operationId"));
    EXPECT_TRUE(ids.insert(id).second) << operation.name() << ": operationId " << id;
    EXPECT_FALSE(operation.body->text_or("summary").empty()) << operation.name();
  }
  EXPECT_GT(ids.size(), 10u);
}

TEST(Routes, ArePrintedInColumns) {
  std::vector<PrintedRoute> routes =
      routes_in("POST\t/v1/threads\tdata.threads.write\tkey\town\t1048576\torg\n");
  ASSERT_EQ(routes.size(), 1u);
  EXPECT_EQ(routes[0].name(), "POST /v1/threads");
  EXPECT_EQ(routes[0].keys, "key");
  EXPECT_EQ(routes[0].rate, "org");
}

}  // namespace
}  // namespace hostler::style
