// SPDX-License-Identifier: GPL-2.0-or-later
#include "results/columns.h"

#include "results/json.h"
#include "text/put.h"
#include "text/terminal.h"

namespace stag::results {
namespace {

void AddColumns(const RecordInfo& info, const std::string& prefix, std::vector<const MemberInfo*>& path,
                std::vector<Column>& columns) {
  for (const MemberInfo& member : info.members) {
    path.push_back(&member);
    const std::string name = prefix + std::string(member.name);
    if (member.type.kind == Kind::kRecord) {
      AddColumns(member.type.record(), member.name.empty() ? prefix : name + ".", path, columns);
    } else {
      columns.push_back({name, path});
    }
    path.pop_back();
  }
}

void PutCsvCell(std::string& out, std::string_view cell) {
  const std::string text = Printable(cell);
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) {
    out.append(text);
    return;
  }
  out.push_back('"');
  for (const char c : text) {
    if (c == '"') out.push_back('"');
    out.push_back(c);
  }
  out.push_back('"');
}

}  // namespace

Value Column::Of(const void* row) const {
  Value value = path.front()->get(row);
  for (size_t i = 1; i < path.size(); ++i) {
    if (!value.known()) return Value::Absent();
    value = path[i]->get(value.row());
  }
  return value;
}

std::vector<Column> ColumnsOf(const RecordInfo& info) {
  std::vector<Column> columns;
  std::vector<const MemberInfo*> path;
  AddColumns(info, "", path, columns);
  return columns;
}

void PutText(std::string& out, const Value& value, char between) {
  switch (value.kind()) {
    case Kind::kAbsent:
    case Kind::kNull: return;
    case Kind::kText: return stag::Put(out, value.text());
    case Kind::kHex: return PutHex(out, value.bytes());
    case Kind::kTime: return stag::PutTime(out, value.signed_number());
    case Kind::kList:
      for (size_t i = 0; i < value.size(); ++i) {
        if (i > 0) out.push_back(between);
        PutText(out, value.at(i), '-');
      }
      return;
    case Kind::kMap:
      for (size_t i = 0; i < value.size(); ++i) {
        if (i > 0) out.push_back(';');
        stag::Put(out, "{}=", value.name_at(i));
        PutText(out, value.at(i));
      }
      return;
    case Kind::kXid: return PutXid(out, static_cast<uint32_t>(value.number()));
    default: PutValue(out, value);
  }
}

void PutCsvHeading(std::string& out, const std::vector<Column>& columns, bool with_file) {
  if (with_file) stag::Put(out, "file,");
  std::string_view between = "";
  for (const Column& column : columns) {
    stag::Put(out, between);
    stag::Put(out, column.name);
    between = ",";
  }
  stag::Put(out, "\r\n");
}

void PutCsvLine(std::string& out, const std::vector<Column>& columns, const void* row,
                std::optional<std::string_view> file) {
  if (file) {
    PutCsvCell(out, *file);
    out.push_back(',');
  }
  std::string_view between = "";
  std::string cell;
  for (const Column& column : columns) {
    stag::Put(out, between);
    between = ",";
    cell.clear();
    PutText(cell, column.Of(row));
    PutCsvCell(out, cell);
  }
  stag::Put(out, "\r\n");
}

SortKey::SortKey(const Value& value) : known_(value.known()) {
  switch (value.kind()) {
    case Kind::kAbsent:
    case Kind::kNull: break;
    case Kind::kBool:
    case Kind::kUnsigned:
      number_ = static_cast<double>(value.number());
      exact_ = value.number();
      break;
    case Kind::kSigned:
    case Kind::kDuration:
    case Kind::kElapsed:
    case Kind::kTime:
      number_ = static_cast<double>(value.signed_number());
      exact_ = value.number() ^ (uint64_t{1} << 63);
      break;
    case Kind::kDecimal: number_ = value.real(); break;
    default: is_text_ = true; PutText(text_, value);
  }
}

bool SortKey::ComesBefore(const SortKey& other, bool reversed) const {
  if (known_ != other.known_) return known_;
  if (is_text_) return reversed ? other.text_ < text_ : text_ < other.text_;
  const SortKey &first = reversed ? other : *this, &second = reversed ? *this : other;
  return first.number_ != second.number_ ? first.number_ > second.number_ : first.exact_ > second.exact_;
}

}  // namespace stag::results
