// Rules about sentences: openings, phrases, and their length in Markdown. They cover the part of
// plain English that a program can check. tests/style/prose_test.cpp counts the findings by folder
// and compares them with a baseline.
#pragma once

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

#include "tests/style/source_text.h"

namespace hostler::style {

constexpr int sentence_words_max = 25;

// Words that no comment and no sentence of a document begins with, unless it is a question.
constexpr std::array<std::string_view, 10> banned_openings = {
    "who", "whoever", "whom", "what", "whatever", "of", "nothing", "those", "as", "one that"};

// Phrases that an English-speaking engineer does not write.
constexpr std::array<std::string_view, 20> banned_phrases = {
    "whoever", "whomever", "in vain",   "is told",    "are told",     "was told",   "were told",
    "be told", "tells of", "tell of",   "told of",    "anew",         "at leisure", "nobody but",
    "is none", "are none", "behind it", "behind its", "all the same", "be it"};

// A line of a table, a heading, a fence: they end a paragraph.
inline bool is_markdown_row(std::string_view line) { return line.starts_with("|"); }

// How long the mark of a list item is: "- ", "12. "; 0: the line begins none.
inline size_t item_mark(std::string_view line) {
  if (line.starts_with("- ") || line.starts_with("* ")) return 2;
  size_t digits = 0;
  while (digits < line.size() && std::isdigit(static_cast<unsigned char>(line[digits]))) ++digits;
  return digits > 0 && line.substr(digits).starts_with(". ") ? digits + 2 : 0;
}

// Adds the cells of a row as pieces.
inline void add_cells(int line, std::string_view row, std::vector<Piece>* pieces) {
  while (!row.empty()) {
    row.remove_prefix(1);
    size_t end = std::min(row.find('|'), row.size());
    std::string cell = trimmed(row.substr(0, end));
    if (cell.find_first_not_of("-:") != cell.npos) pieces->push_back({line, cell});
    row.remove_prefix(end);
  }
}

// Paragraphs and list items of a document, and in `cells` those of its tables without their heads.
// Code is left out.
inline std::vector<Piece> paragraphs_of(const std::string& document, std::vector<Piece>* cells) {
  std::vector<Piece> pieces;
  std::vector<std::string> lines = lines_of(document);
  bool in_fence = false;
  bool goes_on = false;
  for (size_t i = 0; i < lines.size(); ++i) {
    std::string text = trimmed(lines[i]);
    int number = static_cast<int>(i) + 1;
    bool is_fence = text.starts_with("```");
    in_fence = in_fence != is_fence;
    bool is_head = i + 1 < lines.size() && trimmed(lines[i + 1]).starts_with("|--");
    bool is_paragraph = !is_fence && !in_fence && !text.empty() && !text.starts_with("#") &&
                        !text.starts_with("![") && !is_markdown_row(text);
    if (!in_fence && is_markdown_row(text) && !is_head) add_cells(number, text, cells);
    if (is_paragraph) {
      size_t mark = item_mark(text);
      if (goes_on && mark == 0) {
        pieces.back().text += " " + text;
      } else {
        pieces.push_back({number, text.substr(mark)});
      }
    }
    goes_on = is_paragraph;
  }
  return pieces;
}

// Blocks of lines that begin with the mark of a comment. Comments behind code are left to readers.
inline std::vector<Piece> comment_blocks(const std::string& source, std::string_view mark) {
  std::vector<Piece> pieces;
  int number = 0;
  bool goes_on = false;
  for (const std::string& line : lines_of(source)) {
    ++number;
    std::string text = trimmed(line);
    bool is_comment = text.starts_with(mark) && !text.starts_with("#!");
    std::string words = is_comment ? trimmed(text.substr(mark.size())) : "";
    if (goes_on && !words.empty()) {
      pieces.back().text += " " + words;
    } else if (!words.empty()) {
      pieces.push_back({number, words});
    }
    goes_on = !words.empty();
  }
  return pieces;
}

// The text without what stands in backticks and without the targets of links.
inline std::string without_code(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size();) {
    bool is_target = text.substr(i).starts_with("](");
    char closing = text[i] == '`' ? '`' : is_target ? ')' : '\0';
    size_t end = closing == '\0' ? text.npos : text.find(closing, i + 1);
    if (end == text.npos) {
      plain += text[i++];
    } else {
      plain += '`';
      i = end + 1;
    }
  }
  return plain;
}

// Sentences end at a point, question mark, colon or semicolon before a blank and a capital.
inline std::vector<std::string> sentences_of(const std::string& text) {
  std::string plain = without_code(text);
  std::vector<std::string> sentences;
  size_t begin = 0;
  for (size_t i = 0; i < plain.size(); ++i) {
    if (std::string_view(".?!:;").find(plain[i]) == std::string_view::npos) continue;
    size_t next = plain.find_first_not_of("*)\"", i + 1);
    bool is_end = next != plain.npos && plain[next] == ' ' && next + 1 < plain.size() &&
                  (std::isupper(static_cast<unsigned char>(plain[next + 1])) ||
                   std::string_view("`*\"([").find(plain[next + 1]) != std::string_view::npos);
    if (!is_end) continue;
    sentences.push_back(trimmed(plain.substr(begin, next - begin)));
    begin = next;
  }
  sentences.push_back(trimmed(plain.substr(begin)));
  return sentences;
}

// Lower case, and one blank between words and at both ends.
inline std::string words_in_line(std::string_view text) {
  std::string line = " ";
  for (size_t i = 0; i < text.size(); ++i) {
    bool joins = (text[i] == '\'' || text[i] == '-') && line.back() != ' ' && i + 1 < text.size() &&
                 is_word_char(text[i + 1]);
    if (is_word_char(text[i]) || joins) {
      line += static_cast<char>(std::tolower(static_cast<unsigned char>(text[i])));
    } else if (line.back() != ' ') {
      line += ' ';
    }
  }
  if (line.back() != ' ') line += ' ';
  return line;
}

inline void check_opening(const SourceFile& file, int line, const std::string& sentence,
                          Findings* findings) {
  if (sentence.ends_with("?") || sentence.starts_with("`") || sentence.starts_with("\"")) return;
  std::string words = words_in_line(sentence);
  for (std::string_view opening : banned_openings) {
    if (words.starts_with(" " + std::string(opening) + " "))
      findings->push_back({file.path, line, "begins with \"" + std::string(opening) + "\""});
  }
}

inline void check_phrases(const SourceFile& file, const Piece& piece, Findings* findings) {
  std::string words = words_in_line(without_code(piece.text));
  for (std::string_view phrase : banned_phrases) {
    if (words.find(" " + std::string(phrase) + " ") != words.npos)
      findings->push_back({file.path, piece.line, "\"" + std::string(phrase) + "\""});
  }
}

inline void check_lengths(const SourceFile& file, const Piece& piece, Findings* findings) {
  for (const std::string& sentence : sentences_of(piece.text)) {
    std::string words = words_in_line(sentence);
    int count = static_cast<int>(std::count(words.begin(), words.end(), ' ')) - 1;
    if (count > sentence_words_max)
      findings->push_back({file.path, piece.line, std::to_string(count) + " words"});
  }
}

// Text lines of a man page; requests and literal blocks are no sentences.
inline std::vector<Piece> lines_of_manual(const std::string& page) {
  std::vector<Piece> pieces;
  int number = 0;
  bool is_literal = false;
  for (const std::string& line : lines_of(page)) {
    ++number;
    if (line.starts_with(".Bd")) is_literal = true;
    if (line.starts_with(".Ed")) is_literal = false;
    if (!is_literal && !line.starts_with(".") && !line.empty()) pieces.push_back({number, line});
  }
  return pieces;
}

// Cells are parts of sentences, so only their phrases and lengths are checked.
inline Findings document_findings(const SourceFile& file) {
  Findings findings;
  std::vector<Piece> cells;
  std::vector<Piece> paragraphs = paragraphs_of(file.text, &cells);
  for (const Piece& piece : paragraphs) {
    for (const std::string& sentence : sentences_of(piece.text))
      check_opening(file, piece.line, sentence, &findings);
  }
  for (const std::vector<Piece>& pieces : {paragraphs, cells}) {
    for (const Piece& piece : pieces) {
      check_phrases(file, piece, &findings);
      check_lengths(file, piece, &findings);
    }
  }
  return findings;
}

inline Findings comment_findings(const SourceFile& file) {
  Findings findings;
  std::string_view mark = "#";
  if (is_cpp(file.path) || file.path.ends_with(".mjs")) mark = "//";
  if (file.path.ends_with(".sql")) mark = "--";
  for (const Piece& block : comment_blocks(file.text, mark)) {
    check_opening(file, block.line, block.text, &findings);
    check_phrases(file, block, &findings);
  }
  return findings;
}

inline Findings phrase_findings(const SourceFile& file, const std::vector<Piece>& pieces) {
  Findings findings;
  for (const Piece& piece : pieces) check_phrases(file, piece, &findings);
  return findings;
}

inline Findings prose_findings(const SourceFile& file) {
  bool is_made = file.path == "docs/api.md" || file.path == "sql/schema.txt" ||
                 file.path.ends_with(".json") || file.path.starts_with("tests/fuzz/corpus");
  if (is_made) return {};
  if (file.path.ends_with(".md")) return document_findings(file);
  if (file.path.starts_with("docs/man/")) return phrase_findings(file, lines_of_manual(file.text));
  if (file.path != "docs/openapi.yaml" && !file.path.starts_with("console/words/"))
    return comment_findings(file);
  std::vector<Piece> lines;
  for (const std::string& line : lines_of(file.text))
    lines.push_back({static_cast<int>(lines.size()) + 1, line});
  return phrase_findings(file, lines);
}

}  // namespace hostler::style
