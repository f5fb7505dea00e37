// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/team_work.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <filesystem>
#include <numeric>
#include <stdexcept>
#include <thread>

#include "scale/spread.h"
#include "scale/together.h"

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

// The other end of FileSays: bytes in any parts become what was said.
class Listener {
 public:
  Listener(Output& output, const std::function<void(std::string_view)>& take) : output_(output), take_(take) {}

  void Hear(std::string_view bytes) {
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
  const Outcome& outcome() const { return outcome_; }

 private:
  void On(char kind, std::string_view what) {
    switch (kind) {
      case 't':
        Put(output_.buffer(), what);
        output_.Commit();
        break;
      case 'c':
        output_.Flush();
        ComplainText(what);
        break;
      case 'r': take_(what); break;
      default: outcome_.opened = what.at(0) == '1'; outcome_.damaged = what.at(1) == '1';
    }
  }

  Output& output_;
  const std::function<void(std::string_view)>& take_;
  std::string bytes_;
  Outcome outcome_;
};

}  // namespace

int RunInTeam(const std::function<int(scale::Team& team)>& run) {
  auto joined = scale::JoinTeam();
  if (!joined) {
    ComplainText(joined.error().message);
    return kExitTrouble;
  }
  scale::Team& team = **joined;
  int status = kExitTrouble;
  EndAllOnTrouble(team, [&] {
    const std::string version = scale::Share(team, STAG_VERSION);
    const bool same = version == STAG_VERSION;
    if (AllFine(team, same ? "" : fmt::format("this is stag " STAG_VERSION ", and rank 0 stag {}", version)))
      status = run(team);
  });
  return team.leads() ? status : kExitFine;
}

bool AllFine(scale::Team& team, const std::string& trouble) {
  const std::vector<std::string> all = scale::Gather(team, trouble);
  const auto first = std::ranges::find_if(all, [](const std::string& text) { return !text.empty(); });
  const bool everywhere = std::ranges::all_of(all, [&](const std::string& text) { return text == all[0]; });
  if (first != all.end()) ComplainText(everywhere ? *first : fmt::format("rank {}: {}", first - all.begin(), *first));
  return scale::Share(team, first == all.end() ? "fine" : "") == "fine";
}

std::string StandardInputTrouble(const CommonOptions& options) {
  return std::ranges::find(options.files, "-") == options.files.end()
             ? ""
             : "--mpi reads files that every rank can open: standard input (-) is not one";
}

void FileSays::Put(char kind, std::string_view what) {
  const auto size = static_cast<Size>(what.size());
  char head[1 + sizeof size] = {kind};
  std::memcpy(head + 1, &size, sizeof size);
  append_({head, sizeof head});
  append_(what);
}

void FileSays::End(const Outcome& outcome) {
  const char what[] = {outcome.opened ? '1' : '0', outcome.damaged ? '1' : '0'};
  Put('e', {what, sizeof what});
}

int ForEachFileOfTeam(scale::Team& team, const CommonOptions& options, Output& output,
                      const std::function<Outcome(const std::string& file, Output& output, FileSays& says)>& analyze,
                      const std::function<void(std::string_view record)>& take, Headings headings) {
  const auto work = [&] {
    EndAllOnTrouble(team, [&] {
      scale::WorkFor(team, [&](size_t index, scale::Spool& made) {
        FileSays says([&](std::string_view bytes) { made.Append(bytes); });
        const ComplaintsTo complaints([&](std::string_view text) { says.Complaint(text); });
        Outcome outcome;
        {
          Output to_leader(options, [&](std::string_view text) { says.Text(text); });
          outcome = analyze(options.files[index], to_leader, says);
        }
        says.End(outcome);
      });
    });
  };
  if (!team.leads()) {
    work();
    return kExitFine;
  }
  int status = kExitTrouble;
  std::thread own_work(work);
  EndAllOnTrouble(team, [&] {
    scale::Leader leader(team, BySize(options.files));
    size_t index = 0;
    status = ForEachFile(
        options, output,
        [&](const std::string&) {
          Listener listener(output, take);
          leader.Collect(index++, [&](std::string_view bytes) { listener.Hear(bytes); });
          return listener.outcome();
        },
        headings);
    leader.End();
  });
  own_work.join();
  return status;
}

}  // namespace stag::cli
