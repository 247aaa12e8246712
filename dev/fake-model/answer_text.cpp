// The fake model's own words.
#include "dev/fake-model/answer_text.h"

#include <algorithm>
#include <array>

#include "dev/fake-model/chat_checks.h"
#include "lib/utf8.h"

namespace hostler::fake_model {
namespace {

constexpr size_t quote_bytes_max = 120;
constexpr size_t piece_bytes_max = 24;

// One line of the text, cut at a character's end.
std::string quoted(std::string_view text, size_t bytes_max) {
  std::string line(text.substr(0, bytes_max * 4));
  std::replace_if(
      line.begin(), line.end(), [](char c) { return c == '\n' || c == '\r' || c == '\t'; }, ' ');
  size_t first = line.find_first_not_of(' ');
  if (first == std::string::npos) return {};
  line.erase(0, first);
  line.erase(line.find_last_not_of(' ') + 1);
  if (line.size() <= bytes_max) return line;
  return std::string(utf8_prefix(line, bytes_max)) + "…";
}

// What the text has of images, as a sentence each; the text is what stands before the first.
std::string take_images(std::string& text) {
  std::string sentences;
  size_t first = text.find(image_mark);
  if (first == std::string::npos) return sentences;
  std::string_view rest = std::string_view(text).substr(first);
  while (!rest.empty()) {
    rest.remove_prefix(1);
    size_t end = std::min(rest.find(image_mark), rest.size());
    sentences += " I see " + std::string(rest.substr(0, end)) + ".";
    rest.remove_prefix(end);
  }
  text.resize(first);
  return sentences;
}

}  // namespace

std::string friendly_answer(const ChatRequest& request) {
  constexpr std::array<std::string_view, 4> openings = {"Good question.", "Happy to help.",
                                                        "Thank you for asking.", "Let us see."};
  std::string text = request.last_user_text;
  std::string seen = take_images(text);
  std::string quote = quoted(text, quote_bytes_max);
  if (quote.empty() && !seen.empty()) return "You showed me something." + seen;
  if (quote.empty()) return "Hello! You have not said anything yet: ask me something.";
  std::string answer(openings[hash_of(quote) % openings.size()]);
  answer += " You wrote: \"" + quote + "\"." + seen +
            " I am the fake model: I know nothing, but I stream ";
  answer += "my answer word by word as a real one would, and I follow commands in brackets. ";
  answer += "Try [words 50], or [tool web_search {\"query\": \"streaming\"}].";
  return answer;
}

std::string answer_after_tools(const ChatRequest& request) {
  if (request.tool_results.empty()) return "That is all.";
  std::string answer =
      request.tool_results.size() == 1 ? "The tool answered: " : "The tools answered: ";
  for (size_t i = 0; i < request.tool_results.size(); ++i) {
    if (i > 0) answer += " and: ";
    answer += quoted(request.tool_results[i], quote_bytes_max);
  }
  return answer + " That is all I wanted to know.";
}

std::string some_words(int64_t count) {
  constexpr std::array<std::string_view, 16> words = {
      "the", "river", "carries", "small", "boats",  "and",  "every", "boat",
      "has", "a",     "lantern", "that",  "lights", "some", "quiet", "water"};
  std::string text;
  for (int64_t i = 0; i < count; ++i) {
    if (i > 0) text += ' ';
    text += words[static_cast<size_t>(i) % words.size()];
  }
  return text + ".";
}

std::string_view next_piece(std::string_view text) {
  size_t space = text.find(' ');
  if (space < piece_bytes_max) return text.substr(0, space + 1);
  if (text.size() <= piece_bytes_max) return text;
  std::string_view piece = utf8_prefix(text, piece_bytes_max);
  return piece.empty() ? text.substr(0, piece_bytes_max) : piece;
}

}  // namespace hostler::fake_model
