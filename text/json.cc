// SPDX-License-Identifier: GPL-2.0-or-later
#include "text/json.h"

#include <array>
#include <cstring>

#include "protocol/base/check.h"
#define RAPIDJSON_ASSERT(condition) STAG_CHECK(condition)
#include <rapidjson/writer.h>

#include "text/put.h"
#include "text/utf8.h"

namespace stag {
namespace {

// A RapidJSON stream.
class StringStream {
 public:
  using Ch = char;
  explicit StringStream(std::string& out) : out_(out) {}
  void Put(char c) { out_.push_back(c); }
  void Flush() {}

 private:
  std::string& out_;
};

// "\u202e": a control of up to three bytes of UTF-8 (IsControl).
std::string Escape(std::string_view control) {
  uint32_t code = 0;
  for (const char ch : control) {
    const auto c = static_cast<unsigned char>(ch);
    code = c < 0x80 ? c : c >= 0xe0 ? c & 0x0fu : c >= 0xc0 ? c & 0x1fu : code << 6 | (c & 0x3fu);
  }
  return fmt::format("\\u{:04x}", code);
}

// Characters of a JSON string that stand as they are.
constexpr auto kPlain = [] {
  std::array<bool, 256> plain{};
  for (size_t c = 0x20; c < 0x7f; ++c) plain[c] = c != '"' && c != '\\';
  return plain;
}();

// The contents of a JSON string. RapidJSON can only refuse bytes that are not UTF-8, so this is done here.
void PutEscaped(std::string& out, std::string_view text) {
  size_t plain = 0;  // bytes at the start of `text` that stand as they are
  const auto put = [&](std::string_view replacement, size_t replaced) {
    out.append(text.substr(0, plain)).append(replacement);
    text.remove_prefix(plain + replaced);
    plain = 0;
  };
  for (;;) {
    while (plain < text.size() && kPlain[static_cast<unsigned char>(text[plain])]) ++plain;
    if (plain == text.size()) break;
    const auto ch = static_cast<unsigned char>(text[plain]);
    if (ch >= 0x80) {
      if (const size_t length = Utf8Length(text.substr(plain))) {
        const std::string_view character = text.substr(plain, length);
        IsControl(character) ? put(Escape(character), length) : void(plain += length);
      } else {
        put(kReplacementCharacter, 1);
      }
    } else if (ch == '"') {
      put("\\\"", 1);
    } else if (ch == '\\') {
      put("\\\\", 1);
    } else if (ch == '\n') {
      put("\\n", 1);
    } else if (ch == '\t') {
      put("\\t", 1);
    } else {
      put(Escape(text.substr(plain, 1)), 1);
    }
  }
  out.append(text);
}

}  // namespace

void PutJsonString(std::string& out, std::string_view text) {
  out.push_back('"');
  PutEscaped(out, text);
  out.push_back('"');
}

// RapidJSON's writer sets commas and colons, and checks that keys and values take turns and that all is closed. It
// writes values one character after the other; ours are appended as a whole.
class JsonWriter::Structure : public rapidjson::Writer<StringStream> {
 public:
  explicit Structure(std::string& out) : out_(out), stream_(out) { Reset(stream_); }

  // What comes before a value of ours; the string's owner appends the value.
  void Before(rapidjson::Type type) {
    Prefix(type);
    if (new_line_) out_.push_back('\n');
    new_line_ = false;
  }
  void Begin(bool array) {
    Before(array ? rapidjson::kArrayType : rapidjson::kObjectType);
    new (level_stack_.template Push<Level>()) Level(array);
    out_.push_back(array ? '[' : '{');
  }
  void NewLine() { new_line_ = true; }
  void BeforeEnd() {
    if (new_line_) out_.push_back('\n');
    new_line_ = false;
  }
  void Restart() {
    STAG_CHECK(IsComplete());
    Reset(stream_);
  }

 private:
  std::string& out_;
  StringStream stream_;
  bool new_line_ = false;
};

JsonWriter::JsonWriter(std::string& out) : out_(out), structure_(std::make_unique<Structure>(out)) {}
JsonWriter::~JsonWriter() = default;

JsonWriter& JsonWriter::BeginObject() { return structure_->Begin(false), *this; }
JsonWriter& JsonWriter::BeginArray() { return structure_->Begin(true), *this; }
JsonWriter& JsonWriter::EndObject() { return structure_->BeforeEnd(), structure_->EndObject(), *this; }
JsonWriter& JsonWriter::EndArray() { return structure_->BeforeEnd(), structure_->EndArray(), *this; }

JsonWriter& JsonWriter::Key(std::string_view key) {
  structure_->Before(rapidjson::kStringType);
  const size_t start = out_.size();
  out_.resize(start + key.size() + 2);
  char* const to = out_.data() + start;
  to[0] = '"';
  std::memcpy(to + 1, key.data(), key.size());
  to[key.size() + 1] = '"';
  return *this;
}

JsonWriter& JsonWriter::AnyKey(std::string_view key) { return Value(key); }

JsonWriter& JsonWriter::Value(std::string_view text) {
  structure_->Before(rapidjson::kStringType);
  PutJsonString(out_, text);
  return *this;
}

JsonWriter& JsonWriter::Value(bool value) {
  structure_->Before(value ? rapidjson::kTrueType : rapidjson::kFalseType);
  out_.append(value ? std::string_view("true") : std::string_view("false"));
  return *this;
}

JsonWriter& JsonWriter::Value(std::nullptr_t) {
  structure_->Before(rapidjson::kNullType);
  out_.append("null", 4);
  return *this;
}

JsonWriter& JsonWriter::Unsigned(uint64_t value) {
  structure_->Before(rapidjson::kNumberType);
  PutNumber(out_, value);
  return *this;
}

JsonWriter& JsonWriter::Signed(int64_t value) {
  structure_->Before(rapidjson::kNumberType);
  PutSigned(out_, value);
  return *this;
}

JsonWriter& JsonWriter::Fixed(double value, int decimals) {
  structure_->Before(rapidjson::kNumberType);
  Put(out_, "{:.{}f}", value, decimals);
  return *this;
}

JsonWriter& JsonWriter::Thousandths(int64_t value) {
  structure_->Before(rapidjson::kNumberType);
  PutThousandths(out_, value);
  return *this;
}

JsonWriter& JsonWriter::Billionths(int64_t value) {
  structure_->Before(rapidjson::kNumberType);
  PutBillionths(out_, value);
  return *this;
}

JsonWriter& JsonWriter::Hex(Bytes bytes) {
  structure_->Before(rapidjson::kStringType);
  out_.push_back('"');
  PutHex(out_, bytes);
  out_.push_back('"');
  return *this;
}

JsonWriter& JsonWriter::Xid(std::optional<uint32_t> xid) {
  if (!xid) return Value(nullptr);
  structure_->Before(rapidjson::kStringType);
  out_.push_back('"');
  PutXid(out_, *xid);
  out_.push_back('"');
  return *this;
}

JsonWriter& JsonWriter::Time(int64_t time_ns) {
  structure_->Before(rapidjson::kStringType);
  out_.push_back('"');
  PutTime(out_, time_ns);
  out_.push_back('"');
  return *this;
}

JsonWriter& JsonWriter::Raw(std::string_view json) {
  RawValue().append(json);
  return *this;
}

std::string& JsonWriter::RawValue() {
  structure_->Before(rapidjson::kObjectType);
  return out_;
}

void JsonWriter::EndLine() {
  structure_->Restart();
  out_.push_back('\n');
}

JsonWriter& JsonWriter::NewLine() { return structure_->NewLine(), *this; }

}  // namespace stag
