// See fcgi/further_pieces.h.
#include "fcgi/further_pieces.h"

#include <functional>
#include <string>
#include <utility>

#include "lib/gzip.h"
#include "lib/log.h"
#include "lib/loop/wait.h"

namespace hostler {
namespace {

// Bytes that nginx keeps for a slow client (fastcgi_max_temp_file_size); further writes would
// block.
constexpr size_t bytes_max = size_t{1000} << 20;
constexpr std::string_view gzip_type = "application/gzip";

}  // namespace

Task<bool> write_rest(WorkerParts& parts, Connection& connection, const Request& request,
                      const Response& response) {
  if (request.method == Method::head) co_return true;
  size_t bytes = response.body().size();
  for (int64_t nth = 2; nth <= response.pieces; ++nth) {
    postgres::Batch batch;
    batch.add(response.piece(nth));
    postgres::BatchOutcome outcome = co_await parts.database.attempt_pipelined(std::move(batch));
    bool is_there = !outcome.error && !outcome.results.at(0).empty() && bytes < bytes_max;
    if (!is_there) {
      log_warning("answer_cut", {{"piece", std::to_string(nth)},
                                 {"cause", outcome.error ? outcome.error->cause : "it is gone"}});
      connection.cut();
      co_return false;
    }
    postgres::Row row = outcome.results.at(0).front();
    std::string piece;
    if (response.content_type == gzip_type) {
      std::function<std::string()> pack = [text = std::string(row.text("content"))] {
        return gzip(text);
      };
      piece = co_await loop::on_thread(parts.loop, std::move(pack));
    } else {
      piece = row.bytes("content");
    }
    bytes += piece.size();
    connection.write(piece);
  }
  co_return true;
}

}  // namespace hostler
