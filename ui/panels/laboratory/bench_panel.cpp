#include "ui/panels/laboratory/bench_panel.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "ui/panels/laboratory/job_bar.h"
#include "ui/panels/menu_choices.h"
#include "ui/panels/selection_text.h"
#include "ui/settings/steering.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

using core::Precision;
using ops::Op;

constexpr JobButton kButton{
    "bench.start", "bench.cancel", "Measure",
    "Times every variant by itself on the shapes of this training step, with the second-level cache flushed "
    "before each launch; then whole steps of every choice, and the best of those in turns with the present "
    "one. A training of this window pauses meanwhile.",
    jobs::Job::bench};
constexpr float kLeastHeight = 112;  // design pixels, of the bars or the roofline
constexpr float kBothWidth = 900;    // design pixels from which bars and roofline stand side by side

// Colours of Palette::series, the same in every roofline.
struct Family {
  const char* name;
  int color;
};

// Each kind of matrix product has its own colour while there are enough; ops that only move data share one
// for layers and one for the rest.
Family bench_family_of(Op op) {
  constexpr int kProducts = 6;
  const ops::OpContract& contract = ops::contract(op);
  if (contract.work != ops::Work::products)
    return contract.scope == ops::Scope::layer ? Family{"other layers", kProducts}
                                               : Family{"parameters", kProducts + 1};
  int before = 0;
  for (const ops::OpContract& each : ops::contracts()) {
    if (each.op == op) break;
    before += each.work == ops::Work::products;
  }
  return before < kProducts ? Family{contract.name, before} : Family{"other products", kProducts - 1};
}

int precision_color(Precision precision) {
  return std::min(3, static_cast<int>(precision));
}

plot::PointShape precision_shape(Precision precision) {
  static constexpr std::array kShapes{plot::PointShape::circle, plot::PointShape::diamond,
                                      plot::PointShape::triangle, plot::PointShape::square};
  return kShapes[static_cast<std::size_t>(std::min(3, static_cast<int>(precision)))];
}

plot::Bar bar_of(const Frame& frame, const profiling::BenchRow& row, const BenchGroup& group,
                 bool name_precision) {
  plot::Bar bar;
  bar.label = row.variant;
  if (name_precision) bar.label += fmt::format(" {}", core::to_string(row.precision));
  bar.value = row.median;
  bar.low = row.p10;
  bar.high = row.p90;
  bar.note = rank_text(row, group);
  bar.best = row.rank == 1;
  bar.tip = bench_tip(row);
  bar.color = frame.palette.series[precision_color(row.precision)];
  if (row.samples == 0) {
    bar.refusal = row.skipped.empty() ? "not timed" : row.skipped;
    return bar;
  }
  bar.text = with_thousands(row.median, 1);
  const double part = part_of_floor(row);
  bar.detail = part > 0 ? fmt::format("{:.{}f} %", 100 * part, part < 0.0995 ? 1 : 0) : "\u2014";
  return bar;
}

plot::BarGroup bars_of(const Frame& frame, const BenchGroup& group, bool name_precision) {
  plot::BarGroup bars;
  bars.title = ops::to_string(group.what.op);
  bars.subtitle = ops::describe(group.what.op, group.what.shape);
  if (!group.what.layer.empty()) bars.subtitle = group.what.layer + ": " + bars.subtitle;
  if (group.floor > 0) bars.subtitle += fmt::format(", floor {} \u00b5s", floor_text(group.floor));
  bars.mark = group.floor;
  for (const profiling::BenchRow* row : group.rows)
    bars.bars.push_back(bar_of(frame, *row, group, name_precision));
  return bars;
}

plot::RooflinePoint point_of(const Frame& frame, const BenchPoint& point, bool by_precision, double bytes,
                             double peak) {
  std::string tip = point_tip(point, plot::roof(point.intensity(), peak, bytes));
  return {
      point.layer.empty() ? point.variant : fmt::format("{} {}", point.variant, point.layer),
      std::move(tip),
      point.intensity(),
      point.rate(),
      frame.palette.series[by_precision ? precision_color(point.precision) : bench_family_of(point.op).color],
      precision_shape(point.precision)};
}

struct LegendItem {
  std::string name;
  ImU32 color;
  plot::PointShape shape;
};

// What colours and shapes mean: the precisions of one operation; for all operations their families and, if
// there are several, the precisions.
std::vector<LegendItem> legend_of(const Frame& frame, const jobs::LaboratoryState& laboratory,
                                  const BenchFilter& filter) {
  std::vector<Family> families;
  std::vector<Precision> precisions;
  for (const BenchPoint& point : bench_points(laboratory.bench, filter)) {
    const Family family = bench_family_of(point.op);
    const auto same = [&](const Family& other) { return other.color == family.color; };
    if (std::none_of(families.begin(), families.end(), same)) families.push_back(family);
    if (std::find(precisions.begin(), precisions.end(), point.precision) == precisions.end())
      precisions.push_back(point.precision);
  }
  std::sort(families.begin(), families.end(),
            [](const Family& a, const Family& b) { return a.color < b.color; });
  std::sort(precisions.begin(), precisions.end());
  std::vector<LegendItem> items;
  if (!filter.op) {
    for (const Family& family : families)
      items.push_back({family.name, frame.palette.series[family.color], plot::PointShape::circle});
  }
  if (!filter.op && precisions.size() < 2) return items;
  for (const Precision precision : precisions) {
    items.push_back({std::string(core::to_string(precision)),
                     filter.op ? frame.palette.series[precision_color(precision)] : frame.palette.muted,
                     precision_shape(precision)});
  }
  return items;
}

// Side by side in as many rows as they need, small.
void draw_legend(const Frame& frame, const std::vector<LegendItem>& items) {
  const float s = frame.scale, right = ImGui::GetCursorScreenPos().x + ImGui::GetContentRegionAvail().x;
  float x = ImGui::GetCursorScreenPos().x;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const float width = 14 * s + text_width(frame.fonts.small, items[i].name);
    if (i > 0 && x + width <= right) ImGui::SameLine(0, 14 * s);
    if (i > 0 && x + width > right) x = ImGui::GetCursorScreenPos().x;
    const ImVec2 at = ImGui::GetCursorScreenPos();
    plot::draw_point(frame, ImVec2(at.x + 4 * s, at.y + 9 * s), items[i].color, items[i].shape, 3.5f * s);
    draw_text(ImGui::GetWindowDrawList(), frame.fonts.small, at.x + 12 * s, at.y + 13 * s,
              frame.palette.muted, items[i].name);
    ImGui::Dummy(ImVec2(width, 18 * s));
    x += width + 14 * s;
  }
}

// In the title row, where there is room beside the tabs.
void draw_caption(const Frame& frame, const LaboratoryController& controller) {
  const bool running = controller.state().running == jobs::Job::bench;
  if (!running && controller.state().bench.empty()) return;
  const std::string text = running ? std::string("this window trains nothing while it measures")
                                   : fmt::format("batch {}: {}", controller.state().bench_batch,
                                                 bench_summary(controller.state().bench));
  if (text_width(frame.fonts.small, text) > title_room(frame)) return;
  row_text(frame, frame.fonts.small, running ? frame.palette.warning : frame.palette.muted, text);
  tooltip(frame,
          running ? "A training that ran before goes on once the bench has ended or is cancelled."
                  : "The batch size of these shapes, and how many variants were timed in how many places.");
}

constexpr plot::BarNames kNames{
    .label = "variant",
    .label_tip = "The variants of each operation on the shape of each layer, and which was fastest there.",
    .bar_tip =
        "The median time; the whisker spans the 10th to the 90th percentile. Each layer has a scale of its "
        "own.",
    .text = "\u00b5s",
    .text_tip = "Microseconds of one call, the median, timed on the device with a cold cache.",
    .detail = "of floor",
    .detail_tip =
        "How much of the time the roofline says is needed at least: the larger of the least operations known "
        "over the measured peak and bytes over the measured bandwidth. The yellow line is that floor."};

constexpr std::array<const char*, 2> kViews{"bars", "roofline"};
constexpr float kPrecisionWidth = 72;  // design pixels

/// Why these times are not to be held against others.
void draw_disturbed(const Frame& frame) {
  const std::string text = "the training ran beside it: these times are not those of an idle device";
  row_text(frame, frame.fonts.small, frame.palette.warning,
           ellipsize(frame.fonts.small, text, ImGui::GetContentRegionAvail().x));
  tooltip(frame, text + ". Measure again while nothing trains.");
}

float op_choice_width(const Frame& frame, bool wide) {
  return (wide ? 216 : 176) * frame.scale;
}

/// What whole steps say, and the button that takes what is faster.
void draw_advice(const Frame& frame, const jobs::LaboratoryState& laboratory) {
  const training::Snapshot& snapshot = frame.snapshot;
  const profiling::Advice* const advice = advice_of(laboratory, snapshot.selection.precision);
  if (laboratory.running == jobs::Job::bench || advice == nullptr) return;
  const std::string refusal = fastest_here_refusal(laboratory, snapshot);
  const bool disturbed = advice->contest.outcome == profiling::Outcome::disturbed;
  if (refusal.empty()) {
    const Steering steering(frame);
    const bool taken = snapshot.selection == advice->best;
    if (text_button(frame, "bench.take", taken ? "In use" : "Use it",
                    "Switches to what whole steps found to be faster: the preset \"fastest here\".",
                    !taken)) {
      frame.send(training::Select{advice->best});
    }
    ImGui::SameLine(0, 10 * frame.scale);
  }
  const std::string outdated = advice_outdated(*advice, snapshot);
  const std::string text =
      fmt::format("{}: {}{}", time_of_day(*advice),
                  verdict_text(*advice, selection_word(advice->present, machine_of(snapshot))),
                  outdated.empty() ? "" : fmt::format(" ({})", outdated));
  row_text(frame, frame.fonts.small, disturbed ? frame.palette.warning : frame.palette.text,
           ellipsize(frame.fonts.small, text, ImGui::GetContentRegionAvail().x));
  tooltip(frame,
          text +
              "\nWhole training steps of both were timed in turns, while this window trained nothing. Faster "
              "is what "
              "lies beyond the spread of both; the variants' times above are those of each by itself.");
}

/// A combo of `all` and each of `offered`. True if something was chosen.
template <class Value>
bool draw_choice(const Frame& frame, const std::string& name, const char* all, float width, const char* tip,
                 const std::vector<Value>& offered, std::optional<Value>& chosen) {
  const std::string now = chosen ? std::string(to_string(*chosen)) : all;
  if (!begin_combo(frame, name.c_str(), now, width, tip)) return false;
  bool changed = combo_item(frame, (name + "=all").c_str(), all, !chosen);
  if (changed) chosen.reset();
  for (const Value value : offered) {
    const std::string label(to_string(value));
    if (!combo_item(frame, fmt::format("{}={}", name, label).c_str(), label.c_str(), chosen == value))
      continue;
    chosen = value;
    changed = true;
  }
  end_combo();
  return changed;
}

}  // namespace

std::array<Column, 4> BenchPanel::columns() {
  return plot::bar_columns(kNames);
}

std::span<const char* const> BenchPanel::views() {
  return kViews;
}

void BenchPanel::prepare(const Frame& frame, const LaboratoryController& controller) {
  if (!stale_ && version_ == controller.version() && own_ == frame.snapshot.user_kernels) return;
  stale_ = false;
  own_ = frame.snapshot.user_kernels;
  version_ = controller.version();
  const auto& laboratory = controller.state();
  const bool name_precision = !filter_.precision && bench_precisions(laboratory.bench).size() > 1;
  groups_.clear();
  for (const BenchGroup& group : bench_groups(laboratory.bench, filter_))
    groups_.push_back(bars_of(frame, group, name_precision));
  points_.clear();
  std::vector<profiling::BenchRow> rows = laboratory.bench;
  for (profiling::BenchRow& each : rows_of_own(*own_)) rows.push_back(std::move(each));
  for (const BenchPoint& point : bench_points(rows, filter_)) {
    points_.push_back(point_of(frame, point, filter_.op.has_value(), laboratory.peaks.bytes,
                               laboratory.peaks.flops(point.precision)));
  }
  ceilings_.clear();
  for (const Precision precision : core::selectable_precisions()) {
    const double peak = laboratory.peaks.flops(precision);
    const auto measured = bench_precisions(laboratory.bench);
    const bool shown = filter_.precision
                           ? *filter_.precision == precision
                           : std::find(measured.begin(), measured.end(), precision) != measured.end();
    if (shown && peak > 0) ceilings_.push_back({std::string(core::to_string(precision)), peak});
  }
}

void BenchPanel::draw_controls(const Frame& frame, LaboratoryController& controller, bool both) {
  if (job_button(frame, controller, kButton)) {
    profiling::BenchOptions options;
    if (measured_precisions_ == 0) options.precisions = {frame.snapshot.selection.precision};
    controller.bench(frame, std::move(options));
  }
  const std::string precision(core::to_string(frame.snapshot.selection.precision));
  const std::array<const char*, 2> choices{precision.c_str(), "all"};
  segmented_in_row(frame, 8, "bench.measure", choices, &measured_precisions_,
                   "What is measured: the precision in use, or all of them.");
  if (controller.state().bench.empty()) return;
  next_in_row(frame, 20, op_choice_width(frame, both));
  stale_ |= draw_choice(frame, "bench.op", "all operations", op_choice_width(frame, both),
                        "Which operation is shown; of one, the roofline shows each layer.",
                        bench_ops(controller.state().bench), filter_.op);
  next_in_row(frame, 8, kPrecisionWidth * frame.scale);
  stale_ |=
      draw_choice(frame, "bench.precision", "all", kPrecisionWidth * frame.scale, "Which precision is shown.",
                  bench_precisions(controller.state().bench), filter_.precision);
  if (!both) {
    segmented_in_row(frame, 8, "bench.view", kViews, &view_,
                     "Times as bars, or rates under what the device can do at best.");
  }
  if (both || view_ == 0) {
    next_in_row(frame, 8, toggle_width(frame, "log"));
    toggle(frame, "bench.log", "log", &logarithmic_,
           "Logarithmic bars: equal ratios take equal room. Otherwise bars start at 0.");
  }
}

void BenchPanel::draw_roofline(const Frame& frame, const jobs::LaboratoryState& laboratory, ImVec2 size) {
  ImGui::BeginChild("bench.roofline_room", size, false,
                    ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoScrollWithMouse);
  // In a low panel the plot needs the room more; the points tell their operation under the pointer.
  if (ImGui::GetContentRegionAvail().y > 220 * frame.scale)
    draw_legend(frame, legend_of(frame, laboratory, filter_));
  const bool gpu = frame.on_gpu();
  const plot::Roofline roofline{.points = points_,
                                .ceilings = ceilings_,
                                .bytes = laboratory.peaks.bytes,
                                .unit = gpu ? "TFLOP/s" : "GFLOP/s",
                                .unit_rate = gpu ? 1e12 : 1e9,
                                .empty_text = "Nothing that computes was timed yet"};
  plot::draw(frame, "bench.roofline", ImGui::GetContentRegionAvail(), roofline);
  ImGui::EndChild();
}

void BenchPanel::draw(const Frame& frame, LaboratoryController& controller) {
  const auto& laboratory = controller.state();
  prepare(frame, controller);
  draw_caption(frame, controller);
  panel_body(frame);
  ImGui::Dummy(ImVec2(1, 2 * frame.scale));
  const ImVec2 room = ImGui::GetContentRegionAvail();
  const bool both = room.x >= kBothWidth * frame.scale;
  draw_controls(frame, controller, both);
  job_progress(frame, controller, jobs::Job::bench, "bench.progress");
  if (laboratory.bench_disturbed && laboratory.running != jobs::Job::bench) draw_disturbed(frame);
  draw_advice(frame, laboratory);
  if (laboratory.bench.empty()) {
    centered_text(frame, controller.state().running == jobs::Job::bench
                             ? "The first variant is being timed; this window trains nothing meanwhile."
                             : "Not measured yet. \"Measure\" times every variant on the shapes of this "
                               "training step; a training of this window pauses meanwhile.");
    return;
  }
  begin_rest(frame, kLeastHeight);
  const float gap = 16 * frame.scale, bars = both ? std::floor(0.55f * (room.x - gap)) : room.x;
  if (both || view_ == 0) {
    plot::draw_bars(frame, "bench.bars", ImVec2(bars, 0), groups_, kNames, logarithmic_);
  }
  if (both) ImGui::SameLine(0, gap);
  if (both || view_ == 1) draw_roofline(frame, laboratory, ImVec2(0, 0));
  end_rest();
}

}  // namespace warpscope::ui
