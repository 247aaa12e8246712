// A user's data, or an organization's, as a file. Maintenance makes it; here it is asked for, shown
// and sent. Statements: sql/queries/exports.sql.
#include <functional>
#include <string>
#include <utility>

#include "fcgi/api/handlers.h"
#include "fcgi/identity/caller_database.h"
#include "lib/gzip.h"
#include "lib/loop/wait.h"
#include "queries/exports.h"

namespace hostler {

OneStatement export_me(const Input&) {
  return OneStatement::row(query::ExportCreate{.of_org = false}, 202);
}

OneStatement export_org(const Input&) {
  return OneStatement::row(query::ExportCreate{.of_org = true}, 202);
}

OneStatement show_export(const Input& input) {
  return OneStatement::row(query::ExportShow{.export_id = input.path_value("export_id")});
}

// The worker sends the further pieces, each a member of the gzip file (RFC 1952, 2.2).
Task<Response> read_export(Call& call) {
  std::string export_id(call.input.path_value("export_id"));
  postgres::BoundStatement reading = query::ExportContent{.export_id = export_id};
  postgres::Result read = co_await call.database.query(std::move(reading));
  Response response;
  response.status = 200;
  response.content_type = "application/gzip";
  std::function<std::string()> pack = [text = std::string(read.front().text("content"))] {
    return gzip(text);
  };
  response.text = co_await loop::on_thread(call.loop, std::move(pack));
  response.add_header("Content-Disposition",
                      "attachment; filename=\"hostler-" + export_id + ".ndjson.gz\"");
  response.pieces = read.front().integer("pieces");
  response.piece = [export_id, user_id = call.caller.user_id](int64_t nth) {
    return postgres::BoundStatement(
        query::ExportPiece{.export_id = export_id, .user_id = user_id, .nth = nth});
  };
  co_return response;
}

}  // namespace hostler
