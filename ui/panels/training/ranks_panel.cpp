#include "ui/panels/training/ranks_panel.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "ui/panels/training/ranks_number.h"
#include "ui/plot/axis.h"
#include "ui/settings/steering.h"
#include "ui/text/numbers.h"
#include "ui/text/terms.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

constexpr float kLeastRanks = 72;         ///< design pixels, of the table
constexpr std::size_t kMostSources = 32;  ///< of links: Dear ImGui's tables have at most 64 columns

enum : std::size_t { kRank, kDevice, kStep, kImages, kSpeed, kExposed, kMemory, kPower, kClock };

constexpr std::array<Column, 9> kRankColumns{{
    {.label = "rank",
     .tip = "Its number. Rank 0 leads the others: it tests, shows and saves.",
     .width = 32,
     .right = true,
     .fixed = true},
    {.label = "device", .tip = "On which it runs.", .width = 144, .rank = 2, .fixed = true},
    {.label = "step",
     .tip = "The newest step that all ranks have timed, on one axis; before there is one, medians of sampled "
            "steps.",
     .width = 88},
    {.label = "its images",
     .tip = "Images of each step that this rank takes.",
     .width = 64,
     .right = true,
     .rank = 3,
     .fixed = true},
    {.label = "rank's images/s",
     .tip =
         "Its images over the median time of its sampled steps, which are a little longer than others, since "
         "an event stands after each launch.",
     .width = 96,
     .right = true,
     .fixed = true},
    {.label = "exposed",
     .tip =
         "The share of its step in sums over ranks, waiting included: meanwhile it computes nothing else. By "
         "medians of sampled steps; in colour where it waits for a slower rank.",
     .width = 56,
     .right = true,
     .rank = 1,
     .fixed = true},
    {.label = "training memory", .tip = "", .width = 104, .right = true, .rank = 4, .fixed = true},
    {.label = "power",
     .tip = "What its GPU draws, as its driver tells.",
     .width = 48,
     .right = true,
     .rank = 5,
     .fixed = true},
    {.label = "clock",
     .tip = "The clock of the multiprocessors of its GPU, as its driver tells.",
     .width = 72,
     .right = true,
     .rank = 6,
     .fixed = true},
}};

struct RankPart {
  const char* name;
  std::size_t series;  ///< its colour in the palette
  double RankLane::*microseconds;
};

/// As they follow each other in a lane.
constexpr std::array<RankPart, 6> kParts{{{"own work", 0, &RankLane::own},
                                          {"forward", 0, &RankLane::forward},
                                          {"backward", 4, &RankLane::backward},
                                          {"waiting for the slowest", 1, &RankLane::waiting},
                                          {"sums over ranks", 2, &RankLane::moving},
                                          {"update", 3, &RankLane::update}}};

bool any_lane_has(const RankPart& part, const RanksOfStep& ranks) {
  return std::ranges::any_of(ranks.rows, [&](const RankRow& row) { return row.lane.*part.microseconds > 0; });
}

constexpr std::array<const char*, 3> kRankViews{"step", "links", "inference"};
enum : int { kRankStepView, kRankLinksView, kRankInferenceView };

/// From 0 to the longest step. One unit for all.
struct RankRuler {
  plot::Axis axis;
  double unit = 1;  ///< microseconds
  std::vector<float> lines;

  float pixel_of(double microseconds) const { return std::floor(axis.to_pixel(microseconds / unit)); }
};

/// In the header of the lanes, which is where their place becomes known. Its first label is the unit.
RankRuler draw_ruler(const Frame& frame, const Table& table, double longest) {
  const ImVec2 min = table.cell_min(kStep), max = table.cell_max(kStep);
  const bool milliseconds = longest >= 1e4;
  RankRuler ruler;
  ruler.unit = milliseconds ? 1e3 : 1;
  ruler.axis = {0, longest / ruler.unit, min.x, max.x, false};
  const int wanted = std::max(2, static_cast<int>((max.x - min.x) / (80 * frame.scale)));
  std::vector<plot::Tick> ticks = plot::ticks(ruler.axis, wanted, plot::Unit::value);
  std::vector<float> widths;
  for (plot::Tick& tick : ticks) {
    if (tick.value == 0) tick.label = milliseconds ? "ms" : "\u00b5s";
    widths.push_back(text_width(frame.fonts.small, tick.label));
    ruler.lines.push_back(std::floor(ruler.axis.to_pixel(tick.value)));
  }
  const auto fit = charts::labels_that_fit(ruler.axis, ticks, widths, std::floor(16 * frame.scale));
  for (std::size_t i = 0; i < ticks.size(); ++i) {
    if (!fit[i]) continue;
    const float left = std::clamp(ruler.lines[i] - widths[i] / 2, min.x, std::max(min.x, max.x - widths[i]));
    draw_text(ImGui::GetWindowDrawList(), frame.fonts.small, std::floor(left), table.baseline(),
              frame.palette.muted, ticks[i].label);
  }
  return ruler;
}

void draw_rank_legend(const Frame& frame, const RanksOfStep& ranks) {
  const float s = frame.scale, line = std::floor(18 * s), side = std::floor(10 * s);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float right = at.x + ImGui::GetContentRegionAvail().x;
  float x = at.x, y = at.y;
  ImDrawList* const list = ImGui::GetWindowDrawList();
  for (const RankPart& part : kParts) {
    if (!any_lane_has(part, ranks)) continue;
    const float width = side + 5 * s + text_width(frame.fonts.small, part.name);
    if (x > at.x && x + width > right) {
      x = at.x;
      y += line;
    }
    const float top = std::floor(y + (line - side) / 2);
    list->AddRectFilled(ImVec2(x, top), ImVec2(x + side, top + side), frame.palette.series[part.series],
                        2 * s);
    draw_text(list, frame.fonts.small, x + side + 5 * s, std::floor(y + line / 2 + 4 * s), frame.palette.text,
              part.name);
    x += width + std::floor(16 * s);
  }
  ImGui::Dummy(ImVec2(1, y + line - at.y));
}

void draw_rank_lane(const Frame& frame, Table& table, const RankRow& row, std::size_t rank,
                    const RankRuler& ruler) {
  table.enter(kStep);
  const ImVec2 min = table.cell_min(kStep), max = table.cell_max(kStep);
  const float inset = std::floor(4 * frame.scale);
  ImDrawList* const list = ImGui::GetWindowDrawList();
  for (const float x : ruler.lines) {
    list->AddRectFilled(ImVec2(x, min.y), ImVec2(x + hairline(frame), max.y), frame.palette.grid);
  }
  double end = row.lane.start;
  float left = std::min(ruler.pixel_of(end), max.x);
  for (const RankPart& part : kParts) {
    end += row.lane.*part.microseconds;
    const float right = std::min(ruler.pixel_of(end), max.x);
    if (right <= left) continue;
    list->AddRectFilled(ImVec2(left, min.y + inset), ImVec2(right, max.y - inset),
                        frame.palette.series[part.series]);
    left = right;
  }
  trace_rectangle(fmt::format("ranks.lane.{}", rank), min, max);
  if (ImGui::IsMouseHoveringRect(min, max)) area_tooltip(frame, min, max, tip_of(row, rank));
}

std::string speed_text(double images_per_second) {
  return with_thousands(images_per_second, images_per_second < 100 ? 1 : 0);
}

void draw_gpu_load(const Frame& frame, Table& table, const training::RankFigures& figures) {
  const auto draw = [&](std::size_t column, double value, const char* unit) {
    const bool known = value > 0 && std::isfinite(value);
    table.number(column, known ? with_thousands(value) : std::string("\u2014"),
                 known ? frame.palette.text : frame.palette.muted, {}, known ? unit : "");
  };
  draw(kPower, figures.watts, "W");
  draw(kClock, figures.megahertz, "MHz");
}

void draw_rank(const Frame& frame, Table& table, const RanksOfStep& ranks, std::size_t rank,
               const RankRuler& ruler) {
  const RankRow& row = ranks.rows[rank];
  const auto& palette = frame.palette;
  const bool slowest = ranks.slowest == rank;
  const std::string device = device_text(*row.figures);
  table.number(kRank, std::to_string(rank), slowest ? palette.warning : palette.text,
               slowest ? device + "\nOthers wait for it." : device);
  table.text(kDevice, device, palette.text);
  table.number(kImages, with_thousands(row.figures->images), palette.text);
  table.quantity(kMemory, bytes_text(static_cast<double>(row.figures->memory_bytes)), palette.text);
  if (ranks.loads) draw_gpu_load(frame, table, *row.figures);
  if (!row.measured()) {
    table.text(kStep, "measuring", palette.muted, tip_of(row, rank));
    table.number(kSpeed, "\u2014", palette.muted);
    table.number(kExposed, "\u2014", palette.muted);
    return;
  }
  draw_rank_lane(frame, table, row, rank, ruler);
  table.number(kSpeed, speed_text(row.images_per_second), palette.text,
               row.own_images_per_second > 0
                   ? fmt::format("With nothing but its own work it would take {} images/s.",
                                 speed_text(row.own_images_per_second))
                   : std::string());
  table.number(kExposed, fmt::format("{:.1f} %", 100 * row.exposed()),
               row.waits() ? palette.warning : palette.text);
}

void draw_rank_table(const Frame& frame, const RanksOfStep& ranks) {
  RankRuler ruler;
  // Called by the table's constructor, when the places of the columns are known.
  const auto header_cell = [&](const Table& table, std::size_t column) {
    if (column != kStep || !(ranks.longest > 0)) return false;
    ruler = draw_ruler(frame, table, ranks.longest);
    area_tooltip(frame, table.cell_min(kStep), table.cell_max(kStep), heading_tip(kRankColumns[kStep]));
    return true;
  };
  // CPUs tell nothing: the lanes have the room.
  const std::span columns =
      std::span(kRankColumns).first(ranks.loads ? kRankColumns.size() : std::size_t{kPower});
  Table table(frame, "ranks.table", columns, {0, 0}, 1, header_cell);
  table.rows(static_cast<int>(ranks.rows.size()),
             [&](int i) { draw_rank(frame, table, ranks, static_cast<std::size_t>(i), ruler); });
}

/// A column for each rank that bytes come from.
std::vector<Column> link_columns(const std::vector<std::string>& sources) {
  std::vector<Column> columns{
      {.label = "GB/s to \\ from",
       .tip = "10^9 bytes a second to the rank of a row from the rank of a column: the best of three times.",
       .width = 88,
       .right = true,
       .fixed = true}};
  for (const std::string& source : sources) {
    columns.push_back(
        {.label = source.c_str(), .tip = "10^9 bytes a second from this rank.", .width = 48, .right = true});
  }
  return columns;
}

void draw_link_table(const Frame& frame, const RanksOfStep& ranks) {
  std::vector<std::string> sources;
  const std::size_t shown = std::min(ranks.rows.size(), kMostSources);
  for (std::size_t rank = 0; rank < shown; ++rank) sources.push_back(std::to_string(rank));
  const std::vector<Column> columns = link_columns(sources);
  const std::optional<SlowestLink> slowest = slowest_link(ranks);
  if (shown < ranks.rows.size()) {
    caption(frame, fmt::format("from the first {} of {} ranks; to all", shown, ranks.rows.size()));
  }
  Table table(frame, "ranks.links", columns);
  table.rows(static_cast<int>(ranks.rows.size()), [&](int i) {
    const auto to = static_cast<std::size_t>(i);
    table.number(0, std::to_string(to), frame.palette.text, device_text(*ranks.rows[to].figures));
    for (std::size_t from = 0; from < sources.size(); ++from) {
      const double rate = ranks.rows[to].figures->links[from];
      const bool is_slowest = slowest && slowest->to == to && slowest->from == from;
      if (from == to) {
        table.number(1 + from, "\u2014", frame.palette.muted, "A rank sends nothing to itself.");
      } else {
        table.number(1 + from, link_rate_text(rate), is_slowest ? frame.palette.warning : frame.palette.text,
                     fmt::format("{} GB/s to rank {} from rank {}{}", link_rate_text(rate), to, from,
                                 is_slowest ? ": the slowest" : ""));
      }
    }
  });
}

}  // namespace

std::span<const Column> RanksPanel::columns() {
  return kRankColumns;
}

void RanksPanel::draw(const Frame& frame) {
  panel_body(frame);
  ImGui::Dummy(ImVec2(1, 2 * frame.scale));
  if (const RanksNumber number = ranks_number_of(frame.snapshot); !number.choices.empty())
    draw_ranks_number(frame, "ranks.number", number);
  const RanksOfStep ranks = ranks_of(frame.snapshot);
  const std::string heading =
      ranks.rows.empty() ? why_no_ranks(frame.snapshot) : heading_of(ranks, frame.snapshot);
  inference_.look(run_folder_here(frame.snapshot));
  const bool inferred = inference_.figures() != nullptr;
  trace(ranks, heading);
  if (ranks.rows.empty()) {
    if (!inferred) return centered_text(frame, heading);
    paragraph(frame.fonts.small, frame.palette.muted, heading);
    return inference_.draw(frame);
  }
  if (!inferred && view_ == kRankInferenceView) view_ = kRankStepView;
  if (view_ != kRankInferenceView) return draw_ranks(frame, ranks, heading);
  draw_choice(frame);
  inference_.draw(frame);
}

void RanksPanel::draw_ranks(const Frame& frame, const RanksOfStep& ranks, const std::string& heading) {
  const bool warns = ranks.slowest || !frame.snapshot.awaited.empty();
  paragraph(frame.fonts.text, warns ? frame.palette.warning : frame.palette.text, heading);
  tooltip(frame, fmt::format("{}\nWaiting is told of where it takes more than {:.0f} % of a step.",
                             label_tip("images/s now"), 100 * kWaitWorthTelling));
  paragraph(frame.fonts.small, frame.palette.muted,
            view_ == kRankLinksView ? links_text(ranks) : facts_of(ranks));
  draw_choice(frame);
  if (view_ == kRankStepView && ranks.longest > 0) draw_rank_legend(frame, ranks);
  if (view_ == kRankLinksView && !ranks.linked) return;
  begin_rest(frame, kLeastRanks);
  if (view_ == kRankLinksView) {
    draw_link_table(frame, ranks);
  } else {
    draw_rank_table(frame, ranks);
  }
  end_rest();
}

void RanksPanel::draw_choice(const Frame& frame) {
  const std::span<const char* const> views(kRankViews);
  segmented(frame, "ranks.view", inference_.figures() != nullptr ? views : views.first(kRankInferenceView),
            &view_,
            "What each rank does with a step, how fast bytes get from each to each other, or where the time "
            "of the last inference went.");
  if (view_ != kRankLinksView) return;
  const auto state = frame.snapshot.state;
  const bool able = state == training::TrainerState::running || state == training::TrainerState::paused;
  next_in_row(frame, 8, text_button_width(frame, "measure links"));
  const Steering steering(frame);
  if (text_button(
          frame, "ranks.measure", "measure links",
          "Moves 16 MB between every pair of ranks, one pair after the other (1 MB where there are more than "
          "16 ranks), over what their sums go over, and keeps the best of three times. The training waits "
          "meanwhile.",
          able)) {
    frame.send(training::MeasureLinks{});
  }
}

void RanksPanel::trace(const RanksOfStep& ranks, const std::string& heading) {
  if (!trace_enabled()) return;
  const int slowest = ranks.slowest ? static_cast<int>(*ranks.slowest) : -1;
  trace_change(
      traced_, "ranks",
      fmt::format("\"ranks\":{},\"measured\":{},\"slowest\":{},\"step\":{},\"linked\":{},\"inferred\":{},"
                  "\"heading\":{}",
                  std::max<std::size_t>(1, ranks.rows.size()), ranks.measured, slowest, ranks.step > 0,
                  ranks.linked, inference_.figures() ? inference_.figures()->ranks.size() : 0,
                  json_string(heading)));
}

}  // namespace warpscope::ui
