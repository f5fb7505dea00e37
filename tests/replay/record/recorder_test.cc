// SPDX-License-Identifier: GPL-2.0-or-later
//
// The file that a FrameRecorder writes: what Wireshark's tools say of it, how it ends on a full disk, and that
// recording does not allocate.
#include <sys/resource.h>

#include <csignal>
#include <cstdio>

#include "capture/file/reader.h"
#include "tests/replay/record/recording.h"
#include "tests/session/fabric/allocation_count.h"
#include "tests/support/event_script.h"

namespace stag::record::test {
namespace {

using fabric::FabricKind;
using stag::test::Buffer;
using stag::test::EventScript;
using stag::test::MakeCall;
using stag::test::MakeHeader;
using stag::test::MakeReply;
using stag::test::MessageBytes;
using stag::test::Pattern;

std::string OutputOf(const std::string& command) {
  std::string output;
  FILE* pipe = ::popen((command + " 2>/dev/null").c_str(), "r");
  std::array<char, 4096> buffer;
  while (const size_t n = std::fread(buffer.data(), 1, buffer.size(), pipe)) output.append(buffer.data(), n);
  EXPECT_EQ(::pclose(pipe), 0) << command;
  return output;
}

// NFSv3 NULL, a READ of 100 kB by RDMA Write, a WRITE by RDMA Read, and a refusal.
void Talk(EventScript& script, bool iwarp) {
  script.SayReads(0, 8, 8);
  script.SayReads(1, 8, 8);
  script.Open();
  const uint32_t nfs = 100003;
  script.Send(0, MakeHeader(0, 1), MakeCall(1, nfs, 3, 0));
  script.Send(1, MakeHeader(0, 1), MakeReply(1));
  script.Write(1, 0x77, 0x1000, Pattern(100'000));
  script.Send(1, MakeHeader(0, 2), MakeReply(2), 0x77);
  script.ReadRequest(1, 0x78, 0x2000, 200'000);
  script.ReadResponseBegins(0, 0x78, 0x2000, Pattern(60'000));
  script.ReadResponse(0, 0x78, 0x2000 + 60'000, Pattern(140'000));
  script.Write(1, 0x79, 0, Pattern(10));
  iwarp ? script.Terminate(0, 1, 1, 0) : script.Nak(0, fabric::NakKind::kRemoteAccess);
  script.Close();
}

void Address4And6(fabric::ConnectionInfo& info, FabricKind kind, bool v6) {
  info.fabric = kind;
  for (const fabric::Side side : {fabric::Side{0}, fabric::Side{1}}) {
    Address& a = info.endpoint[side].address;
    a = link::Ipv4Address(192, 0, 2, static_cast<uint8_t>(side + 1));
    if (v6) a.kind = Address::Kind::kIpv6;
    info.endpoint[side].number = 20049 - side;
  }
}

TEST(RecorderFile, WiresharkFindsNothingWrong) {
  Recording recording;
  fabric::ConnectionId id = 0;
  for (const FabricKind kind : {FabricKind::kRoceV2, FabricKind::kIwarp, FabricKind::kInfiniBand}) {
    for (const bool v6 : {false, true}) {
      EventScript script(*recording.recorder, ++id);
      Address4And6(script.info(), kind, v6);
      Talk(script, kind == FabricKind::kIwarp);
    }
  }
  (void)recording.ReadBack();
  const std::string tshark = "tshark -n -o tcp.check_checksum:TRUE -o ip.check_checksum:TRUE -r " + recording.path;
  EXPECT_EQ(OutputOf(tshark + " -Y '_ws.malformed || _ws.unreassembled || tcp.analysis.flags || "
                              "tcp.checksum.status == 0 || ip.checksum.status == 0 || udp.checksum.status == 0'"),
            "");
  // What its own dissectors count: CM messages, MPA requests and replies, Terminates.
  const auto count = [&](const std::string& filter) {
    const std::string lines = OutputOf(tshark + " -Y '" + filter + "'");
    return std::ranges::count(lines, '\n');
  };
  EXPECT_EQ(count("infiniband.mad.mgmtclass == 7"), 4 * 5);
  EXPECT_EQ(count("infiniband.bth.opcode == 12"), 4);
  EXPECT_EQ(count("iwarp_mpa.key.req"), 2);
  EXPECT_EQ(count("iwarp_mpa.key.rep"), 2);
  EXPECT_EQ(count("iwarp_rdma.terminate"), 2);
  EXPECT_EQ(count("tcp.flags.fin == 1"), 4);
  const std::string info = OutputOf("capinfos -M " + recording.path);
  for (const char* part : {"pcapng", "nanoseconds", "Capture application: stag test", "a test: what went over",
                           "Name = endpoint", "Number of packets:   "})
    EXPECT_NE(info.find(part), std::string::npos) << part << '\n' << info;
  EXPECT_NE(info.find("Number of packets = " + std::to_string(recording.recorder->frames())), std::string::npos)
      << info;
}

// Files of this process may not grow beyond a size, as on a full disk.
class SizeLimit {
 public:
  explicit SizeLimit(rlim_t bytes) {
    ::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit now{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &now);
  }
  ~SizeLimit() { ::setrlimit(RLIMIT_FSIZE, &before_); }
  SizeLimit(const SizeLimit&) = delete;
  SizeLimit& operator=(const SizeLimit&) = delete;

 private:
  rlimit before_{};
};

TEST(RecorderFile, OnAFullDiskEndsWithAWholeFrame) {
  Recording recording;
  constexpr size_t kLimit = 1'000'001;
  EventScript script(*recording.recorder);
  Address4And6(script.info(), FabricKind::kRoceV2, false);
  script.Open();
  {
    const SizeLimit limit(kLimit);
    for (int i = 0; i < 1000; ++i) script.SendBytes(0, Pattern(3000));
    script.Close();
    recording.recorder->Finish();
  }
  EXPECT_NE(recording.recorder->trouble().find("File too large"), std::string::npos) << recording.recorder->trouble();
  EXPECT_GT(recording.recorder->lost(), 1000u);
  // Nothing in it is damaged, and it is filled.
  EventList events;
  const auto frames = stag::test::LoadFrames(recording.path);
  EXPECT_EQ(frames.size(), recording.recorder->frames());
  (void)stag::test::Decode(frames, {}, events);
  const auto sends = events.Of(fabric::EventKind::kSend);
  EXPECT_GT(sends.size(), 300u);
  for (const auto* send : sends) EXPECT_EQ(send->bytes, Pattern(3000));
  EXPECT_LE(std::filesystem::file_size(recording.path), kLimit);
  EXPECT_GT(std::filesystem::file_size(recording.path), kLimit - 3200);
}

TEST(RecorderFile, CannotBeCreated) {
  const auto recorder = FrameRecorder::Create("/nowhere/file", "stag test", "a test");
  ASSERT_FALSE(recorder);
  EXPECT_EQ(recorder.error().message, "cannot write /nowhere/file: No such file or directory");
}

TEST(FrameRecorder, AllocatesNothingPerEvent) {
  const Buffer message = Pattern(9000), data = Pattern(65'000);
  for (const FabricKind kind : {FabricKind::kRoceV2, FabricKind::kIwarp}) {
    Recording recording;
    EventScript script(*recording.recorder);
    Address4And6(script.info(), kind, false);
    script.Open();
    const auto round = [&] {
      script.SendBytes(0, message);
      script.ReadRequest(1, 5, 0, 65'000);
      script.ReadResponse(0, 5, 0, data);
      script.Write(1, 6, 0, data);
      script.SendBytes(1, message, 6);
    };
    for (int i = 0; i < 20; ++i) round();
    const size_t before = fabric::test::AllocationCount();
    for (int i = 0; i < 100; ++i) round();
    EXPECT_EQ(fabric::test::AllocationCount() - before, 0u);
  }
}

}  // namespace
}  // namespace stag::record::test
