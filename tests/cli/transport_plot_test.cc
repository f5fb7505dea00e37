// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/transport/transport_plot.h"

#include <gtest/gtest.h>

namespace stag::cli {
namespace {

using PlotNote = transport::Note;

PlotNote NoteAt(PlotNote::Kind kind, uint64_t number) {
  PlotNote note;
  note.kind = kind;
  note.frame = {number, static_cast<int64_t>(number) * 1'000'000};
  note.begin = number;
  note.end = number + 1;
  return note;
}

TEST(TransportPlot, WithLittleMemoryBinsAndMarksAreFewer) {
  constexpr uint64_t kMemory = 4000, kNotes = 5000;
  Budget budget(kMemory);
  TransportPlot plot(budget);
  for (uint64_t i = 0; i < kNotes; ++i)
    plot.Add(NoteAt(i % 10 == 0 ? PlotNote::Kind::kOutOfOrder : PlotNote::Kind::kNew, 1 + i));
  EXPECT_FALSE(budget.over());
  EXPECT_LE(plot.bins().size() * sizeof(TransportPlot::Bin) + plot.marks().size() * sizeof(TransportPlot::Mark),
            kMemory);
  EXPECT_GT(plot.marks().size(), 0u);
  EXPECT_EQ(plot.marks().size() + plot.marks_left_out(), kNotes / 10);
  EXPECT_EQ(plot.first(), 1u);
  EXPECT_EQ(plot.last(), kNotes + 1);
  uint64_t end = 0;
  for (const TransportPlot::Bin& bin : plot.bins()) end = std::max(end, bin.end);
  EXPECT_EQ(end, kNotes + 1);
}

TEST(TransportPlotter, ConnectionsThatThereIsNoRoomForAreCounted) {
  for (const uint64_t memory : {uint64_t{5000}, UINT64_MAX}) {
    TransportPlotter plotter(0, memory);
    transport::Health health;
    health.sent[0].packets = 1;
    for (uint32_t id = 1; id <= 1000; ++id) {
      session::Connection connection;
      connection.info.id = id;
      plotter.OnNote(connection.info, NoteAt(PlotNote::Kind::kNew, id));
      plotter.Draw(connection, health);
    }
    EXPECT_EQ(plotter.connections() + plotter.left_out(), 1000u);
    EXPECT_GE(plotter.connections(), 1u);
    EXPECT_LE(plotter.connections(), memory == UINT64_MAX ? TransportPlotter::kMost : memory / sizeof(TransportPlot));
  }
}

}  // namespace
}  // namespace stag::cli
