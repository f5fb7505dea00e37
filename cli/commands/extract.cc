// SPDX-License-Identifier: GPL-2.0-or-later
//
// stag extract: the contents of files as NFS READ and WRITE moved them, one sparse file per file handle, and a manifest
// on stdout: the contents of each, and what is missing.
#include <filesystem>
#include <memory>
#include <optional>

#include "analysis/file_row.h"
#include "analysis/filter.h"
#include "cli/analysis/analysis.h"
#include "cli/analysis/file_runner.h"
#include "cli/analysis/file_store.h"
#include "cli/base/options.h"
#include "cli/base/row_output.h"
#include "session/fabric/names.h"
#include "session/files/file_accesses.h"
#include "text/put.h"

namespace stag::cli {
namespace {

using session::Connection;
using session::FileAccess;
using session::FileAccesses;
using session::NamedHandle;
using session::Transaction;

struct ExtractArguments : CommonOptions {
  std::string out;
  bool force = false;
};

class Extractor final : public session::Observer {
 public:
  // `clock`: of the analysis.
  Extractor(const analysis::Filter& filter, const Clock& clock, FileStore& store, Output& output)
      : filter_(filter), clock_(clock), store_(store), output_(output) {}

  void OnTransaction(const Connection& connection, const Transaction& t) override {
    if (!error_.empty() || connection.proof != session::Proof::kRpcRdma) return;
    found_.Collect(t);
    if (found_.names().empty() && found_.accesses().empty()) return;
    const std::string server = fabric::AddressText(connection.info.endpoint[1 - t.requester].address);
    for (const NamedHandle& named : found_.names()) store_.Name(server, named.handle, named.name);
    if (found_.accesses().empty() || !filter_.HasConnection(connection) || !filter_.HasRpc(t, clock_.first_time_ns))
      return;
    for (const FileAccess& access : found_.accesses()) Take(server, t, access);
  }

  const std::string& error() const { return error_; }
  uint64_t without_handle() const { return without_handle_; }

 private:
  void Take(const std::string& server, const Transaction& t, const FileAccess& access) {
    if (access.handle.empty()) {
      ++without_handle_;
      return;
    }
    ExtractedFile* file = store_.Find(server, access.handle);
    if (!file) return;
    if (file->first.number == 0 || t.call.frame.order() < file->first.order()) file->first = t.call.frame;
    constexpr size_t kMaxConnections = 1024;
    if (file->connections.size() < kMaxConnections) file->connections.insert(t.connection);
    if (!access.item || !access.item->complete || !access.payload->complete) {
      file->lost = true;
      return;
    }
    const uint64_t length = access.item->item.length;
    const auto stored = store_.Put(*file, access.write, access.offset, length, [&](const auto& sink) {
      bool kept = true;
      const bool inside =
          t.ForEach(*access.payload, access.item->unreduced_offset, length, [&](Bytes bytes, uint64_t n) {
            if (bytes.size() == n && kept) {
              sink(bytes);
            } else {
              kept = false;
            }
          });
      return inside && kept;
    });
    if (!stored) {
      error_ = stored.error().message;
      output_.Stop();
      return;
    }
    if (access.eof && access.offset <= UINT64_MAX - length) {
      file->end_seen = true;
      file->end = access.offset + length;
    }
  }

  const analysis::Filter& filter_;
  const Clock& clock_;
  FileStore& store_;
  Output& output_;
  FileAccesses found_;
  std::string error_;
  uint64_t without_handle_ = 0;
};

// Calls fn(begin, end) for each stretch before the last byte that nothing was read from or written to.
template <typename Fn>
void ForEachHole(const ExtractedFile& file, Fn&& fn) {
  uint64_t at = 0;
  for (const session::RangeSet::Range& range : file.covered.ranges()) {
    if (range.begin > at) fn(at, range.begin);
    at = range.end;
  }
}

uint64_t HoleBytes(const ExtractedFile& file) { return file.size() - file.covered.total(); }

analysis::FileRow RowOf(const std::string& directory, const ExtractedFile& file, int64_t origin_ns) {
  analysis::FileRow row;
  row.time = analysis::TimeOf(file.first);
  row.time_s = analysis::SinceStart(file.first, origin_ns);
  if (!file.path.empty()) row.path = directory + "/" + file.path;
  if (!file.name.empty()) row.name = file.name;
  const Bytes handle = std::as_bytes(std::span(file.handle));
  row.handle.assign(handle.begin(), handle.end());
  row.server = file.server;
  row.size = file.size();
  row.complete = file.complete();
  row.end_seen = file.end_seen && file.end == file.size();
  row.read_bytes = file.read.total();
  row.written_bytes = file.written.total();
  row.connections.assign(file.connections.begin(), file.connections.end());
  if (!file.ranges_kept) return row;
  for (const auto& [from, to] : {std::pair(&file.read, &row.read), {&file.written, &row.written}}) {
    to->emplace();
    for (const session::RangeSet::Range& range : from->ranges()) (*to)->push_back({range.begin, range.end});
  }
  row.holes.emplace();
  ForEachHole(file, [&row](uint64_t begin, uint64_t end) { row.holes->push_back({begin, end}); });
  return row;
}

void PutTextLine(std::string& out, const ExtractedFile& file, const Style& style) {
  Put(out, "{:>14} {:>14} {:>14} {:>12}  ", file.size(), file.read.total(), file.written.total(), HoleBytes(file));
  if (file.complete()) {
    Put(out, "{}complete{}    ", style.green, style.reset);
  } else {
    Put(out, "{}incomplete{}  ", style.yellow, style.reset);
  }
  if (file.path.empty()) {
    Put(out, "{}(nothing of it was wholly captured: {}){}", style.dim,
        file.name.empty() ? "no name seen" : SafeFileName(file.name), style.reset);
  } else {
    Put(out, std::string_view(file.path));
  }
  Put(out, "\n");
}

void PutManifest(const std::string& directory, const FileStore& store, int64_t origin_ns, RowOutput& rows,
                 Output& output) {
  const Style& style = output.style();
  if (rows.as_text() && !store.files().empty()) {
    Put(output.buffer(), "{}{:>14} {:>14} {:>14} {:>12}  {:<12}{}{}\n", style.bold, "size", "read", "written", "holes",
        "", "file", style.reset);
  }
  std::string text;
  for (const ExtractedFile& file : store.files()) {
    const analysis::FileRow row = RowOf(directory, file, origin_ns);
    if (!rows.as_text()) {
      rows.Put(row);
      continue;
    }
    text.clear();
    PutTextLine(text, file, style);
    rows.Put(row, text);
  }
  rows.Finish();
}

// Where the files of one capture go: the directory itself (empty), or with several captures one in it for each.
class Directories {
 public:
  explicit Directories(const ExtractArguments& options) : options_(options) {}
  std::string Next(const std::string& file) {
    if (options_.files.size() == 1) return {};
    const std::string base = file == "-" ? "stdin" : std::filesystem::path(file).filename().string();
    std::string name = SafeFileName(base, 240);
    if (name.empty()) name = "capture";
    const std::string first = name;
    for (unsigned n = 2; !taken_.insert(name).second; ++n) name = fmt::format("{}~{}", first, n);
    return name;
  }

 private:
  const ExtractArguments& options_;
  std::set<std::string> taken_;
};

int RunExtract(const ExtractArguments& options) {
  Output output(options);
  SetDocument(output, options, results::InfoOf<analysis::FileRow>());
  int status = kExitFine;
  // With several captures, the directory that holds theirs must be empty, too.
  if (options.files.size() > 1) {
    if (const auto top = FileStore::Open(options.out, options.force, {}); !top) return Trouble(top.error());
  }
  Directories directories(options);
  const int read = ForEachFile(options, output, [&](const std::string& file) {
    const std::string below = directories.Next(file);
    const std::string directory = below.empty() ? options.out : options.out + "/" + below;
    FileOutcome outcome;
    auto store = FileStore::Open(options.out, options.force, {}, below);
    if (!store) {
      ComplainText(store.error().message);
      return outcome;
    }
    Clock clock;
    Extractor extractor(options.filter, clock, **store, output);
    outcome = Analyze(file, options, true, clock, output, {&extractor});
    if (!outcome.opened) return outcome;
    Result<void> finished = Fail(extractor.error());
    if (extractor.error().empty()) finished = (*store)->Finish();
    if (!finished) {
      ComplainText(finished.error().message);
      status = kExitTrouble;
    }
    if (!extractor.error().empty()) return outcome;  // the disk took no more: nothing of this capture stays
    RowOutput rows(output, options, results::InfoOf<analysis::FileRow>(), DisplayName(file));
    PutManifest(directory, **store, outcome.first_time_ns, rows, output);
    output.Flush();
    if (options.quiet || output.closed()) return outcome;
    if ((*store)->files().empty()) {
      Complain("{}: no {}NFS READ or WRITE that can be read in {}", DisplayName(file),
               options.filter.empty() ? "" : "such ", Count(outcome.frames, "frame"));
    }
    if (extractor.without_handle() > 0) {
      Complain("{}: {} READs or WRITEs left out: the capture does not tell of which file", DisplayName(file),
               extractor.without_handle());
    }
    if ((*store)->files_refused() > 0) {
      Complain("{}: {} READs or WRITEs left out: too many files", DisplayName(file), (*store)->files_refused());
    }
    rows.Complain(DisplayName(file));
    return outcome;
  });
  return status != kExitFine ? status : read;
}

}  // namespace

void AddExtract(CLI::App& app, Run& run) {
  auto options = std::make_shared<ExtractArguments>();
  CLI::App* command = app.add_subcommand("extract", "File contents as seen in NFS READ and WRITE, with a manifest");
  AddCaptureOptions(*command, *options, Formats::kRows);
  AddFilters(*command, *options, "READs and WRITEs", "READs and WRITEs");
  AddListOptions(*command, *options, results::InfoOf<analysis::FileRow>());
  command->add_option("-o,--out", options->out, "Directory for the files; made when it is not there")
      ->required()
      ->type_name("DIR");
  command->add_flag("--force", options->force, "Write into a directory that is not empty, replacing files");
  command->footer(
      "One sparse file per file handle, with the name that was last seen for it, or fh-....bin. Where READs and "
      "WRITEs\n"
      "overlap, the later ones stand. Only data that was wholly captured is written; the manifest on stdout says what "
      "is\n"
      "missing (\"holes\" in bytes; \"complete\": all that was moved was captured, without a hole). With several "
      "captures each\n"
      "gets a directory of its own in DIR.\n"
      "\nExamples:\n"
      "  stag extract mount.pcapng --out files\n"
      "  stag extract mount.pcapng --out read --procedure READ --client 10.0.0.2 --format table --sort read_bytes\n"
      "  stag extract mount.pcapng --out files --format jsonl | jq 'select(.complete).path'");
  command->callback([options, &run] { run = [options] { return RunExtract(*options); }; });
}

}  // namespace stag::cli
