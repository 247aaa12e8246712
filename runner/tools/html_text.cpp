// See runner/tools/html_text.h. libxml2 calls back for each element and piece of text; no tree is
// built, so memory does not grow with the nesting.
#include "runner/tools/html_text.h"

#include <libxml/HTMLparser.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "lib/ascii.h"
#include "lib/utf8.h"

namespace hostler::runner {
namespace {

constexpr size_t title_chars_max = 300;

enum class Flow : uint8_t {
  in_line,    // part of the text around it
  line,       // on a line of its own
  paragraph,  // with an empty line around it
  item,       // a line that begins with "- "
  cell,       // parted from the cell before it by " | "
  rule,       // a line's end and nothing else
  verbatim,   // a paragraph whose spaces and line ends count
  title,
  skipped,  // not text for a reader
};

struct Element {
  std::string_view name;
  Flow flow;
};

// In alphabetical order. What is not here is in_line.
constexpr std::array elements = std::to_array<Element>({
    {"address", Flow::paragraph}, {"article", Flow::paragraph},    {"aside", Flow::paragraph},
    {"audio", Flow::skipped},     {"blockquote", Flow::paragraph}, {"br", Flow::rule},
    {"canvas", Flow::skipped},    {"caption", Flow::line},         {"datalist", Flow::skipped},
    {"dd", Flow::item},           {"details", Flow::paragraph},    {"dialog", Flow::paragraph},
    {"div", Flow::line},          {"dl", Flow::paragraph},         {"dt", Flow::line},
    {"embed", Flow::skipped},     {"fieldset", Flow::paragraph},   {"figcaption", Flow::line},
    {"figure", Flow::paragraph},  {"footer", Flow::paragraph},     {"form", Flow::paragraph},
    {"frameset", Flow::skipped},  {"h1", Flow::paragraph},         {"h2", Flow::paragraph},
    {"h3", Flow::paragraph},      {"h4", Flow::paragraph},         {"h5", Flow::paragraph},
    {"h6", Flow::paragraph},      {"header", Flow::paragraph},     {"hr", Flow::paragraph},
    {"iframe", Flow::skipped},    {"legend", Flow::line},          {"li", Flow::item},
    {"main", Flow::paragraph},    {"menu", Flow::paragraph},       {"nav", Flow::skipped},
    {"noembed", Flow::skipped},   {"noframes", Flow::skipped},     {"noscript", Flow::skipped},
    {"object", Flow::skipped},    {"ol", Flow::paragraph},         {"option", Flow::line},
    {"p", Flow::paragraph},       {"pre", Flow::verbatim},         {"script", Flow::skipped},
    {"section", Flow::paragraph}, {"select", Flow::skipped},       {"style", Flow::skipped},
    {"summary", Flow::line},      {"svg", Flow::skipped},          {"table", Flow::paragraph},
    {"td", Flow::cell},           {"template", Flow::skipped},     {"textarea", Flow::skipped},
    {"th", Flow::cell},           {"title", Flow::title},          {"tr", Flow::line},
    {"ul", Flow::paragraph},      {"video", Flow::skipped},
});
static_assert(std::is_sorted(elements.begin(), elements.end(),
                             [](const Element& a, const Element& b) { return a.name < b.name; }));

Flow flow_of(std::string_view name) {
  auto found = std::lower_bound(
      elements.begin(), elements.end(), name,
      [](const Element& row, std::string_view wanted) { return row.name < wanted; });
  return found != elements.end() && found->name == name ? found->flow : Flow::in_line;
}

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// Text with its white space joined and its lines parted.
class Writer {
 public:
  void add(std::string_view text, bool verbatim) {
    constexpr std::string_view no_break_space = "\u00A0";
    for (size_t i = 0; i < text.size(); ++i) {
      bool is_wide_space = text.substr(i, 2) == no_break_space;
      if (is_wide_space) ++i;
      char c = is_wide_space ? ' ' : text[i];
      if (verbatim && c == '\n') {
        out_ += '\n';
        wants_space_ = false;
      } else if (is_space(c) && !verbatim) {
        wants_space_ = true;
      } else {
        begin_piece();
        out_ += c;
      }
    }
  }
  // At least so many line ends stand before whatever comes next.
  void break_line(int line_ends) {
    line_ends_ = std::max(line_ends_, line_ends);
    wants_space_ = false;
  }
  void mark_item() {
    break_line(1);
    mark_ = "- ";
  }
  void mark_cell() {
    bool begins_line = out_.empty() || line_ends_ > 0 || out_.back() == '\n';
    if (!begins_line) mark_ = " | ";
    wants_space_ = false;
  }
  std::string take() {
    while (!out_.empty() && is_space(out_.back())) out_.pop_back();
    return std::move(out_);
  }
  size_t size() const { return out_.size(); }

 private:
  void begin_piece() {
    if (line_ends_ > 0) {
      while (!out_.empty() && out_.back() == ' ') out_.pop_back();
      int there = 0;
      for (size_t i = out_.size(); i > 0 && out_[i - 1] == '\n'; --i) ++there;
      if (!out_.empty() && there < line_ends_) {
        out_.append(static_cast<size_t>(line_ends_ - there), '\n');
      }
      if (mark_ == " | ") mark_ = {};
      line_ends_ = 0;
      wants_space_ = false;
    }
    if (!mark_.empty()) {
      out_ += std::exchange(mark_, {});
      wants_space_ = false;
    }
    if (std::exchange(wants_space_, false) && !out_.empty() && !is_space(out_.back())) {
      out_ += ' ';
    }
  }

  std::string out_;
  std::string_view mark_;
  int line_ends_ = 0;
  bool wants_space_ = false;
};

bool hides(std::string_view name, std::string_view value) {
  if (name == "hidden") return value != "until-found";
  if (name != "style") return false;
  std::string packed;
  for (char c : value.substr(0, 1000)) {
    if (!is_space(c)) packed += ascii::lower(c);
  }
  return packed.find("display:none") != std::string::npos;
}

// Callbacks of libxml2, with the parser's own depth. For a broken tag it may begin an element and
// never end it, so calls do not pair up, but the depth is always right.
class Reader {
 public:
  explicit Reader(HtmlLimits limits)
      : limits_(limits), due_(Clock::now() + std::chrono::milliseconds(limits.time_max_ms)) {}

  PageText read(std::string_view html);

 private:
  using Clock = std::chrono::steady_clock;
  static Reader& of(void* self) { return *static_cast<Reader*>(self); }
  static std::string_view view(const xmlChar* text) {
    return text == nullptr ? "" : reinterpret_cast<const char*>(text);
  }
  static void on_start(void* self, const xmlChar* name, const xmlChar** pairs) noexcept {
    of(self).begin_element(view(name), pairs);
  }
  static void on_end(void* self, const xmlChar* name) noexcept { of(self).end_element(view(name)); }
  static void on_text(void* self, const xmlChar* text, int count) noexcept {
    of(self).add_text({reinterpret_cast<const char*>(text), static_cast<size_t>(count)});
  }
  static int on_read(void* self, char* into, int room) noexcept {
    return of(self).give(into, room);
  }
  static void on_fault(void* self, xmlErrorPtr) noexcept { of(self).watch_cost(); }

  void begin_element(std::string_view name, const xmlChar** pairs);
  void end_element(std::string_view name);
  void add_text(std::string_view text);
  void watch_cost();
  void leave_what_ended();
  int give(char* into, int room);

  HtmlLimits limits_;
  Clock::time_point due_;
  std::string_view left_;  // of the page, not yet given to the parser
  htmlParserCtxtPtr parser_ = nullptr;
  Writer text_;
  Writer title_;
  bool has_title_ = false;
  bool truncated_ = false;
  int skipped_depth_ = 0;  // of the element whose content is left out; 0: none
  int verbatim_depth_ = 0;
  int title_depth_ = 0;
  unsigned calls_ = 0;
};

// A page that is nested or broken on purpose makes each call cost more: the clock decides.
void Reader::watch_cost() {
  constexpr unsigned calls_between_looks = 32;
  if (++calls_ % calls_between_looks != 0) return;
  if (text_.size() > limits_.text_bytes_max || Clock::now() > due_) truncated_ = true;
}

void Reader::leave_what_ended() {
  for (int* depth : {&skipped_depth_, &verbatim_depth_, &title_depth_}) {
    if (parser_->nameNr < *depth) *depth = 0;
  }
}

void Reader::begin_element(std::string_view name, const xmlChar** pairs) {
  constexpr int depth_max = 30'000;  // each end tag may be looked for through all of it
  watch_cost();
  leave_what_ended();
  int depth = parser_->nameNr;
  if (depth > depth_max) truncated_ = true;
  // An element that begins where another stood: the old one has ended without a callback.
  for (int* mark : {&skipped_depth_, &verbatim_depth_, &title_depth_}) {
    if (*mark == depth) *mark = 0;
  }
  if (skipped_depth_ != 0 || truncated_) return;
  Flow flow = flow_of(name);
  bool is_hidden = flow == Flow::skipped;
  for (; pairs != nullptr && *pairs != nullptr && !is_hidden; pairs += 2) {
    is_hidden = hides(view(pairs[0]), view(pairs[1]));
  }
  if (is_hidden) {
    skipped_depth_ = depth;
    return;
  }
  if (flow == Flow::title && !has_title_) title_depth_ = depth;
  if (flow == Flow::verbatim && verbatim_depth_ == 0) verbatim_depth_ = depth;
  if (flow == Flow::paragraph || flow == Flow::verbatim) text_.break_line(2);
  if (flow == Flow::line || flow == Flow::rule) text_.break_line(1);
  if (flow == Flow::item) text_.mark_item();
  if (flow == Flow::cell) text_.mark_cell();
}

void Reader::end_element(std::string_view name) {
  watch_cost();
  leave_what_ended();
  int depth = parser_->nameNr;
  if (skipped_depth_ != 0) {
    if (depth == skipped_depth_) skipped_depth_ = 0;
    return;
  }
  if (depth == title_depth_) {
    title_depth_ = 0;
    has_title_ = true;
  }
  if (depth == verbatim_depth_) verbatim_depth_ = 0;
  Flow flow = flow_of(name);
  if (flow == Flow::paragraph || flow == Flow::verbatim) text_.break_line(2);
  if (flow == Flow::line || flow == Flow::item) text_.break_line(1);
}

void Reader::add_text(std::string_view text) {
  leave_what_ended();
  if (skipped_depth_ != 0 || truncated_) return;
  if (title_depth_ != 0) {
    if (title_.size() < title_chars_max * 4) title_.add(text, false);
  } else {
    text_.add(text, verbatim_depth_ != 0);
  }
  watch_cost();
}

// Where the parser gets its bytes, a few thousand at a time: the page ends here when it has cost
// enough, also within a tag without end. (xmlStopParser leaves libxml2 2.9.14 with no input and
// crashes it.)
int Reader::give(char* into, int room) {
  if (Clock::now() > due_) truncated_ = true;
  if (truncated_) return 0;
  size_t count = std::min(left_.size(), static_cast<size_t>(std::max(room, 0)));
  left_.copy(into, count);
  left_.remove_prefix(count);
  return static_cast<int>(count);
}

PageText Reader::read(std::string_view html) {
  static const bool is_ready = [] {
    xmlInitParser();
    return true;
  }();
  static_cast<void>(is_ready);
  parser_ = htmlNewParserCtxt();
  if (parser_ == nullptr) return {};
  *parser_->sax = {};
  parser_->sax->initialized = XML_SAX2_MAGIC;
  parser_->sax->startElement = on_start;
  parser_->sax->endElement = on_end;
  parser_->sax->characters = on_text;
  parser_->sax->ignorableWhitespace = on_text;
  parser_->sax->serror = on_fault;
  parser_->userData = this;
  int options = HTML_PARSE_RECOVER | HTML_PARSE_NONET | HTML_PARSE_IGNORE_ENC;
  left_ = html;
  htmlCtxtReadIO(parser_, on_read, nullptr, this, nullptr, "UTF-8", options);
  htmlFreeParserCtxt(parser_);
  PageText page;
  page.title = title_.take();
  page.content = text_.take();
  page.truncated = truncated_;
  return page;
}

}  // namespace

PageText html_to_text(std::string_view html, HtmlLimits limits) {
  PageText page = Reader(limits).read(html);
  cut_to_characters(page.title, title_chars_max);
  return page;
}

}  // namespace hostler::runner
