// SPDX-License-Identifier: GPL-2.0-or-later
//
// For each client probe, what a client can do wrong with it.
#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "protocol/rpc/message.h"
#include "replay/rpcrdma/settings.h"
#include "tests/replay/probe/bad_client.h"

namespace stag::probe::test {
namespace {

using rpcrdma::Defect;
using rpcrdma::kError;
using rpcrdma::kMsg;
using rpcrdma::kNomsg;

constexpr std::string_view kDead = "a client whose next connection works";
constexpr std::string_view kWork = "the client's work succeeds";

bool Die(Scene& scene) {
  scene.dead = true;
  scene.HangUp();
  return false;
}

// What comes that `fatal` knows is the end of the client. `call`: the Call with its xid, or null.
using Fatal = std::function<bool(const Seen& message, const Seen* call, Scene&)>;
ClientFault Dies(std::string_view probe, std::string_view words, Fatal fatal) {
  auto sent = std::make_shared<std::map<uint32_t, Seen>>();
  ClientFault fault{.probe = probe, .words = words};
  fault.send = [sent](Seen& message, Scene&) {
    sent->insert_or_assign(message.header.xid, message);
    return true;
  };
  fault.receive = [sent, fatal = std::move(fatal)](Seen& message, Scene& scene) {
    const auto call = sent->find(message.header.xid);
    return !fatal(message, call == sent->end() ? nullptr : &call->second, scene) || Die(scene);
  };
  return fault;
}

// A client that does not come again: one connection for the beginning, and so many for the probe.
ClientFault Stays(std::string_view probe, size_t connections = 1, std::string_view words = kDead) {
  return {.probe = probe, .words = words, .most_connections = 1 + connections};
}

ClientFault Believes(std::string_view probe, std::function<bool(Bytes, size_t ordinal)> is) {
  ClientFault fault{.probe = probe, .words = "Sends of at most 1024 bytes"};
  fault.accepted = [is = std::move(is)](Buffer& data, size_t ordinal) {
    if (is(data, ordinal)) data = rpcrdma::EncodeSettings(4096, 4096, true);
    return true;
  };
  return fault;
}

ClientFault DiesOfData(std::string_view probe, std::function<bool(Bytes)> fatal) {
  ClientFault fault{.probe = probe, .words = kWork};
  fault.accepted = [fatal = std::move(fatal)](Buffer& data, size_t) { return !fatal(data); };
  return fault;
}

ClientFault WithLoad(std::string_view probe, std::string_view words, std::function<void(generate::LoadOptions&)> load) {
  return {.probe = probe, .words = words, .load = std::move(load)};
}

bool IsPlainError(const Seen& message, uint32_t err) {
  return message.header.proc == kError && message.header.words == 4 && message.header.err == err;
}
bool IsBackward(const Seen& message) {
  return message.header.proc == kMsg && message.rest.size() >= 8 && message.Word(4) == rpc::kCall;
}
uint64_t Returned(const Seen& message) {
  return message.header.write_chunks.empty() ? 0 : message.header.SizeOf(message.header.write_chunks[0]);
}
bool AnswersWriteChunk(const Seen& message, const Seen* call) {
  return call && !call->header.write_chunks.empty() && message.header.status == ParseStatus::kOk &&
         message.header.proc == kMsg && message.rest.size() >= 28 && message.Word(24) == 0;
}
// Whether a segment of the Reply is longer than the same one of the Call.
bool HasLonger(const Seen& message, const Seen* call) {
  const auto& ours = call->header.segments;
  const auto& theirs = message.header.segments;
  for (size_t i = 0; i < std::min(ours.size(), theirs.size()); ++i)
    if (theirs[i].length > ours[i].length) return true;
  return false;
}

void AddAccept(std::vector<ClientFault>& faults) {
  const auto size_is = [](size_t n) { return [n](Bytes data, size_t) { return data.size() == n; }; };
  faults.push_back(Believes("accept.no-private-data", size_is(0)));
  faults.push_back(Believes("accept.unknown-version",
                            [](Bytes data, size_t) { return data.size() == 8 && data[4] == std::byte{2}; }));
  faults.push_back(Believes("accept.too-short", size_is(6)));
  faults.push_back(Believes("accept.foreign-only", size_is(16)));
  faults.push_back(DiesOfData("accept.foreign-before", [](Bytes data) { return data.size() == 13; }));
  faults.push_back(DiesOfData("accept.reserved-bits", [](Bytes data) { return data[5] == std::byte{0xfe}; }));
  faults.push_back(DiesOfData("accept.largest-sizes", [](Bytes data) { return data[6] == std::byte{255}; }));
  faults.push_back(Believes("accept.smallest-sizes",
                            [](Bytes data, size_t) { return data.size() == 8 && data[7] == std::byte{0}; }));
  faults.push_back(Believes("accept.size-shrinks", size_is(0)));
  // The receives of a new connection are as small as those of the old one.
  faults.push_back(
      {.probe = "accept.size-grows", .words = kWork, .connect = [](endpoint::EndpointOptions& options, size_t n) {
         if (n > 2) options.receive_size = 1024;
       }});
  faults.push_back(
      {.probe = "accept.late", .words = kWork, .connect = [](endpoint::EndpointOptions& options, size_t n) {
         if (n > 1) options.connect_timeout = std::chrono::milliseconds{4};
       }});
  faults.push_back(Believes("reject.rpcrdma-data", size_is(0)));
  for (const std::string_view probe :
       {"reject.first", "reject.private-data", "reject.largest-data", "reject.no-answer", "reject.reconnect"})
    faults.push_back({.probe = probe, .words = kDead, .most_refused = 1});
}

void AddError(std::vector<ClientFault>& faults) {
  const auto code = [](uint32_t err) {
    return [err](const Seen& message, const Seen*, Scene&) { return IsPlainError(message, err); };
  };
  for (const std::string_view probe :
       {"error.chunk", "error.chunk-write-chunk", "error.chunk-read-chunk", "error.chunk-reply-chunk", "error.many"})
    faults.push_back(Dies(probe, kDead, code(rpcrdma::kErrChunk)));
  faults.push_back(Dies("error.vers", kDead, code(rpcrdma::kErrVers)));
  faults.push_back(Dies("error.vers-range", kDead, [](const Seen& message, const Seen*, Scene&) {
    return IsPlainError(message, rpcrdma::kErrVers) && message.header.vers_low > 1;
  }));
  faults.push_back(Dies("error.no-credit", kDead, [](const Seen& message, const Seen*, Scene&) {
    return message.header.proc == kError && message.header.credit == 0;
  }));
  faults.push_back(Dies("error.then-reply", kDead, [](const Seen& message, const Seen*, Scene& scene) {
    return message.header.proc == kMsg && scene.times.count(message.header.xid) > 1;
  }));
  faults.push_back(Dies("error.after-reply", kWork, code(rpcrdma::kErrChunk)));
  faults.push_back(Dies("error.unknown-code", kWork, code(77)));
  faults.push_back(Dies("error.unknown-xid", kWork, [](const Seen& message, const Seen* call, Scene&) {
    return message.header.proc == kError && !call;
  }));
  faults.push_back(
      Dies("error.no-code", kWork, [](const Seen& message, const Seen*, Scene&) { return message.size == 16; }));
  faults.push_back(Dies("error.no-range", kWork, [](const Seen& message, const Seen*, Scene&) {
    return message.header.proc == kError && message.size == 20;
  }));
}

void AddGrant(std::vector<ClientFault>& faults) {
  const auto ignore = [](generate::LoadOptions& load) { load.requester.ignore_credits = true; };
  faults.push_back(WithLoad("grant.one", "at most 1 outstanding", ignore));
  faults.push_back(WithLoad("grant.grows", "outstanding, as granted", ignore));
  faults.push_back(WithLoad("grant.shrinks", "1 is granted", [](generate::LoadOptions& load) {
    load.requester.ignore_credits = true;
    load.calls = 4000;
  }));
  faults.push_back(WithLoad("grant.reconnect", "one Call until the first Reply", ignore));
  const auto credit = [](uint32_t n) {
    return [n](const Seen& message, const Seen*, Scene&) { return message.header.credit == n; };
  };
  faults.push_back(Dies("grant.zero-once", kWork, credit(0)));
  faults.push_back(Dies("grant.zero-always", kDead, credit(0)));
  faults.push_back(Dies("grant.huge", kWork, credit(UINT32_MAX)));
  // Sends its first Call twice.
  ClientFault twice{.probe = "grant.first-call", .words = "one Call until the first Reply"};
  twice.send = [](Seen& message, Scene& scene) {
    if (scene.received == 0 && scene.ordinal > 1) {
      Seen other = message;
      other.header.xid ^= 1u << 30;
      StoreBe32(other.rest.data(), other.header.xid);
      scene.Send(other.Encoded());
    }
    return true;
  };
  faults.push_back(twice);
}

void AddAnswer(std::vector<ClientFault>& faults) {
  const Fatal nobody = [](const Seen&, const Seen* call, Scene&) { return !call; };
  const Fatal again = [](const Seen& message, const Seen*, Scene& scene) {
    return scene.times.count(message.header.xid) > 1;
  };
  faults.push_back(Dies("answer.unknown-xid", kWork, nobody));
  faults.push_back(Dies("answer.twice", kWork, again));
  faults.push_back(Dies("answer.twice-with-chunks", kWork, again));
  faults.push_back(Dies("answer.old", kWork, again));
  faults.push_back(Dies("answer.rpc-xid-differs", kDead, [](const Seen& message, const Seen*, Scene&) {
    return message.header.proc == kMsg && message.Word(0) != message.header.xid;
  }));
  faults.push_back(Dies("answer.header-xid-differs", kWork, nobody));
  // Goes by the transport header alone.
  ClientFault swapped = WithLoad("answer.swapped", "no byte is wrong", [](generate::LoadOptions& load) {
    load.jobs.mix = {};
    generate::Weight(load.jobs.mix, generate::Operation::kRead) = 1;
    load.jobs.sizes = {{200, 200, 1}};
  });
  swapped.receive = [](Seen& message, Scene&) {
    if (message.header.proc == kMsg && message.rest.size() >= 4) StoreBe32(message.rest.data(), message.header.xid);
    return true;
  };
  faults.push_back(swapped);
  // Wants Replies in the order of its Calls.
  auto order = std::make_shared<std::map<size_t, std::vector<uint32_t>>>();
  ClientFault reversed = WithLoad("answer.reversed", kWork, [](generate::LoadOptions& load) {
    load.jobs.mix = {};
    generate::Weight(load.jobs.mix, generate::Operation::kGetattr) = 1;
  });
  reversed.send = [order](Seen& message, Scene& scene) {
    (*order)[scene.ordinal].push_back(message.header.xid);
    return true;
  };
  reversed.receive = [order](Seen& message, Scene& scene) {
    std::vector<uint32_t>& sent = (*order)[scene.ordinal];
    if (sent.empty() || sent.front() != message.header.xid) return Die(scene);
    sent.erase(sent.begin());
    return true;
  };
  faults.push_back(reversed);
  // Forgets a Call when many later ones were answered.
  auto sent_at = std::make_shared<std::map<uint32_t, size_t>>();
  ClientFault late{.probe = "answer.late", .words = kWork};
  late.send = [sent_at](Seen& message, Scene& scene) {
    (*sent_at)[message.header.xid] = scene.received;
    return true;
  };
  late.receive = [sent_at](Seen& message, Scene& scene) {
    return scene.received < (*sent_at)[message.header.xid] + 60 || Die(scene);
  };
  faults.push_back(late);
}

// Takes what is in the memory of a Write chunk for the data although the chunk comes back unused.
ClientFault TakesUnused() {
  auto sent = std::make_shared<std::map<uint32_t, Seen>>();
  ClientFault fault{.probe = "form.written-unused", .words = "no byte is wrong"};
  fault.send = [sent](Seen& message, Scene&) {
    sent->insert_or_assign(message.header.xid, message);
    return true;
  };
  fault.receive = [sent](Seen& message, Scene&) {
    const auto call = sent->find(message.header.xid);
    if (call == sent->end() || !AnswersWriteChunk(message, &call->second) || Returned(message) > 0) return true;
    const auto all = static_cast<uint32_t>(Returned(call->second));
    message.header.segments = call->second.header.segments;
    StoreBe32(message.rest.data() + message.rest.size() - 12, all);
    StoreBe32(message.rest.data() + message.rest.size() - 4, all);
    return true;
  };
  return fault;
}

void AddForm(std::vector<ClientFault>& faults) {
  const Fatal long_reply = [](const Seen& message, const Seen*, Scene&) { return message.header.proc == kNomsg; };
  faults.push_back(Dies("form.long-for-short", kWork, long_reply));
  faults.push_back(Dies("form.long-in-pieces", kWork, long_reply));
  faults.push_back(Dies("form.long-cut", kDead, long_reply));
  faults.push_back(Dies("form.long-above", kDead, [](const Seen& message, const Seen* call, Scene&) {
    return message.header.proc == kNomsg && HasLonger(message, call);
  }));
  faults.push_back(Dies("form.long-and-short", kDead, [](const Seen& message, const Seen*, Scene&) {
    return message.header.proc == kMsg && message.header.reply_chunk &&
           message.header.SizeOf(*message.header.reply_chunk) > 0;
  }));
  faults.push_back(Dies("form.no-reply-chunk", kDead, [](const Seen& message, const Seen* call, Scene&) {
    return call && call->header.reply_chunk && !message.header.reply_chunk;
  }));
  faults.push_back(Dies("form.long-unoffered", kDead, [](const Seen& message, const Seen* call, Scene&) {
    return message.header.proc == kNomsg && call && !call->header.reply_chunk;
  }));
  faults.push_back(Dies("form.nomsg-without-chunks", kDead, [](const Seen& message, const Seen*, Scene&) {
    return message.header.proc == kNomsg && !message.header.has_chunks();
  }));
  const Fatal longer = [](const Seen& message, const Seen* call, Scene&) {
    return AnswersWriteChunk(message, call) && HasLonger(message, call);
  };
  faults.push_back(Dies("form.length-above", kDead, longer));
  faults.push_back(Dies("form.length-huge", kDead, longer));
  faults.push_back(Dies("form.more-chunks", kDead, [](const Seen& message, const Seen* call, Scene&) {
    return AnswersWriteChunk(message, call) && message.header.write_chunks.size() > call->header.write_chunks.size();
  }));
  faults.push_back(Dies("form.fewer-chunks", kDead, [](const Seen& message, const Seen* call, Scene&) {
    return AnswersWriteChunk(message, call) && message.header.write_chunks.empty();
  }));
  const auto segments = [](auto compare) {
    return [compare](const Seen& message, const Seen* call, Scene&) {
      return AnswersWriteChunk(message, call) &&
             compare(message.header.write_chunks.at(0).count, call->header.write_chunks[0].count);
    };
  };
  faults.push_back(Dies("form.more-segments", kDead, segments([](uint32_t r, uint32_t c) { return r > c; })));
  faults.push_back(Dies("form.fewer-segments", kDead, segments([](uint32_t r, uint32_t c) { return r < c; })));
  faults.push_back(Dies("form.empty-chunk", kDead, segments([](uint32_t r, uint32_t) { return r == 0; })));
  faults.push_back(Dies("form.other-handle", kDead, [](const Seen& message, const Seen* call, Scene&) {
    return AnswersWriteChunk(message, call) && message.header.segments.at(0).handle != call->header.segments[0].handle;
  }));
  faults.push_back(Dies("form.read-list", kDead,
                        [](const Seen& message, const Seen*, Scene&) { return !message.header.reads.empty(); }));
  const Fatal partly = [](const Seen& message, const Seen* call, Scene&) {
    return AnswersWriteChunk(message, call) && Returned(message) < Returned(*call);
  };
  faults.push_back(Dies("form.partly", kWork, partly));
  faults.push_back(Dies("form.first-segment", kWork, partly));
  faults.push_back(Dies("form.nothing-read", kDead, partly));
  faults.push_back(TakesUnused());
  faults.push_back(Dies("form.data-inline", kDead, partly));
  // It looks for what it needs behind attributes that are not there.
  const auto without_attributes = [](uint32_t procedure, size_t at) {
    return [procedure, at](const Seen& message, const Seen* call, Scene&) {
      return call && message.header.proc == kMsg && call->Word(20) == procedure && message.rest.size() > at &&
             message.Word(24) == 0 && message.Word(at) == 0;
    };
  };
  constexpr size_t kHandle = 4 + 24;
  faults.push_back(Dies("form.read-without-attributes", kWork, without_attributes(6, 28)));
  faults.push_back(Dies("form.partly-without-attributes", kWork, without_attributes(6, 28)));
  faults.push_back(Dies("form.write-without-wcc", kWork, without_attributes(7, 28)));
  faults.push_back(Dies("form.lookup-without-attributes", kWork, without_attributes(3, 28 + kHandle)));
  faults.push_back(Dies("form.readlink-without-attributes", kWork, without_attributes(5, 28)));
  faults.push_back(Dies("form.count-above", kDead, [](const Seen& message, const Seen* call, Scene&) {
    return AnswersWriteChunk(message, call) && message.Word(message.rest.size() - 12) > Returned(*call);
  }));
  ClientFault large = Dies("form.above-threshold", kDead,
                           [](const Seen& message, const Seen*, Scene&) { return message.size > 262144; });
  large.connect = [](endpoint::EndpointOptions& options, size_t) { options.receive_size = 300000; };
  faults.push_back(large);
}

void AddMessage(std::vector<ClientFault>& faults) {
  const auto proc = [](uint32_t n) {
    return
        [n](const Seen& message, const Seen*, Scene&) { return message.header.words == 4 && message.header.proc == n; };
  };
  const auto defect = [](Defect d) {
    return [d](const Seen& message, const Seen*, Scene&) { return message.header.defect == d; };
  };
  const auto word = [](size_t at, uint32_t value) {
    return [=](const Seen& message, const Seen*, Scene&) {
      return message.header.proc == kMsg && message.Word(at) == value && message.rest.size() < 64;
    };
  };
  const auto size = [](size_t n) {
    return [n](const Seen& message, const Seen*, Scene&) { return message.size == n; };
  };
  const Fatal version = [](const Seen& message, const Seen*, Scene&) {
    return message.header.words == 4 && message.header.vers == 2;
  };
  faults.push_back(Dies("message.msgp", kWork, proc(rpcrdma::kMsgp)));
  faults.push_back(Dies("message.done", kWork, proc(rpcrdma::kDone)));
  faults.push_back(Dies("message.unknown-proc", kWork, proc(9)));
  faults.push_back(Dies("message.version", kWork, version));
  // Posts no receive for what it discards.
  const auto times = std::make_shared<size_t>(0);
  faults.push_back(Dies("message.versions", kWork, [=](const Seen& message, const Seen* call, Scene& scene) {
    return version(message, call, scene) && ++*times > 16;
  }));
  faults.push_back(Dies("message.short", kWork, size(20)));
  const auto shorts = std::make_shared<size_t>(0);
  faults.push_back(Dies("message.shorts", kWork, [=](const Seen& message, const Seen*, Scene&) {
    return message.size == 20 && ++*shorts > 16;
  }));
  faults.push_back(Dies("message.empty", kWork, size(0)));
  faults.push_back(Dies("message.discriminator", kWork, defect(Defect::kBadDiscriminator)));
  faults.push_back(Dies("message.list-overrun", kWork, defect(Defect::kWriteListOverrun)));
  faults.push_back(Dies("message.read-list-overrun", kWork, defect(Defect::kReadListOverrun)));
  faults.push_back(Dies("message.no-rpc", kDead, [](const Seen& message, const Seen*, Scene&) {
    return message.header.proc == kMsg && message.rest.empty();
  }));
  faults.push_back(Dies("message.wrong-type", kDead, [](const Seen& message, const Seen*, Scene&) {
    return message.header.proc == kMsg && message.Word(4) == 7;
  }));
  faults.push_back(Dies("message.cut-results", kDead, [](const Seen& message, const Seen*, Scene&) {
    return message.header.proc == kMsg && message.rest.size() == 32;
  }));
  faults.push_back(Dies("message.superfluous", kDead, [](const Seen& message, const Seen*, Scene&) {
    return message.rest.size() > 64 &&
           std::all_of(message.rest.end() - 64, message.rest.end(), [](std::byte b) { return b == std::byte{0xee}; });
  }));
  faults.push_back(Dies("message.denied", kDead, word(8, 1)));
  faults.push_back(Dies("message.system-error", kDead, word(20, 5)));
  faults.push_back(Dies("message.unknown-status", kDead, word(20, 77)));
  faults.push_back(Dies("message.long-verifier", kDead, word(16, 400)));
}

void AddRemote(std::vector<ClientFault>& faults) {
  for (const std::string_view probe :
       {"remote.write-after-reply", "remote.write-after-error", "remote.read-after-reply", "remote.read-after-error"})
    faults.push_back(WithLoad(probe, "the client refuses", [](generate::LoadOptions& load) {
      load.requester.fresh_handles = false;
      load.depth = 1;
      generate::Weight(load.jobs.mix, generate::Operation::kReaddirplus) = 0;
      load.jobs.sizes = {{16000, 16000, 1}};  // one size: the memory of a slot stays the same
    }));
  for (const std::string_view probe :
       {"remote.write-beyond", "remote.read-beyond", "remote.write-into-read-chunk", "remote.write-by-wrong-handle",
        "remote.read-by-wrong-handle", "remote.invalidate-other", "remote.invalidate-unknown",
        "remote.invalidate-twice"})
    faults.push_back(Stays(probe));
  ClientFault unasked = Dies("remote.invalidate-unasked", kDead,
                             [](const Seen& message, const Seen*, Scene&) { return message.invalidated.has_value(); });
  unasked.load = [](generate::LoadOptions& load) { load.requester.remote_invalidation = false; };
  faults.push_back(unasked);
  faults.push_back(Dies("remote.invalidate-never", kWork, [](const Seen& message, const Seen* call, Scene&) {
    return call && call->header.has_chunks() && message.header.proc != kError && !message.invalidated;
  }));
}

void AddBackward(std::vector<ClientFault>& faults) {
  const auto program = [](uint32_t n) {
    return [n](const Seen& message, const Seen*, Scene&) { return IsBackward(message) && message.Word(12) == n; };
  };
  const auto many = [](size_t most) {
    return [most, count = std::make_shared<size_t>(0)](const Seen& message, const Seen*, Scene&) {
      return IsBackward(message) && ++*count > most;
    };
  };
  faults.push_back(Dies("backward.null", kWork, program(0x40000000)));
  faults.push_back(Dies("backward.unknown-program", kWork, program(0x20202020)));
  faults.push_back(Dies("backward.xid-in-use", kWork,
                        [](const Seen& message, const Seen* call, Scene&) { return IsBackward(message) && call; }));
  faults.push_back(Dies("backward.two-xids", kWork, [](const Seen& message, const Seen*, Scene&) {
    return IsBackward(message) && message.header.xid != message.Word(0);
  }));
  faults.push_back(Dies("backward.flood", kDead, many(6)));
  faults.push_back(Dies("backward.read-chunk", kWork, [](const Seen& message, const Seen*, Scene&) {
    return IsBackward(message) && !message.header.reads.empty();
  }));
  faults.push_back(Dies("backward.write-chunk", kWork, [](const Seen& message, const Seen*, Scene&) {
    return IsBackward(message) && !message.header.write_chunks.empty();
  }));
  faults.push_back(Dies("backward.long-call", kWork, [](const Seen& message, const Seen*, Scene&) {
    return message.header.proc == kNomsg && !message.header.reads.empty();
  }));
  faults.push_back(Dies("backward.under-load", kWork, many(1)));
  faults.push_back(Dies("backward.garbage", kWork, [](const Seen& message, const Seen*, Scene&) {
    return IsBackward(message) && message.rest.size() == 20;
  }));
}

void AddClose(std::vector<ClientFault>& faults) {
  for (const std::string_view probe :
       {"close.after-accept", "close.first-call", "close.before-reads", "close.after-reads", "close.after-writes",
        "close.behind-reply", "close.abruptly", "close.abruptly-after-writes", "silence.then-close",
        "silence.then-nothing"})
    faults.push_back(Stays(probe));
  faults.push_back(Stays("close.often", 4));
}

}  // namespace

std::vector<ClientFault> AllClientFaults() {
  std::vector<ClientFault> faults;
  AddAccept(faults);
  AddError(faults);
  AddGrant(faults);
  AddAnswer(faults);
  AddForm(faults);
  AddMessage(faults);
  AddRemote(faults);
  AddBackward(faults);
  AddClose(faults);
  return faults;
}

}  // namespace stag::probe::test
