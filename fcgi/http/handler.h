// A handler of the API: a function that reads its input and returns the one statement that does the
// work, or, if one is not enough, a coroutine of several steps. fcgi/answer_call.cpp sends the
// statement after the one that authenticates, in the same round trip, and makes the answer of its
// rows; steps begin when their caller is known. Handlers are defined in
// fcgi/api/<room>/<topic>.cpp, declared in fcgi/api/handlers.h and named in fcgi/route_table.h.
//
//   OneStatement show_thread(const Input& input) {
//     return OneStatement::item(query::ThreadShow{.thread_id = input.path_value("thread_id")});
//   }
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "fcgi/http/client.h"
#include "fcgi/http/input.h"
#include "fcgi/http/items.h"
#include "fcgi/http/response.h"
#include "fcgi/password/password_semaphore.h"
#include "lib/account/caller.h"
#include "lib/config/secret_box.h"
#include "lib/config/settings.h"
#include "lib/http/client.h"
#include "lib/loop/loop.h"
#include "lib/loop/task.h"
#include "lib/postgres/database.h"

namespace hostler {

class CallerDatabase;
struct Routed;

// Request for a page of a list.
struct Page {
  int64_t limit = 50;
  std::optional<std::string> before;  // the id of the last item that the client has
};

// All that a handler reads; not who calls. Outlives the handler.
struct Input {
  const Routed& routed;
  const Client& client;
  const config::Settings& settings;    // in force; the same for the whole request
  const config::Settings& configured;  // by file and environment, without the stored ones
  const config::SecretBox& secret_box;

  const Request& request() const;
  // The path's value of that name in the route, such as "run_id". Those ending in _id are UUIDs.
  std::string_view path_value(std::string_view name) const;
  // The body as an object. Throws 415, or 400 for an empty body or bad JSON.
  Fields body() const;
  Fields optional_body() const;  // an empty body reads as an empty object
  QueryFields query() const;
  // limit and cursor of a list that takes nothing else; throws the 422 of theirs.
  Page page(std::string_view cursor_name = "before") const;
  // The same of a list that takes more; the faults go to those of the rest.
  static Page page_of(QueryFields& fields, std::string_view cursor_name = "before");
  // ?scope=platform|org of a route whose access depends on it; platform is the default. No handler
  // is asked for an answer with any other.
  bool is_org_scope() const;
};

// The work of a request as one statement, and how the answer is made of what it tells.
class OneStatement {
 public:
  using Render = std::function<Response(postgres::Result)>;
  using Notice = std::function<std::optional<postgres::BoundStatement>(const postgres::Result&)>;

  OneStatement(postgres::BoundStatement query, Render render)
      : query_(std::move(query)), render_(std::move(render)) {}
  // The JSON that the statement makes: the first column of its first row.
  static OneStatement row(postgres::BoundStatement query, int status = 200);
  // 200 {"ok":true}
  static OneStatement ok(postgres::BoundStatement query);
  static OneStatement no_content(postgres::BoundStatement query);
  // Like row: 201 if its column is_new says so, else 200.
  static OneStatement new_or_changed(postgres::BoundStatement query);
  // The object that the columns of its row make (fcgi/http/items.h).
  static OneStatement item(postgres::BoundStatement query, int status = 200);
  // A page of them; Link repeats the request's query with the cursor moved.
  static OneStatement items(const Input& input, postgres::BoundStatement query, PageShape shape);
  // A page as page_of() makes it in SQL; Link repeats the request's query with the cursor moved.
  static OneStatement page(const Input& input, postgres::BoundStatement query,
                           std::string_view cursor_name = "before");

  // Wakes daemons: right behind the commit, not waited for; a lost one is made good by their polls.
  OneStatement notify(postgres::BoundStatement notification) &&;
  // The same when what the statement told names something to notify about.
  OneStatement notify_of(Notice notice) &&;

  // Asked in a round trip of its own when the statement finds no row: it tells why, or finds by a
  // longer way. Answers the same columns. Of statements that only read.
  OneStatement otherwise(postgres::BoundStatement query) &&;

  // Its commit may share its way to the disk with others. Only where the statement writes no event,
  // mail or webhook message: those leave by other programs, which do not wait for this answer.
  OneStatement share_commit() &&;

  const postgres::BoundStatement& query() const { return query_; }
  bool shares_commit() const { return shares_commit_; }
  postgres::BoundStatement take_query() { return std::move(query_); }
  // Once, when result has no row.
  std::optional<OneStatement> otherwise_of(const postgres::Result& result);
  postgres::Batch take_notifications() { return std::move(notifications_); }
  std::optional<postgres::BoundStatement> notification_of(const postgres::Result& result) const;
  Response render(postgres::Result result) const { return render_(std::move(result)); }

 private:
  postgres::BoundStatement query_;
  Render render_;
  postgres::Batch notifications_;
  Notice notice_;
  std::optional<postgres::BoundStatement> otherwise_;
  bool shares_commit_ = false;
};

// Services for steps of any caller.
struct OpenCall {
  const Input& input;
  CallerDatabase& database;  // acts as nobody, or as the caller
  loop::Loop& loop;
  http::HttpClient& http;  // to what the operator named: never guarded
  PasswordSemaphore& passwords;
};

// Steps of a caller who is known.
struct Call : OpenCall {
  const account::Caller& caller;
};

// One of the three. The kind stands beside it because g++ 12 with sanitizers takes no comparison of
// an address with null for a constant.
struct Handler {
  using Reader = OneStatement (*)(const Input&);
  using Steps = Task<Response> (*)(Call&);
  using OpenSteps = Task<Response> (*)(OpenCall&);
  enum class Kind : uint8_t { reader, steps, open_steps };

  constexpr Handler(Reader given) : kind(Kind::reader), reader(given) {}  // NOLINT: in the table
  constexpr Handler(Steps given) : kind(Kind::steps), steps(given) {}     // NOLINT
  constexpr Handler(OpenSteps given) : kind(Kind::open_steps), open_steps(given) {}  // NOLINT

  Kind kind;
  Reader reader = nullptr;
  Steps steps = nullptr;
  OpenSteps open_steps = nullptr;
};

}  // namespace hostler
