// SPDX-License-Identifier: GPL-2.0-or-later
#include "results/schema.h"

#include <algorithm>

#include "text/json.h"
#include "text/put.h"

namespace stag::results {
namespace {

using File = CommandRecords::File;

constexpr std::string_view kFileDoc =
    "Name of the capture, as on the command line; standard input is \"standard input\".";

std::string_view UnitOf(const MemberInfo& member) {
  switch (member.type.kind) {
    case Kind::kDuration: return "microseconds";
    case Kind::kElapsed: return "seconds";
    default: return member.unit;
  }
}

std::string_view TypeName(Kind kind) {
  switch (kind) {
    case Kind::kBool: return "boolean";
    case Kind::kUnsigned:
    case Kind::kSigned: return "integer";
    case Kind::kDecimal:
    case Kind::kDuration:
    case Kind::kElapsed: return "number";
    case Kind::kRecord:
    case Kind::kMap: return "object";
    case Kind::kList: return "array";
    case Kind::kAbsent:
    case Kind::kNull: return "null";
    default: return "string";
  }
}

void PutObject(JsonWriter& json, const RecordInfo& info, std::string_view type, File file);

// The members of the schema of a value, without the braces.
void PutType(JsonWriter& json, const Type& type) {
  json.Key("type");
  if (type.nullable) {
    json.BeginArray().Value(TypeName(type.kind)).Value("null").EndArray();
  } else {
    json.Value(TypeName(type.kind));
  }
  switch (type.kind) {
    case Kind::kUnsigned: json.Member("minimum", 0); break;
    case Kind::kTime:
      json.Member("pattern", "^-?[0-9]{4,}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{9}Z$");
      break;
    case Kind::kXid: json.Member("pattern", "^0x[0-9a-f]{8}$"); break;
    case Kind::kHex: json.Member("pattern", "^([0-9a-f]{2})*$"); break;
    case Kind::kRecord: PutObject(json, type.record(), "", File::kNever); break;
    case Kind::kList:
      json.Key("items").BeginObject();
      PutType(json, *type.element);
      json.EndObject();
      break;
    case Kind::kMap:
      json.Key("additionalProperties").BeginObject();
      PutType(json, *type.element);
      json.EndObject();
      break;
    default: break;
  }
  if (type.words.empty()) return;
  json.Key("enum").BeginArray();
  for (const std::string_view word : type.words) json.Value(word);
  if (type.nullable) json.Value(nullptr);
  json.EndArray();
}

// Calls fn(member, required) for all members, also for those of records in the place of a member.
template <typename Fn>
void ForEachDescribed(const RecordInfo& info, const Fn& fn, bool required = true) {
  for (const MemberInfo& member : info.members) {
    if (member.name.empty()) {
      ForEachDescribed(member.type.record(), fn, required && !member.type.nullable && !member.type.omittable);
    } else {
      fn(member, required && !member.type.omittable);
    }
  }
}

// "type" stands already.
void PutObject(JsonWriter& json, const RecordInfo& info, std::string_view type, File file) {
  json.Key("properties").BeginObject();
  if (!type.empty()) json.Key("type").BeginObject().Member("const", type).EndObject();
  if (file != File::kNever)
    json.Key("file").BeginObject().Member("type", "string").Member("description", kFileDoc).EndObject();
  ForEachDescribed(info, [&json](const MemberInfo& member, bool) {
    json.Key(member.name).BeginObject();
    PutType(json, member.type);
    if (!member.doc.empty()) json.Member("description", member.doc);
    if (const std::string_view unit = UnitOf(member); !unit.empty()) json.Member("x-unit", unit);
    if (!member.replacement.empty()) json.Member("deprecated", true).Member("x-use", member.replacement);
    json.EndObject();
  });
  json.EndObject().Key("required").BeginArray();
  if (!type.empty()) json.Value("type");
  if (file == File::kAlways) json.Value("file");
  ForEachDescribed(info, [&json](const MemberInfo& member, bool required) {
    if (required) json.Value(member.name);
  });
  json.EndArray().Member("additionalProperties", false);
}

// A member as a row of a table; members of it follow as rows of their own.
void PutMarkdownRows(std::string& out, const RecordInfo& info, const std::string& prefix) {
  ForEachDescribed(info, [&](const MemberInfo& member, bool required) {
    const Type& type = member.type;
    const Type& element = type.element ? *type.element : type;
    std::string name = prefix + std::string(member.name);
    stag::Put(out, "| `{}` | {}{}{}{} | {} | ", name, type.kind == Kind::kList ? "array of " : "",
              TypeName(type.kind == Kind::kMap ? type.kind : element.kind), type.nullable ? " or null" : "",
              required ? "" : ", or left out", UnitOf(member));
    stag::Put(out, member.doc);
    for (size_t i = 0; i < type.words.size(); ++i)
      stag::Put(out, "{}`{}`", i == 0 ? (member.doc.empty() ? "" : " One of ") : ", ", type.words[i]);
    if (!type.words.empty()) out.push_back('.');
    if (!member.replacement.empty()) stag::Put(out, " Stays until 1.0; use `{}`.", member.replacement);
    stag::Put(out, " |\n");
    if (element.kind == Kind::kRecord)
      PutMarkdownRows(out, element.record(), name + (type.kind == Kind::kList ? "[]." : type.element ? ".NAME." : "."));
  });
}

}  // namespace

void PutSchema(std::string& out, std::span<const CommandRecords> commands) {
  const auto name_of = [&](const CommandRecords& command, const CommandRecords::Written& written) {
    const std::string name = fmt::format("{}{}", written.record().type, written.option);
    return commands.size() == 1 ? name : fmt::format("{}.{}", command.command, name);
  };
  JsonWriter json(out);
  json.BeginObject().Member("$schema", "https://json-schema.org/draft/2020-12/schema");
  json.Member("title", commands.size() == 1 ? fmt::format("stag {} --format jsonl", commands[0].command)
                                            : std::string("stag COMMAND --format jsonl"));
  json.Member("description", "One line of the output.").Key(commands.size() == 1 ? "oneOf" : "anyOf").BeginArray();
  for (const CommandRecords& command : commands) {
    for (const auto& written : command.records) {
      json.NewLine().BeginObject().Member("$ref", "#/$defs/" + name_of(command, written)).EndObject();
    }
  }
  json.EndArray().Key("$defs").BeginObject();
  for (const CommandRecords& command : commands) {
    for (const auto& written : command.records) {
      const RecordInfo& info = written.record();
      json.NewLine().AnyKey(name_of(command, written)).BeginObject().Member("description", info.doc);
      json.Member("type", "object");
      PutObject(json, info, info.type, written.file);
      json.EndObject();
    }
  }
  json.NewLine().EndObject().NewLine().EndObject().EndLine();
}

void PutMarkdown(std::string& out, std::span<const CommandRecords> commands) {
  for (const CommandRecords& command : commands) {
    stag::Put(out, "## stag {}\n", command.command);
    for (const auto& written : command.records) {
      const RecordInfo& info = written.record();
      stag::Put(out, "\n### `{}`{}\n\n", info.type,
                written.option.empty() ? "" : fmt::format(", with `{}`", written.option));
      stag::Put(out, info.doc);
      stag::Put(out, "\n\n| member | type | unit | |\n|---|---|---|---|\n| `type` | string | | `{}` |\n", info.type);
      if (written.file != File::kNever) {
        stag::Put(out, "| `file` | string{} | | {} |\n", written.file == File::kAlways ? "" : ", or left out",
                  kFileDoc);
      }
      PutMarkdownRows(out, info, "");
    }
    out.push_back('\n');
  }
}

}  // namespace stag::results
