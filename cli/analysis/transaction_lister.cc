// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/analysis/transaction_lister.h"

#include <array>
#include <cstring>

#include "analysis/transaction_facts.h"
#include "session/rpcrdma/phases.h"

namespace stag::cli {
namespace {

using session::Connection;
using session::Transaction;

// A later Call can come out of the trackers a little after an earlier one of another connection; lines wait this long.
constexpr uint64_t kSlackFrames = 4096;

const results::SortKey kNoKey(results::Value::Null());

// A line of text for people.
class TextLine {
 public:
  TextLine(const Style& style, bool phases) : style_(style), phases_(phases) {}

  static std::string Heading(const Style& style, bool phases) {
    const std::string_view more = phases ? "  to read     pull  service     push   finish" : "";
    return fmt::format("{}{:>8} {:>8} {:>12}  {:>4} {:<3}  {:<10}  {:<23} {:>9} {:>9} {:>8}{}  {}{}\n", style.bold,
                       "call", "reply", "time", "conn", "dir", "xid", "form", "call B", "reply B", "rtt", more,
                       "operation", style.reset);
  }

  void Append(std::string& out, const Transaction& t, int64_t origin_ns) const {
    PutNumber(out, t.call.frame.number, 8);
    out.push_back(' ');
    PutCell(out, t.reply.frame.number != 0, t.reply.frame.number, 8);
    const int64_t since = t.call.frame.time_ns - origin_ns;
    if (since < 0) {  // times that go back
      Put(out, " {:>5}.000000  ", since / 1'000'000'000);
    } else {
      out.push_back(' ');
      PutNumber(out, static_cast<uint64_t>(since / 1'000'000'000), 5);
      out.push_back('.');
      PutNumber(out, static_cast<uint64_t>(since % 1'000'000'000 / 1000), 6, '0');
      Put(out, "  ");
    }
    PutNumber(out, t.connection, 4);
    Put(out, t.backward ? " s>c  0x" : " c>s  0x");
    std::array<std::byte, 4> xid;
    StoreBe32(xid.data(), t.xid);
    PutHex(out, xid);
    Put(out, "  ");
    PutPadded(out, 23, [&] {
      Put(out, t.call.header.status == ParseStatus::kOk ? NameOf(t.call.form) : "?");
      Put(out, " > ");
      Put(out, NameOf(t.reply.form));
    });
    out.push_back(' ');
    PutCell(out, t.call.complete, t.call.length, 9);
    out.push_back(' ');
    PutCell(out, t.reply.complete, t.reply.length, 9);
    out.push_back(' ');
    PutRight(out, 8, [&] { PutTime(out, session::RoundTrip(t)); });
    if (phases_) PutPhases(out, t);
    Put(out, "  ");
    PutOperations(out, t, style_);
    PutStatus(out, t, style_);
    PutChunks(out, t, style_);
    PutTrouble(out, t, style_);
    out.push_back('\n');
  }

 private:
  static void PutTime(std::string& out, const std::optional<int64_t>& ns) {
    if (ns) {
      PutDuration(out, *ns);
    } else {
      out.push_back('-');
    }
  }

  static void PutPhases(std::string& out, const Transaction& t) {
    const session::Phases phases = session::PhasesOf(t);
    for (const std::optional<int64_t>& ns : phases.ns) {
      out.push_back(' ');
      PutRight(out, 8, [&] {
        if (ns || phases.complete) {
          if (ns) PutDuration(out, *ns);
        } else {
          out.push_back('?');
        }
      });
    }
  }

  static void PutCell(std::string& out, bool known, uint64_t value, size_t width) {
    if (known) return PutNumber(out, value, width);
    for (size_t n = 1; n < width; ++n) out.push_back(' ');
    out.push_back('-');
  }

  template <typename Fn>
  static void PutPadded(std::string& out, size_t width, Fn&& fn) {
    const size_t start = out.size();
    fn();
    while (out.size() < start + width) out.push_back(' ');
  }

  template <typename Fn>
  static void PutRight(std::string& out, size_t width, Fn&& fn) {
    const size_t start = out.size();
    fn();
    const size_t n = out.size() - start;
    if (n >= width) return;
    const size_t shift = width - n;
    out.resize(start + width);
    std::memmove(out.data() + start + shift, out.data() + start, n);
    std::memset(out.data() + start, ' ', shift);
  }

  static void PutOperations(std::string& out, const Transaction& t, const Style& style) {
    if (!analysis::ProcedureKnown(t)) {
      Put(out, "{}?{}", style.dim, style.reset);
      return;
    }
    const rpc::CallHeader& call = t.call.rpc;
    Put(out, style.cyan);
    analysis::PutProgram(out, call);
    if (analysis::IsCompound(t) && !t.operations.empty()) {
      for (size_t i = 0; i < t.operations.size(); ++i) {
        if (i > 0) out.push_back(' ');
        analysis::PutOperation(out, t, t.operations[i].op);
      }
      if (!analysis::OperationsKnown(t)) Put(out, " ...");
    } else if (const char* name = rpc::ProcedureName(call.program, call.version, call.procedure)) {
      Put(out, std::string_view(name));
    } else {
      Put(out, "procedure {}", call.procedure);
    }
    Put(out, style.reset);
  }

  // The error that the reply reports, if any.
  static void PutStatus(std::string& out, const Transaction& t, const Style& style) {
    if (t.reply.form == session::ReplyForm::kError) {
      Put(out, "  {}RDMA_ERROR {}", style.red, rpcrdma::ErrorName(t.reply.header.err));
      if (t.reply.header.error_range) Put(out, " {}..{}", t.reply.header.vers_low, t.reply.header.vers_high);
      Put(out, style.reset);
      return;
    }
    if (t.reply.form == session::ReplyForm::kNone) {
      Put(out, "  {}no reply{}", style.yellow, style.reset);
      return;
    }
    const analysis::Ending ending = analysis::EndingOf(t);
    if (!ending.error) return;
    if (ending.name.empty()) {
      Put(out, "  {}status {}{}", style.red, t.reply.walk.nfs_status, style.reset);
    } else {
      Put(out, "  {}{}{}", style.red, ending.name, style.reset);
    }
  }

  static void PutChunks(std::string& out, const Transaction& t, const Style& style) {
    const rpcrdma::Header& call = t.call.header;
    if (!call.has_chunks()) return;
    Put(out, style.dim);
    for (const session::ReadChunk& chunk : t.call.read_chunks) {
      Put(out, "  [read {} at {}", chunk.length, chunk.position);
      PutSegments(out, chunk.segments.size());
    }
    for (size_t i = 0; i < call.write_chunks.size(); ++i) {
      Put(out, "  [write ");
      PutOffered(out, call, call.write_chunks[i], analysis::ReturnedInWriteChunk(t, i));
    }
    if (call.reply_chunk) {
      Put(out, "  [reply ");
      PutOffered(out, call, *call.reply_chunk, analysis::ReturnedInReplyChunk(t));
    }
    Put(out, style.reset);
  }

  static void PutOffered(std::string& out, const rpcrdma::Header& call, const rpcrdma::Chunk& chunk,
                         std::optional<uint64_t> returned) {
    if (returned) {
      Put(out, "{} of {}", *returned, analysis::ChunkBytes(call, chunk));
    } else {
      Put(out, "? of {}", analysis::ChunkBytes(call, chunk));
    }
    PutSegments(out, chunk.count);
  }

  static void PutSegments(std::string& out, size_t n) {
    if (n == 1) {
      out.push_back(']');
    } else {
      Put(out, ", {} segments]", n);
    }
  }

  static void PutTrouble(std::string& out, const Transaction& t, const Style& style) {
    const bool call = !t.call.complete, reply = t.reply.present && !t.reply.complete;
    const std::string_view which = call && reply ? "call and reply" : call ? "call" : reply ? "reply" : "";
    if (!which.empty()) Put(out, "  {}{} incomplete{}", style.yellow, which, style.reset);
    if (t.outcome == session::Outcome::kReissued) Put(out, "  {}xid sent again{}", style.yellow, style.reset);
    if (t.outcome == session::Outcome::kEvicted)
      Put(out, "  {}dropped for lack of memory{}", style.yellow, style.reset);
  }

  const Style& style_;
  const bool phases_;
};

}  // namespace

TransactionLister::TransactionLister(const CommonOptions& options, const Style& style, const Clock& clock,
                                     LineSink& lines, std::optional<std::string> file, bool phases)
    : options_(options),
      style_(style),
      clock_(clock),
      lines_(lines),
      phases_(phases),
      rows_(!ForPeople(options.format)),
      formatter_(options, results::InfoOf<analysis::TransactionRow>(), std::move(file)) {}

std::string TransactionLister::Heading(Format format, const Style& style, bool phases) {
  return format == Format::kText ? TextLine::Heading(style, phases) : std::string();
}

void TransactionLister::OnMessage(const Connection&, const session::Message& message, const Transaction* t) {
  if (message.role == session::Role::kCall && t) lines_.Open(t->call.frame.order(), t->serial);
}

void TransactionLister::OnTransaction(const Connection& connection, const Transaction& t) {
  const bool proven = connection.proof == session::Proof::kRpcRdma;
  const analysis::Filter& filter = options_.filter;
  const bool wanted = proven && filter.HasConnection(connection) && filter.HasRpc(t, clock_.first_time_ns);
  if (!wanted || session::IsCut(t)) {
    if (wanted) ++cut_;
    return lines_.Drop(t.call.frame.order(), t.serial);
  }
  ++count_;
  if (t.reply.frame.number != 0 && !session::PhasesOf(t).complete) ++phases_missing_;
  const bool text = options_.format == Format::kText;
  if (text) {
    text_.clear();
    TextLine(style_, phases_).Append(text_, t, clock_.first_time_ns);
    if (options_.sort.empty()) return lines_.Close(t.call.frame.order(), t.serial, text_, kNoKey);
  }
  const analysis::TransactionRow& row = rows_.Fill(t, clock_.first_time_ns);
  lines_.Close(t.call.frame.order(), t.serial, text ? std::string_view(text_) : formatter_.Format(row),
               formatter_.KeyOf(&row));
}

// Only before the first line.
static void PutHeading(Output& output, std::string& heading) {
  Put(output.buffer(), std::string_view(heading));
  heading.clear();
}

void LinesAtOnce::Close(uint64_t, uint64_t, std::string_view line, const results::SortKey&) {
  PutHeading(output_, heading_);
  Put(output_.buffer(), line);
  output_.Commit();
}

void LinesByCall::Open(uint64_t frame, uint64_t serial) {
  if (!rows_.sorts()) lines_.Open(frame, serial);
}

void LinesByCall::Close(uint64_t frame, uint64_t serial, std::string_view line, const results::SortKey& key) {
  PutHeading(output_, heading_);
  if (rows_.sorts()) return rows_.Write(line, key, frame);
  lines_.Close(frame, serial, line);
  lines_.Release(clock_.frame > kSlackFrames ? clock_.frame - kSlackFrames : 0, released_);
  PassOn();
}

void LinesByCall::Drop(uint64_t frame, uint64_t serial) {
  if (!rows_.sorts()) lines_.Drop(frame, serial);
}

void LinesByCall::Finish() {
  lines_.Finish(released_);
  PassOn();
  rows_.Finish();
}

void LinesByCall::PassOn() {
  if (released_.empty()) return;
  rows_.Write(released_);
  released_.clear();
}

}  // namespace stag::cli
