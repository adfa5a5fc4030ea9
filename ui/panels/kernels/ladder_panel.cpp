#include "ui/panels/kernels/ladder_panel.h"

#include <array>
#include <cmath>
#include <string>

#include <fmt/format.h>

#include "ui/panels/data_texts.h"
#include "ui/panels/kernels/ladder_rows.h"
#include "ui/panels/laboratory/job_bar.h"
#include "ui/panels/selection_text.h"
#include "ui/plot/bars.h"
#include "ui/text/terms.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

constexpr JobButton kButton{"ladder.baseline", "ladder.cancel", "Measure CPU loops",
                            "Times a training step of this network with the simplest variants, plain loops, "
                            "on one CPU thread. A training on the CPU pauses meanwhile.",
                            jobs::Job::baseline};

enum : std::size_t {
  kNumber,
  kName,
  kPrecision,
  kBatch,
  kSteps,
  kTriedSpeed,
  kBar,
  kFirst,
  kLoops,
  kTriedMemory,
  kEnergy
};

constexpr std::array<Column, 11> kLadderColumns{{
    {.label = "", .tip = "In the order of use.", .width = 24, .right = true, .fixed = true},
    {.label = "selection", .tip = "A preset, or what was changed.", .width = 144},
    {.label = "precision",
     .tip = "Precision of the operands of the matrix products.",
     .width = 56,
     .rank = 2},
    {.label = "batch", .tip = "", .width = 48, .right = true, .rank = 3},
    {.label = "steps", .tip = "Steps with it, so far.", .width = 56, .right = true, .rank = 5},
    {.label = "its images/s", .tip = "", .width = 88, .right = true},
    {.label = "",
     .tip = "Images a second on a logarithmic scale: from one line to the next it is ten times as many.",
     .width = 96,
     .rank = 4},
    {.label = "\u00d7 first",
     .tip =
         "Its images a second over those of the first selection of this run; a dash where the two were not "
         "measured alike: its tool-tip says why.",
     .width = 64,
     .right = true},
    {.label = "\u00d7 loops",
     .tip = "Its images a second over those of plain loops on one CPU thread, which were measured at another "
            "time: a rough figure.",
     .width = 64,
     .right = true,
     .rank = 1},
    {.label = "step memory", .tip = "", .width = 80, .right = true, .rank = 6},
    {.label = "mJ/image",
     .tip =
         "Energy of the whole GPU for one training image, as its driver counts it; a dash where it does not.",
     .width = 64,
     .right = true,
     .rank = 7},
}};

/// The columns as they are named where the data are texts.
struct LadderColumnsOfTexts {
  std::array<Column, kLadderColumns.size()> columns = kLadderColumns;
  std::array<std::string, kLadderColumns.size()> labels, tips;

  LadderColumnsOfTexts() {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      Column& column = columns[i];
      labels[i] = said_of_texts(column.label);
      // The term of a label that changes is explained here: no table looks it up by its other name.
      tips[i] = said_of_texts(labels[i] == column.label ? column.tip : label_tip(column.label, column.tip));
      column.label = labels[i].c_str();
      column.tip = tips[i].c_str();
    }
  }
  LadderColumnsOfTexts(const LadderColumnsOfTexts&) = delete;  // the columns point into it
  LadderColumnsOfTexts& operator=(const LadderColumnsOfTexts&) = delete;
};

/// The bar of one rung, with a line at each power of ten.
void draw_bar(const Frame& frame, Table& table, double speed, ImU32 color, const plot::BarGroup& all) {
  table.enter(kBar);
  const ImVec2 min = table.cell_min(kBar), max = table.cell_max(kBar);
  const float inset = std::floor(8 * frame.scale);
  const plot::Axis axis = plot::bar_axis(all, true, min.x, max.x);
  plot::Bar bar;
  bar.value = speed;
  bar.color = color;
  plot::draw_bar(frame, ImVec2(min.x, min.y + inset), ImVec2(max.x, max.y - inset), axis, bar);
  for (double value = axis.low * 10; axis.logarithmic && value < axis.high; value *= 10) {
    const float x = std::floor(axis.to_pixel(value));
    ImGui::GetWindowDrawList()->AddRectFilled(ImVec2(x, min.y), ImVec2(x + hairline(frame), max.y),
                                              frame.palette.panel);
  }
}

void draw_row(const Frame& frame, Table& table, const LadderRow& row, std::size_t number,
              const plot::BarGroup& all) {
  const training::LadderEntry& entry = *row.entry;
  const auto& palette = frame.palette;
  const ImU32 color = row.now ? palette.text : blend(palette.text, palette.panel, 0.75f);
  table.number(kNumber, std::to_string(number), palette.muted);
  table.text(kName, entry.name.empty() ? "start" : entry.name, row.now ? palette.accent : color,
             (row.now ? "In use now.\n" : "") +
                 fmt::format("After step {}.\n", with_thousands(entry.first_step)) +
                 selection_list(entry.selection));
  table.text(kPrecision, core::to_string(entry.selection.precision), color);
  table.number(kBatch, with_thousands(entry.batch), color);
  table.number(kSteps, with_thousands(entry.steps), color);
  const double speed = entry.images_per_second;
  table.number(kTriedSpeed, speed > 0 ? with_thousands(speed, speed < 100 ? 1 : 0) : "\u2014",
               row.best ? palette.good : color);
  if (table.shows(kBar)) draw_bar(frame, table, speed, row.now ? palette.accent : palette.series[0], all);
  table.number(kFirst, ratio_text(row.over_first), row.noise ? palette.muted : color, row.first_tip);
  table.number(kLoops, ratio_text(row.over_loops), color);
  table.quantity(kTriedMemory,
                 entry.plan_bytes > 0 ? bytes_text(static_cast<double>(entry.plan_bytes)) : "\u2014", color);
  const double millijoules = 1e3 * entry.joules_per_image;
  const int digits = millijoules < 10 ? 2 : millijoules < 100 ? 1 : 0;
  table.number(kEnergy, millijoules > 0 ? with_thousands(millijoules, digits) : "\u2014", color);
}

}  // namespace

std::span<const Column> LadderPanel::columns() {
  return kLadderColumns;
}

void LadderPanel::draw_baseline(const Frame& frame, LaboratoryController& controller, double loops) {
  const bool gpu = frame.on_gpu();
  if (gpu && loops <= 0 && !asked_ && !controller.busy()) {
    asked_ = true;
    controller.baseline(frame);
  }
  if (job_button(frame, controller, kButton)) {
    asked_ = true;
    controller.baseline(frame);
  }
  ImGui::SameLine(0, 12 * frame.scale);
  if (loops > 0) {
    value_with_unit(frame, with_thousands(loops, loops < 100 ? 1 : 0),
                    said_of_data(frame, "images/s with CPU loops"),
                    "A training step with the variants \"loops\" on one CPU thread.");
  } else {
    const bool measuring = controller.state().running == jobs::Job::baseline;
    caption(frame,
            ellipsize(frame.fonts.small, measuring ? "measuring CPU loops" : "CPU loops are not measured yet",
                      ImGui::GetContentRegionAvail().x));
  }
}

void LadderPanel::draw(const Frame& frame, LaboratoryController& controller) {
  const auto& snapshot = frame.snapshot;
  panel_body(frame);
  if (snapshot.ladder->empty()) {
    centered_text(frame,
                  "No step yet. Start the training and switch variants, precision or batch: each selection "
                  "becomes a rung.");
    return;
  }
  ImGui::Dummy(ImVec2(1, 2 * frame.scale));
  const double measured = controller.state().baseline_images_per_second;
  const double loops = measured > 0 ? measured : loops_speed(*snapshot.ladder, machine_of(snapshot));
  draw_baseline(frame, controller, loops);
  job_progress(frame, controller, jobs::Job::baseline, "ladder.progress");
  const auto rows = ladder_rows(*snapshot.ladder, loops);
  plot::BarGroup all;
  for (const LadderRow& row : rows) all.bars.emplace_back().value = row.entry->images_per_second;
  static const LadderColumnsOfTexts of_texts;
  Table table(frame, "ladder.table", trains_on_texts(frame) ? of_texts.columns : kLadderColumns);
  table.rows(static_cast<int>(rows.size()), [&](int i) {
    const auto index = static_cast<std::size_t>(i);
    draw_row(frame, table, rows[index], index + 1, all);
  });
}

}  // namespace warpscope::ui
