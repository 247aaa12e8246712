// Files of the caller: uploaded once, then named by their ids. Statements: sql/queries/files.sql.
// The daemon checks what is stored here (runner/files/file_checks.h).
#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "fcgi/api/files/content_range.h"
#include "fcgi/api/files/upload.h"
#include "fcgi/api/handlers.h"
#include "fcgi/api/runs/marks.h"
#include "fcgi/http/input.h"
#include "fcgi/http/spooled_body.h"
#include "fcgi/identity/caller_database.h"
#include "lib/crypto.h"
#include "lib/files/file_types.h"
#include "lib/json.h"
#include "lib/loop/wait.h"
#include "lib/search_words.h"
#include "lib/sha256.h"
#include "queries/files.h"

namespace hostler {
namespace {

using Body = std::shared_ptr<const SpooledBody>;

// The same as file_piece_bytes() in SQL.
constexpr int64_t piece_bytes = 256 << 10;
// Pieces of one round trip: they are in memory twice.
constexpr int64_t batch_pieces = 2;

std::string hash_of_file(const Body& body, int64_t offset, int64_t bytes) {
  Sha256 hash;
  for (int64_t at = 0; at < bytes; at += piece_bytes) {
    hash.add(body->read(offset + at, static_cast<size_t>(std::min(piece_bytes, bytes - at))));
  }
  return to_hex(hash.take());
}

std::string wanted_file(const Upload& upload, std::string_view mime_type,
                        std::string_view sha256_hex) {
  JsonWriter wanted;
  wanted.begin_object()
      .member("name", upload.name)
      .member("words", search_words(upload.name))
      .member("mime_type", mime_type)
      .member("bytes", upload.bytes)
      .member("sha256", sha256_hex);
  if (upload.end_user) wanted.member("end_user", *upload.end_user);
  if (upload.metadata) wanted.member_raw("metadata", *upload.metadata);
  return wanted.end_object().take();
}

// The statements of an upload, batch after batch.
class Storing {
 public:
  Storing(Body body, const Upload& upload, std::string wanted, const config::Settings& settings)
      : body_(std::move(body)),
        upload_(upload),
        wanted_(std::move(wanted)),
        stored_max_(settings.integer("limit.stored_bytes")),
        day_max_(settings.integer("limit.upload_bytes_per_day")) {}

  postgres::Batch next(const postgres::Results& before) {
    postgres::Batch batch;
    if (is_finished_) {
      stored_ = before.back();
      return batch;
    }
    if (before.empty()) {
      batch.add(query::FileBegin{.wanted = wanted_});
      return batch;
    }
    if (file_id_.empty()) file_id_ = before.back().front().text("id");
    for (int64_t i = 0; i < batch_pieces && at_ < upload_.bytes; ++i) batch.add(next_piece());
    if (at_ == upload_.bytes) {
      postgres::BoundStatement finishing =
          query::FileFinish{.file_id = file_id_,
                            .limit_stored_bytes = stored_max_,
                            .limit_upload_bytes_per_day = day_max_};
      finishing.answers_binary = true;  // item_json() reads it
      batch.add(std::move(finishing));
      is_finished_ = true;
    }
    return batch;
  }
  const postgres::Result& stored() const { return stored_; }

 private:
  postgres::BoundStatement next_piece() {
    int64_t count = std::min(piece_bytes, upload_.bytes - at_);
    std::string bytes = body_->read(upload_.offset + at_, static_cast<size_t>(count));
    at_ += count;
    return query::FileAddPiece{.file_id = file_id_, .nth = ++pieces_, .content = std::move(bytes)};
  }

  Body body_;
  const Upload& upload_;
  std::string wanted_;
  int64_t stored_max_;
  int64_t day_max_;
  std::string file_id_;
  int64_t at_ = 0;
  int64_t pieces_ = 0;
  bool is_finished_ = false;
  postgres::Result stored_;
};

struct FileBytes {
  std::string file_id;
  std::string user_id;
  ByteRange range;
};

// A piece of the answer, from 1 on: of the file's pieces the bytes that the range takes.
postgres::BoundStatement piece_of(const FileBytes& file, int64_t nth) {
  int64_t first = file.range.first / piece_bytes;
  int64_t at = (first + nth - 1) * piece_bytes;
  int64_t skipped = std::max<int64_t>(file.range.first - at, 0);
  int64_t end = std::min(file.range.last + 1 - at, piece_bytes);
  return query::FilePiece{.file_id = file.file_id,
                          .user_id = file.user_id,
                          .nth = first + nth,
                          .skipped = skipped,
                          .taken = end - skipped};
}

void describe(Response& response, const postgres::Row& row, const ByteRange& range) {
  int64_t bytes = row.integer("bytes");
  response.content_type = files::accepted_type(row.text("mime_type"));
  response.add_header("Content-Disposition", attachment_header(row.text("name")));
  response.add_header("Content-Security-Policy", "default-src 'none'; sandbox");
  response.add_header("ETag", '"' + std::string(row.text("sha256")) + '"');
  response.add_header("Accept-Ranges", "bytes");
  if (response.status == 206) response.add_header("Content-Range", content_range(range, bytes));
  // The head counts the bytes of a single piece by itself.
  if (response.pieces > 1) {
    response.add_header("Content-Length", std::to_string(range.last + 1 - range.first));
  }
}

}  // namespace

Task<Response> create_file(Call& call) {
  Upload upload = co_await read_upload(call);
  Body body = call.input.request().spooled;
  const config::Settings& settings = call.input.settings;
  postgres::BoundStatement admitting = query::FileAdmit{
      .bytes = upload.bytes, .limit_file_bytes = settings.integer("limit.file_bytes")};
  co_await call.database.query(std::move(admitting));
  std::string_view mime_type = co_await type_of_upload(call, upload);
  std::function<std::string()> hashing = [body, offset = upload.offset, bytes = upload.bytes] {
    return hash_of_file(body, offset, bytes);
  };
  std::string hash = co_await loop::on_thread(call.loop, std::move(hashing));
  Storing storing(body, upload, wanted_file(upload, mime_type, hash), settings);
  CallerDatabase::NextBatch next = [&storing](const postgres::Results& before) {
    return storing.next(before);
  };
  co_await call.database.batches(std::move(next));
  call.database.notify(query::FileChecksWake{});
  co_return Response::json_text(201, item_json(storing.stored()));
}

OneStatement list_files(const Input& input) {
  QueryFields fields = input.query();
  std::optional<std::string> end_user = fields.text("end_user", end_user_bounds);
  Page page = Input::page_of(fields);
  fields.check();
  if (end_user) {
    return OneStatement::items(
        input,
        query::FilePageOfEndUser{.end_user = *end_user, .limit = page.limit, .before = page.before},
        {.limit = page.limit});
  }
  return OneStatement::items(input, query::FilePage{.limit = page.limit, .before = page.before},
                             {.limit = page.limit});
}

OneStatement show_file(const Input& input) {
  return OneStatement::item(query::FileShow{.file_id = input.path_value("file_id")});
}

// The worker sends the pieces after the first.
Task<Response> read_file_content(Call& call) {
  FileBytes file{std::string(call.input.path_value("file_id")), call.caller.user_id, {}};
  postgres::BoundStatement describing = query::FileContent{.file_id = file.file_id};
  postgres::Result described = co_await call.database.query(std::move(describing));
  postgres::Row row = described.front();
  WantedRange wanted = wanted_range(call.input.request(), row.integer("bytes"), row.text("sha256"));
  Response response;
  response.status = wanted.is_part ? 206 : 200;
  file.range = wanted.range;
  postgres::Result first = co_await call.database.query(piece_of(file, 1));
  if (first.empty()) throw Error(ErrorCode::files_not_found);
  response.text = first.front().bytes("content");
  response.pieces = file.range.last / piece_bytes - file.range.first / piece_bytes + 1;
  describe(response, row, file.range);
  response.piece = [file](int64_t nth) { return piece_of(file, nth); };
  co_return response;
}

OneStatement delete_file(const Input& input) {
  return OneStatement::no_content(query::FileDelete{.file_id = input.path_value("file_id")});
}

}  // namespace hostler
