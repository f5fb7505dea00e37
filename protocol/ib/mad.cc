// SPDX-License-Identifier: GPL-2.0-or-later
#include "protocol/ib/mad.h"

#include "protocol/base/cursor.h"
#include "protocol/base/writer.h"

namespace stag::ib {

Mad ParseMad(Bytes captured, uint64_t wire_length) {
  Mad m;
  Cursor c(captured, wire_length);
  m.header.base_version = c.U8();
  m.header.management_class = c.U8();
  m.header.class_version = c.U8();
  m.header.method = c.U8();
  m.header.status = c.U16();
  m.header.class_specific = c.U16();
  m.header.transaction = c.U64();
  m.header.attribute = c.U16();
  c.Skip(2);
  m.header.attribute_modifier = c.U32();
  if (c.ok() && m.header.base_version != 1) c.Fail(ParseStatus::kUnsupported);
  m.status = c.status();
  m.data = c.Rest();
  m.data_length = c.wire_remaining();
  return m;
}

void AppendMadHeader(std::vector<std::byte>& out, const MadHeader& h) {
  Writer w(out);
  w.U8(h.base_version);
  w.U8(h.management_class);
  w.U8(h.class_version);
  w.U8(h.method);
  w.U16(h.status);
  w.U16(h.class_specific);
  w.U64(h.transaction);
  w.U16(h.attribute);
  w.U16(0);
  w.U32(h.attribute_modifier);
}

}  // namespace stag::ib
