// SPDX-License-Identifier: GPL-2.0-or-later
//
// Faults in the set-up, in headers, in credits, in RPC Replies, and with xids.
#include "tests/replay/probe/fault_tools.h"

namespace stag::probe::test {
namespace {

// Places in an RPC Call, and of accept_stat in a Reply.
constexpr size_t kRpcVersion = 8, kProgram = 12, kVersion = 16, kProcedureNumber = 20, kFlavor = 24, kArguments = 64;
constexpr size_t kAcceptStat = 20;

// Hangs up on the first Call of connections with such private data.
template <typename Like>
Fault HangsUpOn(std::string_view probe, Like like) {
  return {.probe = probe, .words = "the connection ended", .receive = [like](Seen& message, Scene& scene) {
            return like(scene.private_data) ? HangUp(message, scene) : true;
          }};
}

// Invalidates the handle of a Write chunk of one segment, on connections with such private data.
template <typename Like>
Fault Invalidates(std::string_view probe, Like like) {
  return {.probe = probe,
          .words = "came a Send with Invalidate",
          .send = [like](Seen&, const Seen& call, Invalidate& invalidate, Scene& scene) {
            if (like(scene.private_data) && call.header.segments.size() == 1 && !call.header.reply_chunk)
              invalidate = call.header.segments[0].handle;
            return true;
          }};
}

uint8_t At(Bytes data, size_t at) { return at < data.size() ? static_cast<uint8_t>(data[at]) : 0; }

void AddSetup(std::vector<Fault>& faults) {
  faults.push_back({.probe = "setup.private-data",
                    .words = "PVT-003",
                    .accept = [](endpoint::EndpointOptions& options, size_t ordinal) {
                      if (ordinal == 2) options.private_data[5] |= std::byte{0x80};  // 1: what finds the program
                    }});
  faults.push_back(Invalidates("setup.no-private-data", [](Bytes data) { return data.empty(); }));
  faults.push_back(Invalidates("setup.unknown-version", [](Bytes data) { return At(data, 4) == 2; }));
  faults.push_back(Invalidates("setup.reserved-bits", [](Bytes data) { return At(data, 5) == 0xfe; }));
  faults.push_back(HangsUpOn("setup.too-short", [](Bytes data) { return data.size() == 6; }));
  faults.push_back(HangsUpOn("setup.foreign-only", [](Bytes data) { return data.size() == 16; }));
  faults.push_back({.probe = "setup.foreign-before",
                    .words = "came RDMA_ERROR ERR_CHUNK",
                    .send = [](Seen& message, const Seen& call, Invalidate&, Scene& scene) {
                      if (scene.private_data.size() != 13 || message.size <= 1024) return true;
                      return Refuse(call, scene);
                    }});
  faults.push_back(HangsUpOn("setup.largest-sizes", [](Bytes data) { return At(data, 4) == 1 && At(data, 6) == 255; }));
  faults.push_back(
      {.probe = "setup.call-of-1024", .words = "the connection ended", .receive = [](Seen& message, Scene& scene) {
         return message.size != 1024 || HangUp(message, scene);
       }});
  faults.push_back(Invalidates("setup.reconnect",
                               [](Bytes data) { return data.size() == 8 && At(data, 6) == 0 && At(data, 5) == 0; }));
}

// Another accept_stat for Calls where `word` at `place` is `value`.
Fault Accepts(std::string_view probe, size_t place, uint32_t value, std::string_view words) {
  return {.probe = probe, .words = words, .send = [=](Seen& message, const Seen& call, Invalidate&, Scene& scene) {
            if (call.Word(place) != value) return true;
            if (message.Word(8) != 0 || message.rest.size() != kAcceptStat + 4) {
              scene.SendSuccess(call);  // PROG_MISMATCH and denied Replies are longer
              return false;
            }
            StoreBe32(message.rest.data() + kAcceptStat, 0);
            return true;
          }};
}

void AddRpc(std::vector<Fault>& faults) {
  faults.push_back({.probe = "rpc.null",
                    .words = "expected an RPC Reply with the Call's xid; came 24 bytes that are none",
                    .send =
                        [](Seen& message, const Seen&, Invalidate&, Scene& scene) {
                          if (scene.ordinal == 2 || scene.ordinal == 3) StoreBe32(message.rest.data() + 4, 0);  // CALL
                          return true;
                        },
                    .alone = true});
  faults.push_back({.probe = "rpc.prog-unavail",
                    .words = "expected an RPC Reply; came RDMA_ERROR ERR_CHUNK",
                    .receive = [](Seen& message, Scene& scene) {
                      return message.Word(kProgram) != 0x2fffff11 || Refuse(message, scene);
                    }});
  constexpr std::string_view kSuccess = "came an RPC Reply (SUCCESS)";
  faults.push_back(Accepts("rpc.prog-mismatch", kVersion, 77, kSuccess));
  faults.push_back(Accepts("rpc.proc-unavail", kProcedureNumber, 9999, kSuccess));
  faults.push_back(Accepts("rpc.rpc-mismatch", kRpcVersion, 3, kSuccess));
  faults.push_back({.probe = "rpc.auth-error",
                    .words = "expected an RPC Reply; came RDMA_ERROR ERR_CHUNK",
                    .receive = [](Seen& message, Scene& scene) {
                      return message.Word(kFlavor) != 390'099 || Refuse(message, scene);
                    }});
  faults.push_back(On(
      "rpc.cut-header", "nothing; came an RPC Reply (SUCCESS); during the first 24 of",
      [](const Seen& m) { return m.header.status == ParseStatus::kOk && m.rest.size() == 24 && m.Word(4) == 0; },
      Succeed));
  faults.push_back(Accepts("rpc.garbage-args", kArguments, 0x7ffffff0, kSuccess));
}

void AddHeader(std::vector<Fault>& faults) {
  faults.push_back({.probe = "header.version",
                    .words = "expected RDMA_ERROR ERR_VERS with the Call's version, 2; came version 1",
                    .send = [](Seen&, const Seen& call, Invalidate&, Scene& scene) {
                      return call.header.vers != 2 || Refuse(call, scene, kErrVers);
                    }});
  const auto proc = [](uint32_t value) { return [value](const Seen& m) { return m.header.proc == value; }; };
  faults.push_back(On("header.unknown-proc", "expected RDMA_ERROR ERR_CHUNK; came RDMA_ERROR ERR_VERS", proc(9),
                      [](Seen& message, Scene& scene) { return Refuse(message, scene, kErrVers); }));
  faults.push_back(On("header.msgp", "the connection ended", proc(rpcrdma::kMsgp), HangUp));
  faults.push_back(On("header.done", "came RDMA_ERROR ERR_CHUNK", proc(rpcrdma::kDone), kRefuse));
  faults.push_back(On("header.error-message", "came RDMA_ERROR ERR_CHUNK", proc(rpcrdma::kError), kRefuse));
  faults.push_back(On("header.nomsg-without-chunks", "the connection ended", proc(rpcrdma::kNomsg), HangUp));
  faults.push_back(On(
      "header.xid-mismatch", "expected RDMA_ERROR ERR_CHUNK; came an RPC Reply (SUCCESS)",
      [](const Seen& m) {
        return m.header.proc == rpcrdma::kMsg && m.header.status == ParseStatus::kOk && m.Word(0) != m.header.xid;
      },
      [](Seen& message, Scene& scene) {
        scene.SendSuccess(message);
        return false;
      }));
  faults.push_back(On(
      "header.short", "came RDMA_ERROR ERR_CHUNK", [](const Seen& m) { return m.size == 15; }, kRefuse));
  faults.push_back(On(
      "header.discriminator", "the connection ended",
      [](const Seen& m) { return m.header.defect == rpcrdma::Defect::kBadDiscriminator; }, HangUp));
  faults.push_back(On(
      "header.list-overrun", "expected RDMA_ERROR ERR_CHUNK; came an RPC Reply (SUCCESS)",
      [](const Seen& m) { return m.header.defect == rpcrdma::Defect::kReplyChunkOverrun; },
      [](Seen& message, Scene& scene) {
        scene.SendSuccess(message);
        return false;
      }));
  faults.push_back(On(
      "header.read-list-overrun", "the connection ended",
      [](const Seen& m) { return m.header.defect == rpcrdma::Defect::kReadListOverrun; }, HangUp));
  faults.push_back(On(
      "header.xid-values", "the connection ended", [](const Seen& m) { return m.size >= 16 && m.header.xid == 0; },
      HangUp));
}

void AddCredit(std::vector<Fault>& faults) {
  const auto grants_none = [](std::string_view probe, uint32_t requested) {
    return Fault{
        .probe = probe, .words = "CRED-002", .send = [requested](Seen& message, const Seen& call, Invalidate&, Scene&) {
          if (call.header.credit == requested) message.header.credit = 0;
          return true;
        }};
  };
  faults.push_back(grants_none("credit.grant", 1000));
  faults.push_back(grants_none("credit.zero-request", 0));
  faults.push_back({.probe = "credit.after-errors",
                    .words = "the connection ended",
                    .receive =
                        [](Seen& message, Scene& scene) {
                          return message.header.vers != 99 || scene.received < 64 || HangUp(message, scene);
                        },
                    .alone = true});
  faults.push_back({.probe = "credit.full-window",
                    .words = "for no Call that is under way",
                    .send =
                        [](Seen& message, const Seen& call, Invalidate&, Scene& scene) {
                          const bool whole_window = std::ranges::none_of(
                              scene.calls, [](const auto& c) { return c.second.header.credit == 4; });
                          if (whole_window && call.header.credit == 48 && call.header.vers == 1 && scene.received > 1 &&
                              call.header.xid % 64 == 0)
                            scene.Send(message.Encoded());
                          return true;
                        },
                    .alone = true});
  faults.push_back({.probe = "credit.overrun",
                    .words = "expected a server that lives on; came the server is gone",
                    .receive = [](Seen&, Scene& scene) {
                      const bool overrun =
                          std::ranges::any_of(scene.calls, [](const auto& c) { return c.second.header.credit == 4; });
                      scene.dead |= overrun && scene.received > 20;
                      return true;
                    }});
}

void AddXid(std::vector<Fault>& faults) {
  // Whether the xid came on another connection before, as RDMA_NOMSG or not.
  const auto elsewhere = [](const Seen& message, const Scene& scene, bool nomsg) {
    const auto [from, to] = scene.all.equal_range(message.header.xid);
    return std::any_of(from, to,
                       [&](const auto& it) { return it.second.first != scene.ordinal && it.second.second == nomsg; });
  };
  faults.push_back(
      {.probe = "xid.two-connections",
       .words = "the connection ended",
       .receive = [=](Seen& message,
                      Scene& scene) { return !elsewhere(message, scene, false) || HangUp(message, scene); },
       .alone = true});
  faults.push_back({.probe = "xid.again", .words = "the connection ended", .receive = [](Seen& message, Scene& scene) {
                      return scene.times.count(message.header.xid) < 3 || HangUp(message, scene);
                    }});
  faults.push_back(
      {.probe = "xid.reconnect", .words = "the connection ended", .receive = [=](Seen& message, Scene& scene) {
         return scene.times.count(message.header.xid) != 2 || !elsewhere(message, scene, false) ||
                HangUp(message, scene);
       }});
  faults.push_back(
      {.probe = "xid.after-failure", .words = "the connection ended", .receive = [=](Seen& message, Scene& scene) {
         return !elsewhere(message, scene, true) || HangUp(message, scene);
       }});
}

}  // namespace

std::vector<Fault> MessageFaults() {
  std::vector<Fault> faults;
  AddSetup(faults);
  AddRpc(faults);
  AddHeader(faults);
  AddCredit(faults);
  AddXid(faults);
  return faults;
}

}  // namespace stag::probe::test
