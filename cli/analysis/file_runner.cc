// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/analysis/file_runner.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <filesystem>
#include <numeric>
#include <stdexcept>
#include <thread>

#include "scale/collectives.h"
#include "scale/spread.h"
#include "text/terminal.h"

namespace stag::cli {
namespace {

using Size = uint32_t;

// Runs `work`; if it throws, the whole job ends.
template <typename Fn>
void EndAllOnTrouble(scale::Team& team, Fn work) {
  try {
    work();
  } catch (const std::bad_alloc&) {
    Complain("out of memory; try a smaller --memory");
    team.Abort(kExitTrouble);
  } catch (const std::exception& e) {
    Complain("{}", e.what());
    team.Abort(kExitTrouble);
  }
}

// The large ones first, so that no rank is left with one at the end.
std::vector<size_t> BySize(const std::vector<std::string>& files) {
  std::vector<uintmax_t> sizes;
  for (const std::string& file : files) {
    std::error_code error;
    const uintmax_t size = std::filesystem::file_size(file, error);
    sizes.push_back(error ? 0 : size);
  }
  std::vector<size_t> order(files.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, std::greater{}, [&](size_t i) { return sizes[i]; });
  return order;
}

// The other end of a ResultStream: takes its bytes, in any parts.
class ResultStreamReader {
 public:
  ResultStreamReader(Output& output, const std::function<void(std::string_view)>& take)
      : output_(output), take_(take) {}

  void OnMessage(std::string_view bytes) {
    bytes_.append(bytes);
    std::string_view left = bytes_;
    Size size = 0;
    while (left.size() > sizeof size) {
      std::memcpy(&size, left.data() + 1, sizeof size);
      if (left.size() - 1 - sizeof size < size) break;
      On(left[0], left.substr(1 + sizeof size, size));
      left.remove_prefix(1 + sizeof size + size);
    }
    bytes_.erase(0, bytes_.size() - left.size());
  }
  const FileOutcome& outcome() const { return outcome_; }

 private:
  void On(char kind, std::string_view what) {
    switch (kind) {
      case 't':
        Put(output_.buffer(), what);
        output_.Commit();
        break;
      case 'c':
        output_.Flush();
        output_.diagnostics().ComplainText(what);
        break;
      case 'r': take_(what); break;
      default:
        outcome_.opened = what.at(0) == '1';
        outcome_.damaged = what.at(1) == '1';
        if (what.at(2) == '1') output_.Stop();
    }
  }

  Output& output_;
  const std::function<void(std::string_view)>& take_;
  std::string bytes_;
  FileOutcome outcome_;
};

}  // namespace

int RunInTeam(const std::function<int(scale::Team& team)>& run) {
  auto joined = scale::JoinTeam();
  if (!joined) return Trouble(joined.error());
  scale::Team& team = **joined;
  int status = kExitTrouble;
  EndAllOnTrouble(team, [&] {
    const std::string version = scale::Broadcast(team, STAG_VERSION);
    const bool same = version == STAG_VERSION;
    if (AllFine(&team, same ? "" : fmt::format("this is stag " STAG_VERSION ", and rank 0 stag {}", version)))
      status = run(team);
  });
  return team.leads() ? status : kExitFine;
}

bool AllFine(scale::Team* team, const std::string& trouble, Diagnostics& diagnostics) {
  if (!team) {
    if (!trouble.empty()) diagnostics.ComplainText(trouble);
    return trouble.empty();
  }
  const std::vector<std::string> all = scale::Gather(*team, trouble);
  const auto first = std::ranges::find_if(all, [](const std::string& text) { return !text.empty(); });
  const bool everywhere = std::ranges::all_of(all, [&](const std::string& text) { return text == all[0]; });
  if (first != all.end())
    diagnostics.ComplainText(everywhere ? *first : fmt::format("rank {}: {}", first - all.begin(), *first));
  return scale::Broadcast(*team, first == all.end() ? "fine" : "") == "fine";
}

std::string StandardInputTrouble(const CommonOptions& options) {
  return std::ranges::find(options.files, "-") == options.files.end()
             ? ""
             : "--mpi reads files that every rank can open: standard input (-) is not one";
}

void ResultStream::Put(char kind, std::string_view what) {
  const auto size = static_cast<Size>(what.size());
  char head[1 + sizeof size] = {kind};
  std::memcpy(head + 1, &size, sizeof size);
  append_({head, sizeof head});
  append_(what);
}

void ResultStream::End(const FileOutcome& outcome, bool stopped) {
  const char what[] = {outcome.opened ? '1' : '0', outcome.damaged ? '1' : '0', stopped ? '1' : '0'};
  Put('e', {what, sizeof what});
}

int ForEachFile(const CommonOptions& options, Output& output,
                const std::function<FileOutcome(const std::string& file)>& analyze, Headings headings) {
  int status = kExitFine;
  bool first = true;
  for (const std::string& file : options.files) {
    if (output.stopped()) break;
    if (headings == Headings::kYes && options.files.size() > 1 && ForPeople(options.format)) {
      const Style& style = output.style();
      Put(output.buffer(), "{}{}== {} =={}\n", first ? "" : "\n", style.bold, Printable(DisplayName(file)),
          style.reset);
    }
    first = false;
    const FileOutcome outcome = analyze(file);
    if (!outcome.opened || outcome.damaged) status = kExitTrouble;
  }
  output.Flush();
  if (status == kExitFine || !output.empty()) output.EndDocument();
  return output.failed() ? kExitTrouble : status;
}

int ForEachFile(scale::Team* team, const CommonOptions& options, Output& output, const AnalyzeFile& analyze,
                const std::function<void(std::string_view record)>& take, Headings headings) {
  if (!team) {
    const auto here = [&](const std::string& file) { return analyze(file, output, nullptr); };
    return ForEachFile(options, output, here, headings);
  }
  const auto work = [&] {
    EndAllOnTrouble(*team, [&] {
      scale::WorkFor(*team, [&](size_t index, scale::Spool& made) {
        ResultStream stream([&](std::string_view bytes) { made.Append(bytes); });
        Diagnostics to_leader([&](std::string_view text) { stream.Complaint(text); });
        FileOutcome outcome;
        bool stopped = false;
        {
          Output of_file(
              options, [&](std::string_view text) { stream.Text(text); }, to_leader);
          outcome = analyze(options.files[index], of_file, &stream);
          stopped = of_file.stopped();
        }
        stream.End(outcome, stopped);
      });
    });
  };
  if (!team->leads()) {
    work();
    return kExitFine;
  }
  int status = kExitTrouble;
  std::jthread own_work(work);
  EndAllOnTrouble(*team, [&] {
    scale::Leader leader(*team, BySize(options.files));
    size_t index = 0;
    const auto collect = [&](const std::string&) {
      ResultStreamReader reader(output, take);
      leader.Collect(index++, [&](std::string_view bytes) { reader.OnMessage(bytes); });
      return reader.outcome();
    };
    status = ForEachFile(options, output, collect, headings);
    leader.End();
  });
  return status;
}

}  // namespace stag::cli
