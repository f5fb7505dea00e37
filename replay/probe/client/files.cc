// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/probe/client/files.h"

#include <string>

#include "protocol/base/writer.h"
#include "replay/serve/nfs3_xdr.h"

namespace stag::replay::probe::client {

Result<void> Furnish(MemoryFs& fs) {
  constexpr int kFiles = 12;
  for (int i = 1; i <= kFiles; ++i)
    if (auto added = AddPatternFile(fs, "file-" + std::to_string(i), 100); !added) return added;
  return AddPatternFile(fs, "data", 1 << 20);
}

std::vector<std::byte> RootHandle(MemoryFs& fs) {
  std::vector<std::byte> handle;
  Writer out(handle);
  PutHandle(out, fs, fs.root());
  return {handle.begin() + 4, handle.end()};  // without its length
}

}  // namespace stag::replay::probe::client
