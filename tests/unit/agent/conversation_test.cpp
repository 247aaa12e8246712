// Tests the model's input: inside its budget, and in a form that both wire forms' servers accept.
// It is checked by the fake model's reader of requests, which refuses what OpenAI and Anthropic
// refuse.
#include "runner/agent/conversation.h"
#include "lib/utf8.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

#include <fmt/format.h>

#include "dev/fake-model/chat.h"
#include "runner/agent/run_parts.h"
#include "runner/models/anthropic.h"
#include "runner/models/openai.h"

namespace hostler::runner {
namespace {

// Returns what a server of this form says against the messages; empty: it takes them.
std::string refusal_of(const std::vector<ChatMessage>& messages, ProviderKind kind,
                       std::vector<ToolDefinition> tools = {}) {
  ModelRequest request;
  request.endpoint = {kind, "", "", "m", false};
  request.messages = messages;
  request.tools = std::move(tools);
  bool is_openai = kind == ProviderKind::openai;
  std::string body = is_openai ? openai_request(request).body : anthropic_request(request).body;
  std::unique_ptr<fake_model::WireForm> form =
      is_openai ? fake_model::make_openai_form() : fake_model::make_anthropic_form();
  std::optional<Json> parsed = parse_json_or_nothing(body);
  if (!parsed) return "no JSON";
  std::variant<fake_model::ChatRequest, fake_model::Refusal> read = form->read(*parsed);
  const fake_model::Refusal* refusal = std::get_if<fake_model::Refusal>(&read);
  return refusal == nullptr ? "" : refusal->message;
}

std::string refusals_of(const std::vector<ChatMessage>& messages) {
  std::string openai = refusal_of(messages, ProviderKind::openai);
  return openai.empty() ? refusal_of(messages, ProviderKind::anthropic) : openai;
}

size_t bytes_of(const std::vector<ChatMessage>& messages) {
  size_t bytes = 0;
  for (const ChatMessage& message : messages) bytes += Exchange{message, {}}.bytes();
  return bytes;
}

class RandomRun {
 public:
  explicit RandomRun(unsigned seed) : random_(seed) {}

  // A run somewhere in its life: all sizes, several calls a turn, odd names and arguments, results
  // that were lost, a persona that lost its tools.
  RunParts make() {
    RunParts parts;
    if (chance(2)) parts.system_prompt = text();
    for (size_t i = 0, count = 1 + pick(12); i < count; ++i) {
      if (chance(5)) add_given_calls(parts.history, i);
      ChatMessage message(chance(2) ? ChatRole::user : ChatRole::assistant, text());
      parts.history.push_back(std::move(message));
    }
    if (chance(5)) add_given_calls(parts.history, 100);
    for (int turn = 1, turns = static_cast<int>(pick(8)); turn <= turns; ++turn) add(parts, turn);
    parts.history_bytes = static_cast<int64_t>(pick(6000));
    return parts;
  }
  size_t pick(size_t below) { return below == 0 ? 0 : random_() % below; }

 private:
  bool chance(size_t of) { return pick(of) == 0; }
  std::string text() {
    constexpr std::string_view spaces[] = {" ", "\n\n", ""};
    if (chance(6)) return std::string(spaces[pick(3)]);
    std::string made;
    for (size_t words = pick(chance(4) ? 400 : 20); words > 0; --words) made += "wörd ";
    return made + "end";
  }
  // Calls and their results, as a history has them that was given with the run.
  void add_given_calls(std::vector<ChatMessage>& history, size_t number) {
    ChatMessage answer(ChatRole::assistant, text());
    size_t calls = 1 + pick(3);
    for (size_t i = 0; i < calls; ++i) {
      answer.parts.emplace_back(ToolCall{fmt::format("given_{}_{}", number, i), "lookup", "{}"});
    }
    history.push_back(std::move(answer));
    for (size_t i = 0; i < calls; ++i) {
      history.emplace_back(ChatRole::tool, text()).tool_call_id =
          fmt::format("given_{}_{}", number, i);
    }
  }
  void add(RunParts& parts, int number) {
    constexpr const char* names[] = {"web_search", "ask_user", "functions.web fetch", "", "größe"};
    constexpr const char* arguments[] = {"{}", R"({"query":"x"})", "oops", "[1]", "\"text\""};
    FinishedTurn turn;
    turn.turn = number;
    turn.parts = parts_of(text(), {});
    for (size_t i = 0, calls = 1 + pick(4); i < calls; ++i) {
      ToolCall call{fmt::format("call_{}_{}", number, i), names[pick(5)], arguments[pick(5)]};
      bool is_lost = chance(20);
      if (!is_lost) parts.results[{number, call.id}] = {call.name, text()};
      turn.parts.emplace_back(std::move(call));
    }
    parts.turns.push_back(std::move(turn));
  }
  std::minstd_rand random_;
};

// Returns what must be there whatever the budget: prompt, question, the newest exchange with its
// results cut.
size_t min_bytes(const RunParts& parts) {
  size_t bytes = parts.system_prompt.size();
  for (size_t i = parts.history.size(); i-- > 0;) {
    bytes += Exchange{parts.history[i], {}}.bytes();
    if (parts.history[i].role != ChatRole::tool) break;
  }
  if (!parts.history.empty()) bytes += std::string_view("(Earlier messages are left out.)").size();
  if (parts.turns.empty()) return bytes;
  const FinishedTurn& newest = parts.turns.back();
  bytes += newest.text().size();
  for (const ToolCall& call : newest.calls()) {
    bytes += 2 * call.id.size() + call.name.size() + call.arguments.size() + 120;
  }
  return bytes;
}

TEST(Conversation, IsTakenByBothFormsWhateverTheRunHasBehindIt) {
  unsigned seed = std::random_device{}();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  RandomRun random(seed);
  for (int i = 0; i < 3000; ++i) {
    RunParts parts = random.make();
    std::vector<ChatMessage> messages = parts.messages();
    ASSERT_EQ(refusals_of(messages), "") << "run " << i;
    size_t max = std::max(static_cast<size_t>(parts.history_bytes), min_bytes(parts));
    ASSERT_LE(bytes_of(messages), max) << "run " << i;
  }
}

// The reader does not accept everything: a call that lost its result, a result that lost its call,
// and what a cut by bytes alone would do, are refused.
TEST(Conversation, IsRefusedWhenCallsAndResultsAreParted) {
  RandomRun random(7);
  int parted = 0;
  for (int i = 0; i < 300; ++i) {
    std::vector<ChatMessage> messages = random.make().messages();
    for (size_t at = 0; at < messages.size(); ++at) {
      bool is_call = has_calls(messages[at].parts);
      if (!is_call && messages[at].role != ChatRole::tool) continue;
      std::vector<ChatMessage> less = messages;
      less.erase(less.begin() + static_cast<ptrdiff_t>(at));
      for (ProviderKind kind : {ProviderKind::openai, ProviderKind::anthropic}) {
        ASSERT_NE(refusal_of(less, kind), "") << "run " << i << " without message " << at;
      }
      ++parted;
    }
  }
  EXPECT_GT(parted, 1000);
}

ChatMessage answer(std::string_view id, const std::string& text = "") {
  ChatMessage message(ChatRole::assistant, parts_of(text, {{std::string(id), "f", "{}"}}));
  return message;
}
ChatMessage result(std::string_view id, size_t bytes) {
  ChatMessage message(ChatRole::tool, std::string(bytes, 'r'));
  message.tool_call_id = id;
  return message;
}
std::vector<Exchange> three_exchanges(size_t bytes) {
  std::vector<Exchange> exchanges;
  for (std::string_view id : {"a", "b", "c"})
    exchanges.push_back({answer(id), {result(id, bytes)}});
  return exchanges;
}

TEST(Conversation, LosesOldResultsBeforeOldCallsAndHistoryBeforeBoth) {
  std::vector<ChatMessage> history{{ChatRole::user, std::string(2000, 'q')},
                                   {ChatRole::user, "and?"}};
  auto reported = [&](int64_t bytes_max) {
    std::string roles;
    for (const ChatMessage& message :
         fitted_messages("", history, three_exchanges(1000), bytes_max)) {
      bool is_note = message.text().find("left out") != std::string::npos;
      bool is_cut = message.text().find("(cut:") != std::string::npos;
      roles += message.role == ChatRole::user        ? 'u'
               : message.role == ChatRole::assistant ? 'c'
                                                     : 'r';
      if (is_note || is_cut) roles += is_note ? '-' : '~';
    }
    return roles;
  };
  EXPECT_EQ(reported(10'000), "uucrcrcr");
  EXPECT_EQ(reported(5'000), "ucrcrcr");
  EXPECT_EQ(reported(3'300), "ucrcrcr");
  EXPECT_EQ(reported(2'500), "ucr-cr-cr");
  EXPECT_EQ(reported(1'500), "ucr-cr-cr");
  EXPECT_EQ(reported(1'050), "ucr-cr-cr~");
  EXPECT_EQ(reported(500), "ucr-cr-cr~");
  EXPECT_EQ(reported(200), "ucr-cr~");
  EXPECT_EQ(reported(0), "ucr~");
}

// Returns what is sent with each turn, as its provider would compare it.
std::string sent(const std::vector<ChatMessage>& messages) {
  std::string all;
  for (const ChatMessage& message : messages) {
    all += fmt::format("{}|{}|{}|{}\n", static_cast<int>(message.role), message.text(),
                       message.tool_call_id, parts_json(message.parts));
  }
  return all;
}

TEST(Conversation, IsToldAgainAsItWasAndGoesOn) {
  RandomRun random(11);
  int changed = 0;
  int turns = 0;
  for (int i = 0; i < 300; ++i) {
    RunParts whole = random.make();
    whole.history_bytes = 40'000;
    RunParts parts = whole;
    parts.turns.clear();
    std::string before = sent(parts.messages());
    for (const FinishedTurn& turn : whole.turns) {
      parts.turns.push_back(turn);
      std::string now = sent(parts.messages());
      changed += now.starts_with(before) ? 0 : 1;
      ++turns;
      before = now;
    }
  }
  EXPECT_GT(turns, 500);
  EXPECT_EQ(changed, 0) << "all of it fits";
}

TEST(Conversation, IsRarelyToldAnotherWayWhenItIsOverTheBudget) {
  std::vector<ChatMessage> history;
  for (int i = 0; i < 40; ++i) {
    ChatRole role = i % 2 == 0 ? ChatRole::user : ChatRole::assistant;
    history.push_back({role, fmt::format("{} {}", i, std::string(1000, 'h'))});
  }
  std::vector<Exchange> exchanges;
  std::string before;
  int changed = 0;
  for (int turn = 0; turn < 40; ++turn) {
    std::vector<ChatMessage> messages = fitted_messages("prompt", history, exchanges, 40'000);
    ASSERT_LE(bytes_of(messages), 40'000u);
    changed += sent(messages).starts_with(before) ? 0 : 1;
    before = sent(messages);
    std::string id = fmt::format("call{}", turn);
    exchanges.push_back({answer(id), {result(id, 1000)}});
  }
  EXPECT_LE(changed, 5) << "of 40 turns, each a fortieth of the budget";
  EXPECT_GE(changed, 1);
}

// The histories of a thread's runs, each two messages longer than the one before.
TEST(Conversation, OfALongThreadMostlyBeginsWhereThatOfTheRunBeforeBegan) {
  std::vector<ChatMessage> history;
  std::string before;
  int changed = 0;
  for (int run = 0; run < 200; ++run) {
    history.push_back({ChatRole::user, fmt::format("{} {}", run, std::string(500, 'q'))});
    std::vector<ChatMessage> messages = fitted_messages("prompt", history, {}, 20'000);
    ASSERT_LE(bytes_of(messages), 20'000u);
    ASSERT_GE(bytes_of(messages), std::min<size_t>(6'000, bytes_of(history))) << run;
    changed += sent(messages).starts_with(before) ? 0 : 1;
    before = sent(messages);
    history.push_back({ChatRole::assistant, fmt::format("{} {}", run, std::string(500, 'a'))});
  }
  EXPECT_LE(changed, 60);
  EXPECT_GE(changed, 5);
}

TEST(Conversation, OfMoreMessagesThanAreReadBeginsWhereThatOfTheRunBeforeBegan) {
  std::vector<ChatMessage> all;
  for (int i = 0; i < 1600; ++i) all.push_back({ChatRole::user, std::to_string(i)});
  std::string before;
  int changed = 0;
  for (size_t end = history_messages_max; end <= all.size(); end += 2) {
    std::vector<ChatMessage> read(all.begin() + static_cast<ptrdiff_t>(end - history_messages_max),
                                  all.begin() + static_cast<ptrdiff_t>(end));
    std::string now = sent(fitted_messages("", read, {}, 1'000'000));
    changed += now.starts_with(before) ? 0 : 1;
    before = now;
  }
  EXPECT_LE(changed, 20) << "of 300";
}

// A history that was given whole is not: however many messages it has, all that fit are sent.
TEST(Conversation, OfAGivenHistoryIsToldHoweverManyMessagesItHas) {
  RunParts parts;
  parts.history_bytes = 1'000'000;
  parts.history_messages = std::numeric_limits<size_t>::max();
  for (int i = 0; i < 5000; ++i) parts.history.push_back({ChatRole::user, std::to_string(i)});
  EXPECT_EQ(parts.messages().size(), 5000u);
  parts.history_bytes = 10'000;
  EXPECT_LE(bytes_of(parts.messages()), 10'000u);
  EXPECT_GE(bytes_of(parts.messages()), 3'000u);
}

TEST(Conversation, KeepsTheSystemsTextsOfWhatItLeavesOut) {
  std::vector<ChatMessage> history{{ChatRole::user, std::string(2000, 'q')},
                                   {ChatRole::system, "In French."},
                                   {ChatRole::assistant, std::string(2000, 'a')},
                                   {ChatRole::user, "and?"},
                                   {ChatRole::system, "In German."}};
  auto kept = [&](int64_t bytes_max) {
    std::vector<ChatMessage> messages = fitted_messages("prompt", history, {}, bytes_max);
    EXPECT_LE(bytes_of(messages), static_cast<size_t>(bytes_max));
    EXPECT_EQ(refusals_of(messages), "");
    std::string texts;
    for (const ChatMessage& message : messages) texts += message.text().substr(0, 10) + "|";
    return texts;
  };
  EXPECT_EQ(kept(10'000), "prompt|qqqqqqqqqq|In French.|aaaaaaaaaa|and?|In German.|");
  EXPECT_EQ(kept(500), "prompt|In French.|and?|In German.|");
}

TEST(Conversation, CutsTheLongestResultsOfTheNewestTurn) {
  Exchange newest{answer("a"), {result("a", 4000), result("b", 100), result("c", 3000)}};
  newest.answer.parts.emplace_back(ToolCall{"b", "f", "{}"});
  newest.answer.parts.emplace_back(ToolCall{"c", "f", "{}"});
  std::vector<ChatMessage> messages = fitted_messages("", {}, {newest}, 2000);
  ASSERT_EQ(messages.size(), 4u);
  EXPECT_EQ(messages[2].text().size(), 100u) << "the short one is whole";
  EXPECT_LE(bytes_of(messages), 2000u);
  EXPECT_GT(messages[1].text().size(), 800u);
  EXPECT_GT(messages[3].text().size(), 800u);
}

TEST(Conversation, CutsAtTheBoundsOfCharacters) {
  Exchange newest{answer("a"), {result("a", 0)}};
  for (int i = 0; i < 500; ++i) newest.results[0].first_text() += "世";
  for (int64_t bytes_max = 60; bytes_max < 80; ++bytes_max) {
    std::vector<ChatMessage> messages = fitted_messages("", {}, {newest}, bytes_max);
    EXPECT_TRUE(is_utf8(messages[1].text())) << bytes_max;
  }
}

TEST(PackedHistory, IsReadOldestFirstWhateverTheTextsHold) {
  std::optional<std::vector<ChatMessage>> history = history_of("a6:u3:x\xc3\xa9u0:t4:1:2\n");
  ASSERT_TRUE(history);
  ASSERT_EQ(history->size(), 3U);
  EXPECT_EQ(history->at(0).text(), "1:2\n");
  EXPECT_EQ(history->at(0).role, ChatRole::user);
  EXPECT_EQ(history->at(1).text(), "");
  EXPECT_EQ(history->at(2).text(), "u3:x\xc3\xa9");
  EXPECT_EQ(history->at(2).role, ChatRole::assistant);
  EXPECT_TRUE(history_of("")->empty());
}

TEST(PackedHistory, IsRefusedWhenItIsCut) {
  for (const char* cut : {"a", "a5", "a5:", "a5:hell", "x:hello", "a-1:h", "a5:helloX"}) {
    EXPECT_FALSE(history_of(std::string_view(cut))) << cut;
  }
}

}  // namespace
}  // namespace hostler::runner
