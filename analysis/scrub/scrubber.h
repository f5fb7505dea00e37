// SPDX-License-Identifier: GPL-2.0-or-later
//
// Scrubber: captures in, one capture out that tells the same of RPC-over-RDMA and none of its secrets. Each frame goes
// out at once with its headers scrubbed and its payload zero; what the session then finds out about the payload is put
// into its place when it is known (scrubbed_frames.h).
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/scrub/checksums.h"
#include "analysis/scrub/packet_places.h"
#include "analysis/scrub/plain_rpc.h"
#include "analysis/scrub/rpc_scrubber.h"
#include "session/fabric/decoder.h"
#include "session/rpcrdma/session.h"

namespace stag::scrub {

struct ScrubOptions {
  KeptValues kept;
  uint64_t memory = 256u << 20;  // bytes that all of it may use
  link::TunnelPorts tunnel_ports;
};

class Scrubber final : private session::Observer {
 public:
  // One capture, whose frames are appended to `frames`. The references must outlive this.
  Scrubber(ScrubbedFrames& frames, Pseudonyms& pseudonyms, Replaced& replaced, const ScrubOptions& options);
  ~Scrubber() override;

  // Fails when the frame cannot be scrubbed, or not be written.
  Result<void> OnFrame(const Frame& frame);
  // What is numbered as a frame and is none (capture::OtherBlock): it is emptied.
  Result<void> OnOtherBlock(const Frame& frame);
  // The end of the capture.
  void Finish();

 private:
  // An RDMA packet that went to, or came from, memory of a transaction.
  struct Moved {
    bool of_reply = false;  // the reply advertised the memory
    size_t segment = 0;     // index
    uint64_t offset = 0, length = 0;
    std::vector<Place> places;
  };
  // Those of one transaction.
  struct MovedPackets {
    explicit MovedPackets(Budget& budget) : charge(budget) {}
    std::vector<Moved> packets;
    Charge charge;
  };
  // Of a Reply whose Call may yet come.
  struct Early {
    std::vector<Place> places;
    Charge charge;
  };
  // The payload stream of a Send, and its places.
  struct Inline {
    Charge charge;
    std::vector<Place> places;
    size_t header = 0;  // bytes of the Send before the stream
    size_t size = 0;    // of the stream
  };
  // What is in a stretch of the memory of a transaction.
  struct Extent {
    size_t segment = 0;
    uint64_t begin = 0, end = 0;  // in the segment
    bool data = false;            // a data item from `offset` on; else bytes
    nfs::ItemKind kind{};
    FileRange range;
    Bytes bytes;  // from `begin` on; of a data item, all of it, when it is known
    uint64_t offset = 0;
  };

  // Finds the places of each event before the session sees it.
  class Events final : public fabric::Sink {
   public:
    explicit Events(Scrubber& scrubber) : scrubber_(scrubber) {}
    void OnEvent(const fabric::Event& event) override;
    void OnAside(const fabric::Aside& aside) override;

   private:
    Scrubber& scrubber_;
  };

  // session::Observer
  void OnMessage(const session::Connection&, const session::Message&, const session::Transaction*) override;
  void OnRdma(const session::Connection&, const session::RdmaOperation&) override;
  void OnTransaction(const session::Connection&, const session::Transaction&) override;
  void OnConnectionClosed(const session::Connection&, const fabric::Event&) override;

  // What an unreliable service carries, if it is RPC-over-RDMA.
  void ScrubUnreliable(const fabric::Aside& aside);
  void KeepMisplaced(const session::Transaction&, const session::Message&);
  void ScrubStream(const session::Message&, const session::Transaction*);
  // Of a Call whose Read chunks are not where data items would be: what its message is with them put back in.
  void ScrubWhole(const session::Transaction& t, const Inline& send, std::vector<std::byte>& storage,
                  std::vector<Extent>& extents);
  void AddStream(const session::Transaction& t, bool reply, std::vector<std::byte>& storage,
                 std::vector<Extent>& extents);
  void AddItems(const session::Transaction& t, bool reply, const std::vector<FileRange>& ranges,
                std::vector<std::vector<std::byte>>& storage, std::vector<Extent>& extents);
  void Put(const std::vector<Extent>& extents, const Moved& moved);

  ScrubbedFrames& frames_;
  Replaced& replaced_;
  const KeptValues kept_;
  FrameHeaders headers_;
  Checksums checksums_;
  const uint64_t first_;  // frames of other captures before
  PacketPlaces places_;
  RpcScrubber rpc_;
  PlainRpc plain_;
  session::Session session_;
  Events events_;
  fabric::Decoder decoder_;
  std::vector<std::byte> frame_, stream_, send_;
  std::vector<Place> current_;  // of the event being given out
  Budget kept_places_;          // of the tables below
  std::unordered_map<fabric::ConnectionId, Early> early_;
  std::unordered_map<uint64_t, MovedPackets> moved_;  // by serial of the transaction
  std::unordered_map<uint64_t, Inline> misplaced_;    // Calls for ScrubWhole, by the same
};

}  // namespace stag::scrub
