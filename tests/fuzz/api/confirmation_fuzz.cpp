// Answers to confirmations: only what is one of the words, or strict JSON that says so, decides.
#include "fcgi/api/runs/confirmation.h"

#include "lib/json.h"
#include "lib/utf8.h"
#include "tests/fuzz/target.h"
#include "tests/fuzz/targets.h"

namespace hostler::fuzz {

void confirmation(std::string_view input) {
  Confirmation read = read_confirmation(input);
  require(read.decision.has_value() != read.fault.has_value(),
          "a fault says why there is no decision");
  require(read.json_fault.has_value() == (read.fault == "json"), "with what is wrong with JSON");
  require(!read.json_fault || is_utf8(read.json_fault->message), "which can be shown");
  require(read.member.has_value() == (read.fault == "member"), "or the member that is foreign");
  require(!read.member || is_utf8(*read.member), "which can be shown, too");
  if (!read.decision) {
    require(!read.arguments && !read.reason, "without a decision nothing else is read");
    return;
  }
  require(read.decision == "approve" || read.decision == "deny", "there are two decisions");
  std::optional<Json> json = parse_json_or_nothing(input);
  if (json) {
    require(json->text_or("decision") == *read.decision, "JSON says its decision");
    require(!read.reason || json->text_or("reason") == *read.reason, "and its reason");
    size_t known = 1 + (read.arguments ? 1 : 0) + (read.reason ? 1 : 0);
    require(json->as_object()->size() == known, "and nothing that was passed over");
  } else {
    require(input.size() >= read.decision->size() && input.find('{') == input.npos, "else a word");
    require(!read.arguments && !read.reason, "which says nothing else");
  }
  if (!read.arguments) return;
  require(read.decision == "approve", "what is denied has no arguments");
  std::optional<Json> arguments = parse_json_or_nothing(*read.arguments);
  require(arguments && arguments->is_object(), "arguments are an object");
  require(arguments->dump() == *read.arguments, "and read the same by whoever reads them");
}

}  // namespace hostler::fuzz
