// SPDX-License-Identifier: GPL-2.0-or-later
#include "results/json.h"

namespace stag::results {

void PutValue(JsonWriter& json, const Value& value) {
  switch (value.kind()) {
    case Kind::kAbsent:
    case Kind::kNull: json.Value(nullptr); break;
    case Kind::kBool: json.Value(value.boolean()); break;
    case Kind::kUnsigned: json.Value(value.number()); break;
    case Kind::kSigned: json.Value(value.signed_number()); break;
    case Kind::kDecimal: json.Fixed(value.real(), value.places()); break;
    case Kind::kDuration: json.Thousandths(value.signed_number()); break;
    case Kind::kElapsed: json.Billionths(value.signed_number()); break;
    case Kind::kTime: json.Time(value.signed_number()); break;
    case Kind::kXid: json.Xid(static_cast<uint32_t>(value.number())); break;
    case Kind::kText: json.Value(value.text()); break;
    case Kind::kHex: json.Hex(value.bytes()); break;
    case Kind::kRecord:
      json.BeginObject();
      PutMembers(json, value.row(), value.info());
      json.EndObject();
      break;
    case Kind::kList:
      json.BeginArray();
      for (size_t i = 0; i < value.size(); ++i) PutValue(json, value.at(i));
      json.EndArray();
      break;
    case Kind::kMap:
      json.BeginObject();
      for (size_t i = 0; i < value.size(); ++i) PutValue(json.AnyKey(value.name_at(i)), value.at(i));
      json.EndObject();
      break;
  }
}

void PutMembers(JsonWriter& json, const void* row, const RecordInfo& info) {
  ForEachMember(row, info, [&json](const MemberInfo& member, const Value& value) {
    if (value.kind() == Kind::kAbsent) return;
    json.Key(member.name);
    PutValue(json, value);
  });
}

void PutRow(JsonWriter& json, const void* row, const RecordInfo& info, std::optional<std::string_view> file) {
  json.BeginObject().Member("type", info.type);
  if (file) json.Member("file", *file);
  PutMembers(json, row, info);
  json.EndObject();
}

}  // namespace stag::results
