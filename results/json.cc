// SPDX-License-Identifier: GPL-2.0-or-later
#include "results/json.h"

#include <cstring>

#include "text/put.h"

namespace stag::results {
namespace {

// Appends the name of a member, which needs no escapes, with what separates it from the member before.
void PutName(std::string& out, std::string_view name, bool& first) {
  const size_t start = out.size();
  out.resize(start + name.size() + 4);
  char* to = out.data() + start;
  if (!first) *to++ = ',';
  *to++ = '"';
  std::memcpy(to, name.data(), name.size());
  std::memcpy(to + name.size(), "\":", 2);
  if (first) out.pop_back();
  first = false;
}

void PutQuoted(std::string& out, const auto& put) {
  out.push_back('"');
  put();
  out.push_back('"');
}

void PutMembers(std::string& out, const void* row, const RecordInfo& info, bool first) {
  ForEachMember(row, info, [&](const MemberInfo& member, const Value& value) {
    if (value.kind() == Kind::kAbsent) return;
    PutName(out, member.name, first);
    PutValue(out, value);
  });
}

}  // namespace

void PutValue(std::string& out, const Value& value) {
  switch (value.kind()) {
    case Kind::kAbsent:
    case Kind::kNull: out.append("null", 4); break;
    case Kind::kBool: out.append(value.boolean() ? std::string_view("true") : std::string_view("false")); break;
    case Kind::kUnsigned: PutNumber(out, value.number()); break;
    case Kind::kSigned: PutSigned(out, value.signed_number()); break;
    case Kind::kDecimal: stag::Put(out, "{:.{}f}", value.real(), value.places()); break;
    case Kind::kDuration: PutThousandths(out, value.signed_number()); break;
    case Kind::kElapsed: PutBillionths(out, value.signed_number()); break;
    case Kind::kTime: PutQuoted(out, [&] { PutTime(out, value.signed_number()); }); break;
    case Kind::kXid: PutQuoted(out, [&] { PutXid(out, static_cast<uint32_t>(value.number())); }); break;
    case Kind::kText: PutJsonString(out, value.text()); break;
    case Kind::kHex: PutQuoted(out, [&] { PutHex(out, value.bytes()); }); break;
    case Kind::kRecord:
      out.push_back('{');
      PutMembers(out, value.row(), value.info(), true);
      out.push_back('}');
      break;
    case Kind::kList:
      out.push_back('[');
      for (size_t i = 0; i < value.size(); ++i) {
        if (i > 0) out.push_back(',');
        PutValue(out, value.at(i));
      }
      out.push_back(']');
      break;
    case Kind::kMap:
      out.push_back('{');
      for (size_t i = 0; i < value.size(); ++i) {
        if (i > 0) out.push_back(',');
        PutJsonString(out, value.name_at(i));
        out.push_back(':');
        PutValue(out, value.at(i));
      }
      out.push_back('}');
      break;
  }
}

void PutMembers(JsonWriter& json, const void* row, const RecordInfo& info) {
  ForEachMember(row, info, [&json](const MemberInfo& member, const Value& value) {
    if (value.kind() != Kind::kAbsent) PutValue(json.Key(member.name).RawValue(), value);
  });
}

void PutRow(std::string& out, const void* row, const RecordInfo& info, std::optional<std::string_view> file) {
  out.push_back('{');
  bool first = true;
  if (!info.type.empty()) {
    PutName(out, "type", first);
    PutJsonString(out, info.type);
  }
  if (file) {
    PutName(out, "file", first);
    PutJsonString(out, *file);
  }
  PutMembers(out, row, info, first);
  out.push_back('}');
}

}  // namespace stag::results
