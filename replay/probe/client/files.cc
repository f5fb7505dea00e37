// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/probe/client/files.h"

#include <string>

#include "protocol/base/writer.h"
#include "replay/serve/nfs3_xdr.h"

namespace stag::probe::client {

Result<void> Furnish(serve::MemoryFs& fs) {
  constexpr int kFiles = 12;
  for (int i = 1; i <= kFiles; ++i)
    if (auto added = serve::AddPatternFile(fs, "file-" + std::to_string(i), 100); !added) return added;
  serve::MemoryFs::Node* link = nullptr;
  if (fs.MakeLink(fs.root(), kLink, kLinkTarget, link) != serve::NfsStatus::kOk) return Fail("no room for a link");
  return serve::AddPatternFile(fs, std::string(kLinkTarget), 1 << 20);
}

std::vector<std::byte> RootHandle(serve::MemoryFs& fs) {
  std::vector<std::byte> handle;
  Writer out(handle);
  serve::PutHandle(out, fs, fs.root());
  return {handle.begin() + 4, handle.end()};  // without its length
}

}  // namespace stag::probe::client
