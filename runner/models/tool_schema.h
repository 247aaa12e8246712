// Tools in a form that models' providers take. A provider checks the JSON Schema of every tool and
// refuses the whole request for one that it does not like, so each schema is made fit before it is
// sent. Only the model reads the fitted form: arguments are checked by the original. Pure; the same
// text always gives the same text, so that callers may keep it, and prompts keep their prefix.
//
// Fitted forms, and the providers that refuse the original according to public reports:
//   anyOf, oneOf, allOf, enum, not at the root    OpenAI, Azure, Anthropic, Bedrock, Moonshot
//   a root without type object, or with null      OpenAI, Azure, Anthropic
//   an object without properties                  OpenAI, Azure, LM Studio, Gemini
//   required names without properties             Groq, Gemini
//   an array without items, a list as items       OpenAI, Azure, Gemini
//   names of properties beyond letters, digits, _ . - and 64     Anthropic, Bedrock (at the root)
//   $schema and $id                               Mistral, Gemini
//   const; $ref with keywords beside it           Gemini; Moonshot
//   $refs that lead nowhere, or not into $defs    OpenAI, Anthropic
//   true and false as schemas, null as a keyword's value, types and bounds of older drafts,
//   [] in the place of {}                         all that check by draft 2020-12
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runner/models/model.h"

namespace hostler {

struct FittedSchema {
  std::string schema;  // JSON text; what fits already is the given text, byte for byte
  std::string note;    // for the description: what the fitted form cannot say; mostly empty
};

struct SchemaRefusal {
  std::string reason;  // why no schema that fits means this, in a sentence
};

std::variant<FittedSchema, SchemaRefusal> fit_schema(ProviderKind kind, std::string_view schema);

struct LeftOutTool {
  std::string name;
  std::string reason;
};

struct FittedTools {
  std::vector<ToolDefinition> fitted;  // in the given order
  std::vector<LeftOutTool> left_out;
};

// Costs as much as parsing and writing the schemas: for use once a run, or where the tools change.
FittedTools fit_tools(ProviderKind kind, std::vector<ToolDefinition> tools);

}  // namespace hostler
