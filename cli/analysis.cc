// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/analysis.h"

#include "cli/shares.h"
#include "text/put.h"

namespace stag::cli {
namespace {

void ReportDrops(const std::string& name, const Outcome& outcome) {
  if (outcome.decoder.dropped_for_memory > 0 || outcome.session.dropped_bytes > 0 ||
      outcome.session.evicted_transactions > 0) {
    Complain("{}: the memory cap was reached: gave up {}, {} of payload and {} of reassembly; --memory raises the cap",
             name, Count(outcome.session.evicted_transactions, "transaction"),
             Count(outcome.session.dropped_bytes, "byte"), Count(outcome.decoder.dropped_for_memory, "item"));
  }
  if (outcome.decoder.ip_fragments > 0) {
    Complain("{}: {} with a fragment of an IP packet could not be followed", name,
             Count(outcome.decoder.ip_fragments, "frame"));
  }
}

}  // namespace

std::string DisplayName(const std::string& file) { return file == "-" ? "standard input" : file; }

namespace {

// Opens the file and lets `analyze` do the rest.
template <typename Fn>
Outcome WithReader(const std::string& file, Output& output, Fn analyze) {
  auto opened = capture::Reader::Open(file);
  if (!opened) {
    Outcome outcome;
    output.Flush();
    outcome.trouble = opened.error().message;
    ComplainText(outcome.trouble);
    return outcome;
  }
  return analyze(**opened, DisplayName(file));
}

session::SessionOptions SessionOptionsOf(const CommonOptions& options, bool keep_bulk) {
  session::SessionOptions session_options;
  session_options.keep_bulk = keep_bulk;
  session_options.memory_limit = options.memory - options.memory / 4;
  return session_options;
}

// Every frame to a Decoder, whose events go to `sink`, which is a Session or does what one does. `before_frame` is told
// what comes.
template <typename Sink, typename Fn>
Outcome Run(capture::Reader& reader, const std::string& name, const CommonOptions& options, Output& output, Sink& sink,
            Fn before_frame) {
  Outcome outcome;
  outcome.opened = true;
  fabric::DecoderOptions decoder_options;
  decoder_options.memory_limit = options.memory / 4;
  fabric::Decoder decoder(decoder_options, sink);

  Progress progress(options.progress && !options.quiet, name);
  output.set_before_write([&progress] { progress.Clear(); });
  Frame frame;
  capture::Reader::Next next = capture::Reader::Next::kEnd;
  while (!output.stopped() && (next = reader.ReadFrame(frame)) == capture::Reader::Next::kFrame) {
    ++outcome.frames;
    before_frame(frame);
    decoder.OnFrame(frame);
    if (progress.active() && outcome.frames % 1024 == 0) {
      progress.Update(reader.position(), reader.size(), outcome.frames);
    }
  }
  decoder.Finish();
  sink.Finish();
  progress.Clear();
  output.set_before_write(nullptr);
  outcome.damaged = next == capture::Reader::Next::kDamaged;
  outcome.decoder = decoder.stats();
  outcome.session = sink.stats();
  if (outcome.damaged) {
    output.Flush();
    outcome.trouble = fmt::format("{}: {}", name, reader.error());
    ComplainText(outcome.trouble);
  }
  if (!options.quiet && !output.closed()) ReportDrops(name, outcome);
  return outcome;
}

}  // namespace

Outcome Analyze(const std::string& file, const CommonOptions& options, bool keep_bulk, Clock& clock, Output& output,
                std::vector<session::Observer*> observers) {
  return WithReader(file, output, [&](capture::Reader& reader, const std::string& name) {
    return Analyze(reader, name, options, keep_bulk, clock, output, std::move(observers));
  });
}

Outcome Analyze(capture::Reader& reader, const std::string& name, const CommonOptions& options, bool keep_bulk,
                Clock& clock, Output& output, std::vector<session::Observer*> observers) {
  clock = Clock{};
  session::Session session(SessionOptionsOf(options, keep_bulk), std::move(observers));
  return Run(reader, name, options, output, session, [&clock](const Frame& frame) {
    if (clock.frame == 0) clock.first_time_ns = frame.ref.time_ns;
    clock.frame = frame.ref.number;
  });
}

Outcome Analyze(const std::string& file, const CommonOptions& options, bool keep_bulk, Output& output,
                std::vector<Share*> shares) {
  return WithReader(file, output, [&](capture::Reader& reader, const std::string& name) {
    Shares sink(SessionOptionsOf(options, keep_bulk), std::move(shares));
    return Run(reader, name, options, output, sink, [&](const Frame& frame) { sink.OnFrame(frame, reader.memory()); });
  });
}

int ForEachFile(const CommonOptions& options, Output& output,
                const std::function<Outcome(const std::string& file)>& analyze, Headings headings) {
  int status = kExitFine;
  bool first = true;
  for (const std::string& file : options.files) {
    if (output.stopped()) break;
    if (headings == Headings::kYes && options.files.size() > 1 && options.format == Format::kText) {
      const Style& style = output.style();
      Put(output.buffer(), "{}{}== {} =={}\n", first ? "" : "\n", style.bold, DisplayName(file), style.reset);
    }
    first = false;
    const Outcome outcome = analyze(file);
    if (!outcome.opened || outcome.damaged) status = kExitTrouble;
  }
  output.Flush();
  return output.failed() ? kExitTrouble : status;
}

}  // namespace stag::cli
