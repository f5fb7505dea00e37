// SPDX-License-Identifier: GPL-2.0-or-later
//
// stag serve: a responder for live clients. Listens, answers until a signal ends it, and reports.
#include <algorithm>
#include <memory>
#include <optional>

#include "cli/analysis/analysis.h"
#include "cli/base/options.h"
#include "cli/live/live_output.h"
#include "cli/live/serve_rows.h"
#include "protocol/rpc/message.h"
#include "replay/endpoint/transports.h"
#include "replay/rpcrdma/echo_program.h"
#include "replay/serve/gss_service.h"
#include "replay/serve/nfs_memory.h"
#include "replay/serve/recorded.h"
#include "replay/serve/server.h"
#include "text/put.h"

namespace stag::cli {
namespace {

using serve::RpcService;

enum class Mode : uint8_t { kUnsaid, kNull, kEcho, kNfsMemory, kRecorded };

struct PatternFile {
  std::string name;
  uint64_t size = 0;
};

struct ServeArguments : LiveOptions {
  std::string file;
  endpoint::HostPort listen;
  Mode mode = Mode::kUnsaid;
  serve::ServerOptions server;
  double delay_ms = 0;
  std::vector<PatternFile> files_to_make;
  std::string exported, keytab;
  std::optional<endpoint::HostPort> mount;
};

std::string_view ModeName(Mode mode) {
  constexpr std::string_view kNames[] = {"", "null", "echo", "nfs-memory", "recorded"};
  return kNames[static_cast<size_t>(mode)];
}

std::string ProcedureText(const RpcService::Procedure& p) {
  if (p == RpcService::Procedure{}) return "other programs, versions or procedures";
  const bool echo = p.program == rpcrdma::kEchoProgram;
  const char* program = echo ? "ECHO" : rpc::ProgramName(p.program, p.version);
  const char* procedure =
      echo && p.procedure == rpcrdma::kEchoProcedure ? "ECHO" : rpc::ProcedureName(p.program, p.version, p.procedure);
  return fmt::format("{}v{} {}", program ? program : std::to_string(p.program), p.version,
                     procedure ? procedure : std::to_string(p.procedure));
}

void PutText(std::string& out, const serve::ServerReport& report, const serve::ProcedureCounts& procedures) {
  const rpcrdma::ResponderStats& s = report.stats;
  Put(out, "{}: {} ended in order, {} broken; {} rejected\n", Count(report.connections, "connection"), report.ended,
      report.broken, report.rejected);
  if (report.dismissed > 0) Put(out, "{} gave way to a new one\n", Count(report.dismissed, "idle connection"));
  Put(out, "{} ({}), {} replied to ({}), {} ERR_VERS, {} ERR_CHUNK, {} dropped\n", Count(s.calls, "call"),
      SizeText(s.received_bytes), s.replies, SizeText(s.sent_bytes), s.err_vers, s.err_chunk, s.dropped);
  for (const auto& [procedure, counts] : procedures) {
    Put(out, "{:>12}  {}", counts.calls, ProcedureText(procedure));
    if (counts.refused > 0) Put(out, ", {} refused", counts.refused);
    Put(out, "\n");
  }
  for (const auto& [text, times] : report.troubles) Put(out, "{:>12}  {}\n", fmt::format("{} x", times), text);
}

void PutText(std::string& out, const serve::RecordedService& service) {
  const serve::RecordedService::Stats& s = service.stats();
  Put(out, "{} answered from the recording", Count(s.matched, "call"));
  if (s.repeated > 0) Put(out, " ({} with the last reply again)", s.repeated);
  if (s.other_stateid > 0) Put(out, " ({} with another stateid)", s.other_stateid);
  Put(out, ", {} not in it\n", s.unmatched);
  if (s.callbacks > 0) Put(out, "{} made again\n", Count(s.callbacks, "recorded callback"));
  for (const auto& [kind, sample] : service.samples())
    Put(out, "{:>12}  {}\n", fmt::format("{} x", sample.times), sample.text);
}

void PutRows(RowOutput& rows, const serve::ServerReport& report, const serve::ProcedureCounts& procedures,
             const serve::RecordedService* recorded) {
  if (recorded) {
    for (const auto& [kind, sample] : recorded->samples()) rows.PutOther(sample);
    rows.PutOther(RecordedRow{&recorded->stats(), recorded->answers(), recorded->unusable()});
  }
  for (const auto& [procedure, counts] : procedures)
    rows.Put(ServedProcedureRow{{procedure.program, procedure.version, procedure.procedure, ProcedureText(procedure)},
                                counts.calls,
                                counts.refused});
  PutTroubles(rows, report.troubles);
  rows.PutOther(report);
}

Result<void> Fill(serve::MemoryFs& fs, const ServeArguments& options) {
  if (!options.exported.empty())
    if (auto added = serve::AddDirectory(fs, options.exported); !added) return added;
  for (const PatternFile& file : options.files_to_make)
    if (auto added = serve::AddPatternFile(fs, file.name, file.size); !added) return added;
  return {};
}

// A capture file as a Recording.
struct LoadedRecording {
  recording::Recording recording;
  bool damaged = false;  // the file could not be read to its end (which was complained about)
};

// Reads `file` ("-": standard input) with `options.memory`; what does not fit goes to a temporary file. A file
// without RPC-over-RDMA is an error, too; its text is empty when the trouble was complained about already.
Result<LoadedRecording> LoadRecording(const std::string& file, const CommonOptions& options, Output& output) {
  CommonOptions half = options;  // the other half is for what is kept
  half.memory = options.memory / 2;
  recording::RecordingBuilder recorder(options.memory - half.memory);
  Clock clock;
  const FileOutcome outcome = Analyze(file, half, true, clock, output, {&recorder});
  if (!outcome.opened) return Fail({});
  auto recording = recorder.Finish();
  if (!recording) return tl::unexpected(recording.error());
  if (recording->rpcs.empty() && recording->cut == 0)
    return Fail(fmt::format("{}: no RPC-over-RDMA in {}", DisplayName(file), Count(outcome.frames, "frame")));
  return LoadedRecording{std::move(*recording), outcome.damaged};
}

// What is served.
class Content {
 public:
  explicit Content(uint64_t memory) : fs_(memory) {}
  // False: the trouble was complained about.
  bool Open(const ServeArguments& options, Output& output);
  rpcrdma::Service& service() {
    if (gss_) return *gss_;
    return recorded_ ? static_cast<rpcrdma::Service&>(*recorded_) : *rpc_;
  }
  rpcrdma::Service& mount() { return *mount_; }
  const serve::RecordedService* recorded() const { return recorded_.get(); }
  const serve::ProcedureCounts& counts() const { return recorded_ ? recorded_->counts() : rpc_->counts(); }
  bool damaged() const { return recording_.damaged; }

 private:
  bool OpenRecording(const ServeArguments& options, Output& output);

  serve::MemoryFs fs_;
  LoadedRecording recording_;
  std::unique_ptr<serve::RecordedService> recorded_;
  std::unique_ptr<RpcService> rpc_, mount_;
  std::optional<gss::Acceptor> acceptor_;
  std::optional<serve::GssService> gss_;
};

bool Content::Open(const ServeArguments& options, Output& output) {
  if (options.mode == Mode::kRecorded) return OpenRecording(options, output);
  if (auto filled = Fill(fs_, options); !filled) return Trouble(filled.error()), false;
  const uint32_t largest = options.server.responder.max_message;
  rpc_ = options.mode == Mode::kNfsMemory
             ? serve::MakeNfsMemoryService(fs_, std::min(serve::kLargestTransfer, (largest - 4096) & ~4095u))
         : options.mode == Mode::kEcho ? serve::MakeEchoService()
                                       : serve::MakeNullService();
  mount_ = serve::MakeMountService(fs_);
  if (options.keytab.empty()) return true;
  auto credentials = gss::OpenAcceptor(options.keytab);
  if (!credentials) return Trouble(credentials.error()), false;
  gss_.emplace(*rpc_, acceptor_.emplace(std::move(*credentials)));
  return true;
}

bool Content::OpenRecording(const ServeArguments& options, Output& output) {
  auto loaded = LoadRecording(options.file, options, output);
  if (!loaded) {
    if (!loaded.error().message.empty()) ComplainText(loaded.error().message);
    return false;
  }
  recording_ = std::move(*loaded);
  recorded_ = std::make_unique<serve::RecordedService>(recording_.recording);
  if (const recording::PayloadStore& store = *recording_.recording.store; !options.quiet && store.in_file() > 0)
    Complain("{}: {} in {:.1f} MiB of memory and {:.1f} MiB of a temporary file", DisplayName(options.file),
             Count(recording_.recording.rpcs.size(), "call"), static_cast<double>(store.in_memory()) / (1 << 20),
             static_cast<double>(store.in_file()) / (1 << 20));
  if (recorded_->answers() == 0) {
    Complain("{}: none of its {} has a whole reply to answer with", DisplayName(options.file),
             Count(recorded_->unusable() + recording_.recording.cut, "call"));
    return false;
  }
  if (options.mount && recorded_->root().empty()) {
    Complain("{}: no NFSv3 call names a file handle that --mount-port could give", DisplayName(options.file));
    return false;
  }
  mount_ = serve::MakeMountService(recorded_->root());
  if (!options.quiet && recorded_->unusable() + recording_.recording.cut > 0)
    Complain("{}: {} without a whole reply: a client that makes one gets an error", DisplayName(options.file),
             Count(recorded_->unusable() + recording_.recording.cut, "call"));
  return true;
}

// What is wrong with the options together; empty: nothing.
std::string_view ServeContradiction(const ServeArguments& options) {
  const bool nfs = options.mode == Mode::kNfsMemory, recorded = options.mode == Mode::kRecorded;
  if (options.mode == Mode::kUnsaid) return "--mode is needed, or a FILE to answer from";
  if (recorded && options.file.empty()) return "--mode recorded needs a FILE to answer from";
  if (!recorded && !options.file.empty()) return "a FILE is for --mode recorded";
  if (!nfs && (!options.exported.empty() || !options.files_to_make.empty()))
    return "--file and --export are for --mode nfs-memory";
  if (!nfs && !options.keytab.empty()) return "--keytab is for --mode nfs-memory";
  if (!nfs && !recorded && options.mount) return "--mount-port is for --mode nfs-memory and recorded";
  return {};
}

int RunServe(ServeArguments options) {
  if (options.mode == Mode::kUnsaid && !options.file.empty()) options.mode = Mode::kRecorded;
  if (const std::string_view text = ServeContradiction(options); !text.empty()) {
    ComplainText(text);
    return kExitTrouble;
  }
  const Signals signals;
  LiveOutput to(options, results::InfoOf<ServedProcedureRow>());
  to.output.set_stop(signals.descriptor());
  Content content(options.memory);
  if (!content.Open(options, to.output)) return kExitTrouble;

  auto transport = endpoint::OpenTransport(options.transport);
  if (!transport) return Trouble(transport.error());
  auto listener = (*transport)->Listen(options.listen);
  if (!listener) return Trouble(listener.error());
  options.listen.port = (*listener)->port();
  std::unique_ptr<rpcrdma::TcpRpc> mount;
  if (options.mount) {
    auto opened = rpcrdma::TcpRpc::Listen(*options.mount, content.mount());
    if (!opened) return Trouble(opened.error());
    mount = std::move(*opened);
  }

  const std::string name = (*transport)->name();
  const auto mount_port = mount ? std::optional(mount->port()) : std::nullopt;
  to.Begin(ListeningRow{ModeName(options.mode), name, options.listen.host, options.listen.port, mount_port},
           fmt::format("listening on {} by {}, mode {}{}", AddressText(options.listen), name, ModeName(options.mode),
                       mount ? fmt::format(", MOUNT on TCP port {}", *mount_port) : ""));
  LiveMonitor monitor(options, fmt::format("port {}", options.listen.port), to.output);
  options.server.stop = signals.descriptor();
  options.server.notice = Notices(options.quiet);
  options.server.events = monitor.log();
  options.server.crc = options.crc;
  options.server.responder.delay = std::chrono::microseconds(static_cast<int64_t>(options.delay_ms * 1000));
  serve::Server server(**listener, content.service(), mount.get(), options.server);
  const Result<void> ran = server.Run();
  monitor.Drain();
  if (to.rows.as_text()) {
    PutText(to.output.buffer(), server.report(), content.counts());
    if (content.recorded()) PutText(to.output.buffer(), *content.recorded());
  } else {
    PutRows(to.rows, server.report(), content.counts(), content.recorded());
  }
  const int status = to.End(monitor, ran);
  return content.damaged() ? kExitTrouble : status;
}

std::string TakeFile(const std::string& text, PatternFile& to) {
  const size_t equals = text.rfind('=');
  const auto size = equals == std::string::npos ? std::nullopt : ParseSize(std::string_view(text).substr(equals + 1));
  if (!size || equals == 0) return text + " is not like NAME=SIZE, data=64M for example";
  to = {text.substr(0, equals), *size};
  return {};
}

void AddResponderOptions(CLI::App& command, rpcrdma::ResponderOptions& responder) {
  AddRange(command, "--credits", responder.credits, 1, 4096, "Credits to grant (default: 64)");
  AddRange(command, "--send-size", responder.send_size, 1024, 262144,
           "Inline threshold for Replies, bytes (default: 4096)", "BYTES");
  AddRange(command, "--receive-size", responder.receive_size, 1024, 262144,
           "Inline threshold for Calls, bytes (default: 4096)", "BYTES");
  command.add_flag_callback(
      "--no-private-data", [&responder] { responder.send_private_data = false; },
      "Send no RFC 8797 private data: both thresholds are 1024 bytes then");
  command.add_flag_callback(
      "--no-remote-invalidation", [&responder] { responder.remote_invalidation = false; },
      "Never use Send with Invalidate");
  AddSize(command, "--max-message", responder.max_message, 65536, 1u << 30,
          "Largest Call, its chunks included (default: 4M); a larger one gets ERR_CHUNK");
}

}  // namespace

void AddServe(CLI::App& app, Run& run) {
  auto options = std::make_shared<ServeArguments>();
  CLI::App* command = app.add_subcommand("serve", "A live responder: from a capture, NULL, ECHO, or NFSv3 in memory");
  ServeArguments* const o = options.get();
  AddChoice<Mode>(
      *command, "--mode", o->mode,
      {{"null", Mode::kNull}, {"echo", Mode::kEcho}, {"nfs-memory", Mode::kNfsMemory}, {"recorded", Mode::kRecorded}},
      "What is served: see below (default with a FILE: recorded)");
  Reads(command->add_option("FILE", o->file, "recorded: the capture to answer from; - is standard input"))
      ->type_name("");
  AddOrder(*command, *o);
  AddParsed(
      *command, "--listen", [o](std::string& text) { return TakeAddress(text, 20049, o->listen); }, "[ADDR]:PORT",
      "Where to listen (default: :20049, on every address); port 0: any that is free");
  AddResponderOptions(*command, o->server.responder);
  AddSize(
      *command, "--chunk-memory", o->server.call_memory, 1u << 20, UINT64_MAX,
      "What the chunks and long replies of all clients' calls may take (default: 256M); calls wait when there is no\n"
      "more");
  AddRange(*command, "--delay", o->delay_ms, 0.0, 60'000.0, "Wait so long before each Reply (default: 0)", "MS");
  AddRange(*command, "--threads", o->server.threads, 1, 1024,
           "Deal connections out over so many threads (default: 1); --check and --record have one\n"
           "of their own, and the others wait when that is slower (stderr says how long)");
  AddRange(*command, "--max-connections", o->server.max_connections, 1, 65536,
           "At a time (default: 256); the client that is idle for longest gives way to one more, and one more is\n"
           "rejected when none is");
  command->add_flag("--once", o->server.once, "End when the first connection has");
  AddLiveOptions(*command, *options);
  AddParsed(
      *command, "--file", [o](std::string& text) { return TakeFile(text, o->files_to_make.emplace_back()); },
      "NAME=SIZE", "nfs-memory: a file of so many bytes; the byte at offset i is i mod 251. Can be repeated");
  command->add_option("--export", o->exported, "nfs-memory: begin with a copy of this directory, read once")
      ->type_name("DIR");
  Reads(command->add_option(
            "--keytab", o->keytab,
            "nfs-memory: RPCSEC_GSS with Kerberos 5, too, for the services that have a key in this table"))
      ->type_name("FILE");
  AddParsed(
      *command, "--mount-port",
      [o](std::string& text) {
        endpoint::HostPort at;
        std::string complaint = TakeAddress(":" + text, 0, at);
        if (complaint.empty()) o->mount = at;
        return complaint;
      },
      "PORT",
      "nfs-memory, recorded: MOUNT on this TCP port (0: any), at the address of --listen; recorded: gives the file\n"
      "handle that the first recorded NFSv3 call names");
  AddSize(*command, "--memory", o->memory, 1u << 20, UINT64_MAX,
          "nfs-memory: what files may take (default: 256M); then NFS3ERR_NOSPC. recorded: what is kept in memory "
          "(default: 256M);\n"
          "more goes to a temporary file");
  AddLiveOutput(*command, *options);
  command->footer(fmt::format(
      "null answers NULL of NFS, MOUNT, NLM, NSM and NFSACL, and nothing else. echo is program {:#x}, version 1:\n"
      "procedure 1 returns its opaque argument. nfs-memory is NFSv3 with MOUNT on the same port; nothing is kept at\n"
      "the end, and permissions are not enforced. SIGINT and SIGTERM end with a summary.\n"
      "\n"
      "recorded gives the reply that the capture has to the same call. Calls are the same when program, procedure and\n"
      "arguments are; xid, credentials, NFSv4 sessions, slots, owners and client names may differ, and the reply is\n"
      "fitted to them; stateids, too, where no call has the same. The same call again gets the next recorded reply to "
      "it, and after the last that one again; "
      "each\n"
      "connection begins anew. A call that is not in the capture gets NFS3ERR_NOTSUPP, NFS4ERR_NOTSUPP or an RPC "
      "error\n"
      "and is reported. Calls of the server (callbacks) are made behind the replies that they followed.\n"
      "\nExamples:\n"
      "  stag serve --mode null --listen :20049\n"
      "  stag serve --mode echo --listen 127.0.0.1:0 --once --check\n"
      "  stag serve --mode echo --record echo.pcapng; stag transactions echo.pcapng\n"
      "  stag serve capture.pcapng --listen :20049\n"
      "  stag serve --mode nfs-memory --file data=256M --memory 1G --mount-port 20048\n"
      "  mount -t nfs -o vers=3,proto=rdma,port=20049,mountproto=tcp,mountport=20048,nolock SERVER:/ /mnt",
      rpcrdma::kEchoProgram));
  command->callback([options, &run] {
    if (options->mount) options->mount->host = options->listen.host;
    run = [options] { return RunServe(*options); };
  });
}

}  // namespace stag::cli
