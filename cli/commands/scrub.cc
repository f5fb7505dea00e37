// SPDX-License-Identifier: GPL-2.0-or-later
//
// stag scrub: a capture without its secrets: frames, lengths, times, chunks and credits stay, names, data and addresses
// are replaced by values that a key tells. docs/security.md says what it promises.
#include <memory>

#include "analysis/scrub/key_file.h"
#include "analysis/scrub/scrub_row.h"
#include "analysis/scrub/scrubbed_file.h"
#include "analysis/scrub/scrubber.h"
#include "capture/file/reader.h"
#include "cli/analysis/analysis.h"
#include "cli/base/large_blocks.h"
#include "cli/base/options.h"
#include "cli/base/output.h"
#include "results/json.h"
#include "text/put.h"

namespace stag::cli {
namespace {

struct ScrubArguments : CommonOptions {
  std::string out, key;
  scrub::KeptValues kept;
};

// What a scrubbed file does not get.
class LeftOut final : public capture::BlockListener {
 public:
  explicit LeftOut(scrub::Replaced& replaced) : replaced_(replaced) {}
  void OnInterface(const capture::CaptureInterface&) override {}
  void OnBlock(const capture::OtherBlock&, const capture::CaptureInterface*) override { ++replaced_.left_out; }

 private:
  scrub::Replaced& replaced_;
};

// False: it could not be read to its end. `number`: of the file.
Result<bool> ScrubFile(const ScrubArguments& options, const std::string& file, uint64_t number,
                       scrub::ScrubbedFile& out, scrub::Pseudonyms& pseudonyms, scrub::Replaced& replaced) {
  auto reader = capture::Reader::Open(file);
  if (!reader) return tl::unexpected(reader.error());
  const std::string name = DisplayName(file);
  scrub::Scrubber scrubber(out, pseudonyms, replaced, {options.kept, options.memory, TunnelPortsOf(options)});
  Progress progress(options.progress && !options.quiet, name);
  if ((*reader)->is_slice()) out.SetSlice();
  LeftOut left_out(replaced);
  (*reader)->Listen(left_out);
  Frame frame;
  capture::Reader::Next next = capture::Reader::Next::kEnd;
  while ((next = (*reader)->ReadFrame(frame)) == capture::Reader::Next::kFrame) {
    out.SetOrigin((*reader)->origin(), number);
    const auto done = (*reader)->other_block() ? scrubber.OnOtherBlock(frame) : scrubber.OnFrame(frame);
    if (!done) return Fail(fmt::format("{}: {}", name, done.error().message));
    if (progress.active() && frame.ref.number % 1024 == 0)
      progress.Update((*reader)->position(), (*reader)->size(), frame.ref.number);
  }
  progress.Clear();
  scrubber.Finish();
  if (next != capture::Reader::Next::kDamaged) return true;
  Complain("{}: {}; what comes before is scrubbed", name, (*reader)->error());
  return false;
}

void PutScrubSummary(const ScrubArguments& options, const scrub::Replaced& replaced, bool complete) {
  if (options.format == Format::kJsonl && options.out != "-") {
    Output output(options);
    results::PutLine(output.buffer(), scrub::ScrubRow(options.out, complete, replaced));
  } else if (!options.quiet) {
    Complain("{}: {}", options.out == "-" ? "standard output" : options.out, scrub::ReplacedText(replaced));
  }
}

int RunScrub(const ScrubArguments& options) {
  KeepLargeBlocksApart();
  bool made = false;
  const auto key = options.key.empty() ? scrub::RandomKey() : scrub::KeyFromFile(options.key, made);
  if (!key) return Trouble(key.error());
  if (!options.quiet && options.key.empty())
    Complain("a random key is used, and forgotten: no other capture will match this one (--key FILE keeps it)");
  if (!options.quiet && made) ComplainText(scrub::NewKeyText(options.key));
  auto out = scrub::ScrubbedFile::Create(options.out, TunnelPortsOf(options));
  if (!out) return Trouble(out.error());
  scrub::Pseudonyms pseudonyms(*key);
  scrub::Replaced replaced;
  bool complete = true;
  for (size_t i = 0; i < options.files.size(); ++i) {
    const auto done = ScrubFile(options, options.files[i], i, **out, pseudonyms, replaced);
    if (!done) return Trouble(done.error());
    complete = complete && *done;
  }
  if (const auto finished = (*out)->Finish(); !finished) return Trouble(finished.error());
  PutScrubSummary(options, replaced, complete);
  return complete ? kExitFine : kExitTrouble;
}

std::string TakeKept(std::string& text, scrub::KeptValues& kept) {
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    if (word == "names") {
      kept.names = true;
    } else if (word == "addresses") {
      kept.addresses = true;
    } else if (word == "data-hash") {
      kept.data_hash = true;
    } else {
      return word + " is not one of names, addresses, data-hash";
    }
    begin = end + 1;
  }
  return {};
}

}  // namespace

void AddScrub(CLI::App& app, Run& run) {
  auto options = std::make_shared<ScrubArguments>();
  CLI::App* command = app.add_subcommand("scrub", "The same capture without its secrets: data, names, addresses");
  Reads(command->add_option("FILE", options->files, "Captures (pcap or pcapng, also compressed); - is standard input"))
      ->required()
      ->type_name("");
  Writes(command->add_option(
             "-w,--write", options->out,
             "The capture to write: pcap when the name ends with .pcap, else pcapng, and .zst compresses; - is "
             "standard output"))
      ->required()
      ->type_name("OUT");
  Reads(command->add_option("--key", options->key,
                            "The key, made when the file is not there: with the same key, captures match"))
      ->type_name("FILE");
  AddParsed(
      *command, "--keep", [options](std::string& text) { return TakeKept(text, options->kept); },
      "names|addresses|data-hash", "What stays: names, addresses, or that equal data can be told to be equal");
  command->add_flag("--progress", options->progress, "Show progress on stderr");
  AddMemory(*command, *options);
  AddTunnelPorts(*command, *options);
  AddOutputOptions(*command, *options);
  command->footer(
      "Frames, lengths, times, xids, RDMA handles, chunks and credits stay, so that stag finds in it what it finds in "
      "the\n"
      "original. What stag cannot decode becomes zeros. docs/security.md says what this promises, and what not.\n"
      "\nExamples:\n"
      "  stag scrub mount.pcapng -w public.pcapng\n"
      "  stag scrub client.pcapng -w client-public.pcapng --key site.key\n"
      "  stag scrub server.pcapng -w server-public.pcapng --key site.key   the same names and addresses as before\n"
      "  stag scrub mount.pcapng -w public.pcapng --keep addresses");
  command->callback([options, &run] {
    if (options->out.ends_with(".gz"))
      throw CLI::ValidationError(
          "scrubbed captures are not compressed with gzip: name the file .pcapng or .pcapng.zst");
    run = [options] { return RunScrub(*options); };
  });
}

}  // namespace stag::cli
