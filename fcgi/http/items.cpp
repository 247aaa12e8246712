// JSON made of columns; see fcgi/http/items.h.
#include "fcgi/http/items.h"

#include <array>
#include <charconv>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "lib/error.h"
#include "lib/postgres/columns.h"
#include "lib/time_text.h"

namespace hostler {
namespace {

using postgres::Columns;

// Escapes like to_json() of Postgres, which escapes less than json_quote() and knows \b and \f.
// Stored text is UTF-8.
void append_text(std::string_view text, std::string& out) {
  out += '"';
  size_t plain_from = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    auto c = static_cast<unsigned char>(text[i]);
    if (c >= ' ' && c != '"' && c != '\\') continue;
    out.append(text, plain_from, i - plain_from);
    plain_from = i + 1;
    constexpr std::string_view escaped = "\"\\\b\f\n\r\t";
    constexpr std::string_view letters = "\"\\bfnrt";
    size_t at = escaped.find(text[i]);
    if (at != escaped.npos) {
      out += '\\';
      out += letters[at];
    } else {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", c);
    }
  }
  out.append(text, plain_from);
  out += '"';
}

void append_integer(int64_t value, std::string& out) {
  std::array<char, 20> digits{};
  char* end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  out.append(digits.data(), end);
}

// The shortest text that reads as the same number, with an exponent where Postgres writes one. Of
// some above 2^53 Postgres writes a digit more; clients read none so large.
void append_number(double value, std::string& out) {
  if (!std::isfinite(value)) {
    out += "null";
    return;
  }
  double size = std::fabs(value);
  bool has_exponent = size != 0 && (size < 1e-4 || size >= 1e15);
  std::array<char, 32> digits{};
  char* end = std::to_chars(digits.data(), digits.data() + digits.size(), value,
                            has_exponent ? std::chars_format::scientific : std::chars_format::fixed)
                  .ptr;
  out.append(digits.data(), end);
}

void append_time(int64_t unix_us, std::string& out) {
  int64_t unix_ms = unix_us / 1000;
  if (unix_us % 1000 < 0) --unix_ms;
  out += '"';
  out += rfc3339(unix_ms);
  out += '"';
}

// Looks at names and types once for all rows.
class ItemWriter {
 public:
  explicit ItemWriter(const Columns& columns)
      : columns_(columns), is_made_(columns.count() == 2 && columns.name(1) == "item") {
    for (int i = 0; i < columns.count(); ++i) {
      std::string head = i == 0 ? "{" : ",";
      append_text(columns.name(i), head);
      head += ':';
      Columns::Type type = columns.type(i);
      if (type == Columns::Type::unknown) {
        throw Error(ErrorCode::internal_error, {},
                    fmt::format("the type of column {} has no form in JSON", columns.name(i)));
      }
      members_.push_back({std::move(head), type});
    }
  }

  void append(int row, std::string& out) const {
    if (is_made_) {
      out += columns_.json(row, 1);
      return;
    }
    int column = 0;
    for (const Member& member : members_) {
      out += member.head;
      append_value(row, column++, member.type, out);
    }
    out += '}';
  }

 private:
  struct Member {
    std::string head;  // what stands before its value
    Columns::Type type;
  };

  void append_value(int row, int column, Columns::Type type, std::string& out) const {
    std::string_view bytes = columns_.bytes(row, column);
    if (bytes.empty() && columns_.is_null(row, column)) {
      out += "null";
      return;
    }
    switch (type) {
      case Columns::Type::boolean:
        out += columns_.boolean(row, column) ? "true" : "false";
        break;
      case Columns::Type::integer:
        append_integer(columns_.integer(row, column), out);
        break;
      case Columns::Type::number:
        append_number(columns_.number(row, column), out);
        break;
      case Columns::Type::text:
        append_text(bytes, out);
        break;
      case Columns::Type::uuid:
        out += '"';
        postgres::append_uuid(bytes, out);
        out += '"';
        break;
      case Columns::Type::time:
        append_time(columns_.unix_us(row, column), out);
        break;
      case Columns::Type::json:
      case Columns::Type::jsonb:
        out += columns_.json(row, column);
        break;
      case Columns::Type::unknown:
        break;
    }
  }

  const Columns& columns_;
  bool is_made_;  // Postgres made the objects
  std::vector<Member> members_;
};

// One behind the other, in the order in which they were read.
struct WrittenItems {
  std::string text;
  std::vector<size_t> ends;
};

WrittenItems fitting_items(const Columns& columns, int rows, const PageShape& shape) {
  ItemWriter writer(columns);
  int measured = shape.measured.empty() ? -1 : columns.find(shape.measured);
  WrittenItems written;
  size_t bytes = 0;
  for (int row = 0; row < rows && row < shape.limit; ++row) {
    size_t begin = written.text.size();
    writer.append(row, written.text);
    bytes += measured < 0 ? written.text.size() - begin : columns.bytes(row, measured).size();
    if (row > 0 && bytes > page_bytes_max) {
      written.text.resize(begin);
      break;
    }
    written.ends.push_back(written.text.size());
  }
  return written;
}

}  // namespace

std::string item_json(const postgres::Result& result) {
  Columns columns(result);
  std::string text;
  ItemWriter(columns).append(0, text);
  return text;
}

ItemPage item_page(const postgres::Result& result, const PageShape& shape) {
  Columns columns(result);
  int rows = columns.rows();
  bool has_end = shape.ends_early && rows > 0 && columns.is_null(rows - 1, 1);
  if (has_end) --rows;
  WrittenItems written = fitting_items(columns, rows, shape);
  std::string_view text = written.text;
  size_t count = written.ends.size();
  ItemPage page;
  page.body.reserve(text.size() + count + 2);
  page.body += '[';
  for (size_t i = 0; i < count; ++i) {
    size_t item = shape.is_reversed ? count - 1 - i : i;
    size_t begin = item == 0 ? 0 : written.ends[item - 1];
    if (i > 0) page.body += ',';
    page.body += text.substr(begin, written.ends[item] - begin);
  }
  page.body += ']';
  int shown = static_cast<int>(count);
  if (shown < rows) {
    page.next = columns.uuid(shown - 1, 0);
  } else if (has_end) {
    page.next = columns.uuid(rows, 0);
  }
  return page;
}

}  // namespace hostler
