// All columns of a result, by number, in the binary form of Postgres: for what passes rows on
// without knowing their columns. The statement was bound with answers_binary. Who wants a column by
// its name reads a Row (lib/postgres/database.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lib/postgres/database.h"

namespace hostler::postgres {

class Columns {
 public:
  enum class Type : uint8_t { boolean, integer, number, text, uuid, time, json, jsonb, unknown };

  explicit Columns(const Result& result);  // must outlive it
  int rows() const { return rows_; }
  int count() const { return count_; }
  std::string_view name(int column) const;
  Type type(int column) const;
  int find(std::string_view name) const;  // the column's number, or -1

  bool is_null(int row, int column) const;
  // Returns the value as it came; for text and json, their text.
  std::string_view bytes(int row, int column) const;
  // Reads a column of that type that is not null.
  bool boolean(int row, int column) const;
  int64_t integer(int row, int column) const;
  double number(int row, int column) const;
  std::string_view json(int row, int column) const;  // of jsonb, too
  int64_t unix_us(int row, int column) const;        // of a time
  std::string uuid(int row, int column) const;

 private:
  pg_result* result_;
  int rows_;
  int count_;
};

// 36 characters, behind out, of the 16 bytes of an id.
void append_uuid(std::string_view bytes, std::string& out);

}  // namespace hostler::postgres
