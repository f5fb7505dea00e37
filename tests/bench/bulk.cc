// SPDX-License-Identifier: GPL-2.0-or-later
//
// bulk OUT MTU COUNT: a capture of nearly nothing but payload: COUNT NFSv3 READs of 1 MiB over RoCEv2 with this path
// MTU.
#include <cstdio>
#include <cstdlib>

#include "pcaps/generator/read_exchange.h"
#include "pcaps/generator/roce_script.h"

int main(int argc, char** argv) {
  using namespace stag;
  const unsigned long mtu = argc == 4 ? std::strtoul(argv[2], nullptr, 10) : 0;
  const unsigned long count = argc == 4 ? std::strtoul(argv[3], nullptr, 10) : 0;
  if ((mtu != 256 && mtu != 512 && mtu != 1024 && mtu != 2048 && mtu != 4096) || count == 0 || count > 1000) {
    std::fprintf(stderr, "usage: bulk OUT MTU COUNT (256, 512, 1024, 2048 or 4096 bytes; 1 to 1000)\n");
    return 2;
  }
  evidence::Capture capture;
  evidence::RoceScript script(capture, 1, static_cast<uint32_t>(mtu));
  script.Open();
  constexpr uint32_t kSize = 1 << 20;
  const rpcrdma::Segment memory{0x88, kSize, 0x200000};
  for (uint32_t xid = 1; xid <= count; ++xid) {
    const rpcrdma::Header header = evidence::WithChunks(test::Msg(xid), {{memory}});
    script.Send(test::kClient, header, test::ReadCall(xid, kSize));
    script.Write(test::kServer, memory.handle, memory.offset, test::Pattern(kSize));
    script.Send(test::kServer, header, test::ReadReply(xid, kSize, true));
  }
  script.Settle();
  const test::Buffer file = capture.File();
  std::FILE* out = std::fopen(argv[1], "wb");
  const bool written = out != nullptr && std::fwrite(file.data(), 1, file.size(), out) == file.size();
  if (out == nullptr || std::fclose(out) != 0 || !written) {
    std::perror(argv[1]);
    return 2;
  }
  return 0;
}
