// See runner/tools/page_charset.h.
#include "runner/tools/page_charset.h"

#include <iconv.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>

#include "lib/ascii.h"
#include "lib/utf8.h"

namespace hostler::runner {
namespace {

constexpr std::string_view replacement = "\uFFFD";

struct Charset {
  std::string_view label;      // as pages write it, in lower case
  const char* converter_name;  // of iconv; null: UTF-8
};

// The labels of the WHATWG Encoding Standard that pages use, and what they mean there: latin1 is
// windows-1252. The ISO-2022 family and UTF-7 are left out: their converters have states, and a
// history of faults.
// clang-format off
constexpr auto charsets = std::to_array<Charset>({
    {"utf-8", nullptr}, {"utf8", nullptr}, {"unicode-1-1-utf-8", nullptr},
    {"us-ascii", "CP1252"}, {"ascii", "CP1252"}, {"iso-8859-1", "CP1252"}, {"iso8859-1", "CP1252"}, {"latin1", "CP1252"},
    {"l1", "CP1252"}, {"iso_8859-1", "CP1252"}, {"windows-1252", "CP1252"}, {"cp1252", "CP1252"}, {"x-cp1252", "CP1252"},
    {"windows-1250", "CP1250"}, {"cp1250", "CP1250"}, {"windows-1251", "CP1251"}, {"cp1251", "CP1251"},
    {"windows-1253", "CP1253"}, {"windows-1254", "CP1254"}, {"iso-8859-9", "CP1254"}, {"latin5", "CP1254"},
    {"windows-1255", "CP1255"}, {"windows-1256", "CP1256"}, {"windows-1257", "CP1257"}, {"windows-1258", "CP1258"},
    {"windows-874", "CP874"}, {"tis-620", "CP874"},
    {"iso-8859-2", "ISO-8859-2"}, {"latin2", "ISO-8859-2"}, {"iso-8859-3", "ISO-8859-3"}, {"iso-8859-4", "ISO-8859-4"},
    {"iso-8859-5", "ISO-8859-5"}, {"iso-8859-6", "ISO-8859-6"}, {"iso-8859-7", "ISO-8859-7"}, {"iso-8859-8", "ISO-8859-8"},
    {"iso-8859-10", "ISO-8859-10"}, {"iso-8859-13", "ISO-8859-13"}, {"iso-8859-14", "ISO-8859-14"},
    {"iso-8859-15", "ISO-8859-15"}, {"latin9", "ISO-8859-15"}, {"iso-8859-16", "ISO-8859-16"},
    {"koi8-r", "KOI8-R"}, {"koi8-u", "KOI8-U"}, {"ibm866", "CP866"}, {"cp866", "CP866"}, {"macintosh", "MACINTOSH"},
    {"gb2312", "GB18030"}, {"gbk", "GB18030"}, {"x-gbk", "GB18030"}, {"gb18030", "GB18030"}, {"big5", "BIG5-HKSCS"},
    {"big5-hkscs", "BIG5-HKSCS"}, {"euc-jp", "EUC-JP"}, {"x-euc-jp", "EUC-JP"}, {"shift_jis", "CP932"},
    {"shift-jis", "CP932"}, {"sjis", "CP932"}, {"x-sjis", "CP932"}, {"windows-31j", "CP932"},
    {"euc-kr", "CP949"}, {"ks_c_5601-1987", "CP949"}, {"windows-949", "CP949"},
    {"utf-16", "UTF-16LE"}, {"utf-16le", "UTF-16LE"}, {"utf-16be", "UTF-16BE"},
});
// clang-format on

const Charset* charset_labelled(std::string_view label) {
  std::string low = ascii::lower_case(label);
  auto found = std::find_if(charsets.begin(), charsets.end(),
                            [&](const Charset& charset) { return charset.label == low; });
  return found == charsets.end() ? nullptr : &*found;
}

// Returns the word after "charset=", with or without quotes, or an empty text.
std::string_view charset_word(std::string_view text) {
  constexpr std::string_view name = "charset";
  std::string low = ascii::lower_case(text);
  for (size_t at = low.find(name); at != std::string::npos; at = low.find(name, at + 1)) {
    size_t begin = low.find_first_not_of(" \t\r\n", at + name.size());
    if (begin == std::string::npos || low[begin] != '=') continue;
    begin = low.find_first_not_of(" \t\r\n\"'", begin + 1);
    if (begin == std::string::npos) continue;
    size_t end = std::min(low.find_first_of(" \t\r\n\"';/>", begin), low.size());
    return text.substr(begin, end - begin);
  }
  return {};
}

// Reads a meta element near the page's beginning. A page that we can read so far is not UTF-16.
const Charset* charset_of_meta(std::string_view html) {
  constexpr size_t looked_at_bytes = 4096;
  std::string_view head = html.substr(0, looked_at_bytes);
  std::string low = ascii::lower_case(head);
  for (size_t at = low.find("<meta"); at != std::string::npos; at = low.find("<meta", at + 1)) {
    size_t end = std::min(low.find('>', at), low.size());
    const Charset* charset = charset_labelled(charset_word(head.substr(at, end - at)));
    if (charset == nullptr) continue;
    bool is_wide = charset->label.starts_with("utf-16");
    return is_wide ? charsets.data() : charset;
  }
  return nullptr;
}

struct Converter {
  explicit Converter(const char* from) : state(iconv_open("UTF-8", from)) {}
  ~Converter() {
    if (is_open()) iconv_close(state);
  }
  Converter(const Converter&) = delete;
  Converter& operator=(const Converter&) = delete;
  bool is_open() const { return state != reinterpret_cast<iconv_t>(-1); }
  iconv_t state;
};

// Where letters may be joined with what follows, as in windows-1258, a converter keeps one back.
void take_kept_back(iconv_t state, std::string& out) {
  std::array<char, 64> piece;
  char* into = piece.data();
  size_t room = piece.size();
  iconv(state, nullptr, nullptr, &into, &room);
  out.append(piece.data(), piece.size() - room);
}

// Byte by byte past what cannot be read.
std::string convert(std::string_view bytes, const char* from) {
  Converter converter(from);
  if (!converter.is_open()) return utf8_lossy(bytes);
  std::string out;
  std::array<char, 16 * 1024> piece;
  char* next = const_cast<char*>(bytes.data());  // iconv's old signature; it does not write there
  size_t left = bytes.size();
  while (left > 0) {
    char* into = piece.data();
    size_t room = piece.size();
    size_t outcome = iconv(converter.state, &next, &left, &into, &room);
    out.append(piece.data(), piece.size() - room);
    if (outcome != static_cast<size_t>(-1) || errno == E2BIG) continue;
    bool is_half = errno == EINVAL;  // of a character at the end
    take_kept_back(converter.state, out);
    out += replacement;
    if (is_half) break;
    ++next;
    --left;
  }
  take_kept_back(converter.state, out);
  return out;
}

std::string without_nul(std::string text) {
  if (text.find('\0') == std::string::npos) return text;
  std::string clean;
  for (char c : text) {
    if (c == '\0') {
      clean += replacement;
    } else {
      clean += c;
    }
  }
  return clean;
}

}  // namespace

std::string page_to_utf8(std::string_view bytes, std::string_view content_type, bool is_html) {
  const Charset* charset = nullptr;
  if (bytes.starts_with("\xEF\xBB\xBF")) {
    bytes.remove_prefix(3);
    charset = charsets.data();
  } else if (bytes.starts_with("\xFF\xFE")) {
    bytes.remove_prefix(2);
    charset = charset_labelled("utf-16le");
  } else if (bytes.starts_with("\xFE\xFF")) {
    bytes.remove_prefix(2);
    charset = charset_labelled("utf-16be");
  }
  if (charset == nullptr) charset = charset_labelled(charset_word(content_type));
  if (charset == nullptr && is_html) charset = charset_of_meta(bytes);
  bool is_utf8 = charset == nullptr || charset->converter_name == nullptr;
  std::string text = is_utf8 ? utf8_lossy(bytes) : convert(bytes, charset->converter_name);
  return without_nul(std::move(text));
}

std::string media_type_of(std::string_view content_type) {
  std::string_view type = content_type.substr(0, content_type.find(';'));
  return ascii::lower_case(ascii::trimmed(type, ascii::blanks));
}

}  // namespace hostler::runner
