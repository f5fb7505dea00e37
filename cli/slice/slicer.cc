// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/slice/slicer.h"

#include <algorithm>
#include <map>

#include "cli/slice/marker.h"
#include "cli/slice/verifier.h"
#include "conformance/engine/engine.h"

namespace stag::cli {
namespace {

constexpr size_t kMostListed = 12;

// "A (3), B (1), and 4 more"
template <typename Map>
std::string Listed(const Map& counts) {
  std::string text;
  size_t listed = 0;
  for (const auto& [name, count] : counts) {
    if (listed++ == kMostListed) {
      Put(text, ", and {} more", counts.size() - kMostListed);
      break;
    }
    Put(text, "{}{} ({})", text.empty() ? "" : ", ", name, count);
  }
  return text;
}

class Slicer {
 public:
  Slicer(const SliceInput& input, const Selection& selection, const CommonOptions& options, Output& output)
      : input_(input),
        selection_(selection),
        options_(options),
        output_(output),
        silent_([](std::string_view) {}),
        silent_output_(
            Silent(options), [](std::string_view) {}, silent_) {}

  Sliced Run(bool cut_payload) {
    if (selection_.empty()) {
      sliced_.all = true;
    } else {
      Select();
    }
    if (cut_payload && sliced_.nothing.empty() && (complained_ ? sliced_.opened : true)) {
      const auto cutter = std::make_shared<PayloadCutter>(TunnelPortsOf(options_));
      (void)Pass({cutter.get()}, cutter.get());
      sliced_.cutter = cutter;
    }
    if (!complained_) sliced_.opened = true;  // who writes it reads it first
    return std::move(sliced_);
  }

 private:
  static CommonOptions Silent(CommonOptions options) {
    options.quiet = true;
    return options;
  }

  // The first pass reports what is wrong with the file. False: it cannot be read at all.
  bool Pass(std::vector<session::Observer*> observers, fabric::PacketObserver* packets,
            std::function<bool(const Frame&)> wants = nullptr) {
    Output& output = complained_ ? silent_output_ : output_;
    const FileOutcome outcome = input_.Analyze(options_, clock_, output, std::move(observers), packets, wants);
    if (!complained_) {
      sliced_.opened = outcome.opened;
      sliced_.damaged = outcome.damaged;
      sliced_.read = outcome.frames;
      choice_.first_time_ns = outcome.first_time_ns;
    }
    complained_ = true;
    return outcome.opened;
  }

  void Select() {
    if (!ChooseFindings() || !ChooseRpcs()) return;
    Gatherer gatherer(selection_, choice_, tracks_, gathered_);
    if (!Pass({&gatherer}, &gatherer)) return;
    gatherer.Finish();
    sliced_.rpcs = choice_.rpc_count;
    sliced_.findings = choice_.finding_count;
    do {
      Mark();
    } while (!Verified(gatherer));
    for (const auto& [track, slice] : tracks_) {
      if (slice.extent == TrackSlice::Extent::kStretch) sliced_.stretched.push_back(slice.connection);
      if (slice.extent == TrackSlice::Extent::kWhole && !selection_.connections_alone())
        sliced_.whole.push_back(slice.connection);
    }
    std::ranges::sort(sliced_.stretched);
    std::ranges::sort(sliced_.whole);
    if (!sliced_.all && sliced_.frames.empty())
      sliced_.nothing = fmt::format("there is no such frame: {} has {}", input_.name(), Count(sliced_.read, "frame"));
  }

  // False: there is nothing more to do.
  bool ChooseFindings() {
    if (selection_.findings.empty()) return true;
    FindingChooser chooser(selection_, clock_, choice_);
    conformance::Engine engine({}, chooser);
    if (!Pass({&engine}, nullptr)) return false;
    if (choice_.finding_count > 0) return true;
    sliced_.nothing = chooser.rules().empty()
                          ? fmt::format("{} has no findings", input_.name())
                          : fmt::format("no such finding in {}; there are: {}", input_.name(), Listed(chooser.rules()));
    return false;
  }

  bool ChooseRpcs() {
    RpcChooser chooser(selection_, clock_, choice_);
    if (!Pass({&chooser}, &chooser)) return false;
    chooser.Finish();
    const bool alone = !selection_.of_rpcs() && selection_.slowest == 0 && !selection_.ranged();
    if (selection_.around != 0 && selection_.around <= sliced_.read && (alone || choice_.rpc_count > 0))
      choice_.story.Add(selection_.around);
    if (choice_.rpc_count > 0 || !choice_.story.empty() || selection_.frames_alone()) return true;
    const auto& connections = selection_.connections;
    if (selection_.connections_alone() &&
        std::ranges::any_of(connections, [&](const auto& range) { return range.first <= chooser.connections(); }))
      return true;
    sliced_.nothing = fmt::format("nothing in {} fits: it has {} with {}", input_.name(),
                                  Count(chooser.connections(), "connection"), Count(chooser.seen(), "RPC"));
    if (selection_.around != 0) sliced_.nothing += fmt::format(", in {}", Count(sliced_.read, "frame"));
    if (!chooser.procedures().empty()) sliced_.nothing += ": " + Listed(chooser.procedures());
    return false;
  }

  void Mark() {
    sliced_.frames = gathered_;
    Marker marker(selection_, choice_, tracks_, sliced_.frames);
    const bool by_frame = selection_.frames_alone() && selection_.connections.empty();
    (void)Pass({}, &marker, [&](const Frame& frame) {
      if (choice_.story.Contains(frame.ref.number) ||
          (by_frame && selection_.InRanges(frame.ref, frame.ref, choice_.first_time_ns)))
        sliced_.frames.Add(frame.ref.number);
      return true;
    });
    marker.Finish();
  }

  // Whether the frames show what was chosen; if not, more of what is missing is wanted next time.
  bool Verified(Gatherer& gatherer) {
    if (selection_.connections_alone() || sliced_.all) return true;
    Verifier verifier(choice_);
    conformance::Engine engine({}, verifier);
    std::vector<session::Observer*> observers{&verifier};
    if (!choice_.wanted_findings.empty()) observers.push_back(&engine);
    (void)Pass(std::move(observers), nullptr,
               [this](const Frame& frame) { return sliced_.frames.Contains(frame.ref.number); });
    const std::set<uint32_t> missing = verifier.Missing();
    if (missing.empty()) return true;
    const auto of_missing = [&](const TrackSlice& slice) { return missing.contains(slice.connection); };
    // What those connections show alone may need others that are in the story.
    sliced_.all = !Widen(gatherer, of_missing) && !Widen(gatherer, [](const TrackSlice& slice) { return slice.used; });
    return sliced_.all;
  }

  // More of the connections for which `fits` is true. False: all of them are whole.
  template <typename Fits>
  bool Widen(Gatherer& gatherer, Fits fits) {
    bool widened = false;
    std::vector<uint32_t> ended;
    for (auto& [track, slice] : tracks_) {
      if (slice.connection == 0 || slice.extent == TrackSlice::Extent::kWhole || !fits(slice)) continue;
      widened = slice.used = true;
      const bool stretch = slice.extent == TrackSlice::Extent::kPlaces && slice.first_frame != 0;
      slice.extent = stretch ? TrackSlice::Extent::kStretch : TrackSlice::Extent::kWhole;
      if (!stretch) ended.push_back(slice.connection);
    }
    for (const uint32_t connection : ended) gatherer.AddEnd(connection);
    return widened;
  }

  const SliceInput& input_;
  const Selection& selection_;
  const CommonOptions& options_;
  Output& output_;
  Diagnostics silent_;
  Output silent_output_;
  Clock clock_;
  bool complained_ = false;
  Choice choice_;
  TrackSlices tracks_;
  FrameSet gathered_;
  Sliced sliced_;
};

}  // namespace

Sliced SliceCapture(const SliceInput& input, const Selection& selection, bool cut_payload, const CommonOptions& options,
                    Output& output) {
  return Slicer(input, selection, options, output).Run(cut_payload);
}

}  // namespace stag::cli
