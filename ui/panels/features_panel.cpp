#include "ui/panels/features_panel.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <span>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ui/input/cursor.h"
#include "ui/panels/confusion_figures.h"
#include "ui/panels/features_grid.h"
#include "ui/panels/features_rows.h"
#include "ui/text/paragraph.h"
#include "ui/widgets/table.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

using features::DeskWork;

constexpr std::array<const char*, 6> kViews{"settings", "result", "classes", "images", "tries", "grid"};
constexpr float kControlsWidth = 304, kBesideFrom = 680;  // design pixels
constexpr float kLeastHeight = 112;                       // design pixels
constexpr float kFiguresWidth = 208, kMostFiguresWidth = 280, kMatrixFrom = 200;

enum : std::size_t { kClass, kRight, kOf, kAccuracy, kBar, kTaken };
constexpr std::array<Column, 6> kColumns{{
    {.label = "class", .tip = "The classes of the test images, the worst first.", .width = 88},
    {.label = "right", .tip = "Test images of the class that got it.", .width = 48, .right = true, .rank = 2},
    {.label = "of", .tip = "Test images of the class.", .width = 48, .right = true, .rank = 3},
    {.label = "accuracy", .tip = "The share that is right.", .width = 64, .right = true},
    {.label = "", .tip = "The share that is right, from 0 to 100 %.", .width = 96, .rank = 4},
    {.label = "most often taken for",
     .tip = "The wrong class that it got most often, and how often.",
     .width = 120,
     .rank = 1},
}};

void draw_bar(const Frame& frame, Table& table, double part) {
  table.enter(kBar);
  const float inset = std::floor(8 * frame.scale);
  const ImVec2 min(table.cell_min(kBar).x, table.cell_min(kBar).y + inset),
      max(table.cell_max(kBar).x, table.cell_max(kBar).y - inset);
  ImDrawList* const list = ImGui::GetWindowDrawList();
  list->AddRectFilled(min, max, frame.palette.control);
  if (part > 0)
    list->AddRectFilled(min, ImVec2(min.x + (max.x - min.x) * static_cast<float>(part), max.y),
                        frame.palette.series[0]);
}

}  // namespace

void FeaturesPanel::shutdown() {
  pictures_.shutdown();
  matrix_.shutdown();
}

void FeaturesPanel::draw(const Frame& frame, FeaturesController& controller) {
  panel_body(frame);
  ImGui::Dummy(ImVec2(1, 2 * frame.scale));
  const float s = frame.scale;
  narrow_ = ImGui::GetContentRegionAvail().x < kBesideFrom * s;
  draw_actions(frame, controller, narrow_);
  ImGui::Dummy(ImVec2(1, 2 * s));
  begin_rest(frame, kLeastHeight);
  const ImVec2 room = ImGui::GetContentRegionAvail();
  const bool able = !controller.model().layers.empty();
  if (!narrow_ && able) {
    controls_.draw(frame, controller, ImVec2(std::floor(kControlsWidth * s), room.y));
    ImGui::SameLine(0, 20 * s);
  }
  ImGui::BeginChild("features.view", ImVec2(0, room.y), false, ImGuiWindowFlags_NoNav);
  if (narrow_ && able && view_ == 0) {
    controls_.draw(frame, controller, ImGui::GetContentRegionAvail());
  } else {
    draw_view(frame, controller);
  }
  ImGui::EndChild();
  end_rest();
  trace(frame, controller);
}

void FeaturesPanel::draw_actions(const Frame& frame, FeaturesController& controller, bool narrow) {
  const float s = frame.scale;
  const std::string why_not = controller.why_not(frame);
  if (controller.busy()) {
    if (text_button(frame, "features.cancel", "Cancel", "Stops at once; the results of before stay."))
      controller.cancel();
  } else if (text_button(frame, "features.judge", "Judge now",
                         why_not.empty()
                             ? "Makes the features of all images with the weights of this moment, lets the "
                               "classifier learn from those of the training images and judges it on the "
                               "test images. The training goes on."
                             : why_not,
                         why_not.empty())) {
    controller.judge(frame);
  }
  if (frame.request != nullptr) {
    next_in_row(frame, 8, toggle_width(frame, "each epoch"));
    toggle(frame, "features.each_epoch", "each epoch", &controller.each_epoch,
           "Judges again after each pass over the training images");
  }
  if (!narrow && view_ == 0) view_ = 1;
  const std::span<const char* const> views = std::span(kViews).subspan(narrow ? 0 : 1);
  int view = view_ - (narrow ? 0 : 1);
  segmented_in_row(frame, frame.request != nullptr ? 16 : 8, "features.view_of", views, &view,
                   "What is shown of the tries.");
  view_ = view + (narrow ? 0 : 1);
  ImGui::SameLine(0, 16 * s);
  draw_progress(frame, controller);
}

void FeaturesPanel::draw_progress(const Frame& frame, const FeaturesController& controller) const {
  const float s = frame.scale, room = ImGui::GetContentRegionAvail().x;
  const features::DeskState& state = controller.state();
  if (state.work == DeskWork::none) {
    const std::string text = state.cancelled ? std::string("cancelled") : state.failure;
    const bool small = controller.state().result && controller.state().result->training_rows <
                                                        controller.state().result->subject.data->train.count;
    if (text.empty() && !small) return ImGui::NewLine();
    const auto& result = controller.state().result;
    const std::string shown =
        !text.empty()
            ? text
            : fmt::format("a sample: {} of {} training images",
                          with_thousands(static_cast<std::uint64_t>(result->training_rows)),
                          with_thousands(static_cast<std::uint64_t>(result->subject.data->train.count)));
    row_text(frame, frame.fonts.small, state.failure.empty() ? frame.palette.muted : frame.palette.error,
             ellipsize(frame.fonts.small, shown, room));
    trace_item("features.message");
    return tooltip(frame, !text.empty()
                              ? shown
                              : shown + ". On a CPU all of them would take minutes; on a GPU all are used.");
  }
  const double elapsed =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - state.since).count();
  progress_bar(frame, "features.progress", std::clamp(room / 4, 48 * s, 160 * s),
               static_cast<float>(state.part));
  ImGui::SameLine(0, 10 * s);
  const std::string left = time_left(state.part, elapsed);
  const std::string text = left.empty() ? state.phase : fmt::format("{}, {}", state.phase, left);
  caption(frame, ellipsize(frame.fonts.small, text, ImGui::GetContentRegionAvail().x));
  redraw_at(frame, ImGui::GetTime() + 0.5);
}

void FeaturesPanel::draw_view(const Frame& frame, FeaturesController& controller) {
  const auto& result = controller.state().result;
  if (view_ == 5) return draw_features_grid(frame, controller);
  if (view_ == 4) return tries_.draw(frame, controller);
  if (!result) {
    const std::string why_not = controller.why_not(frame);
    return centered_text(
        frame, !why_not.empty()    ? why_not
               : controller.busy() ? "The first result is on its way."
               : frame.request == nullptr
                   ? "Nothing judged yet. \"Judge now\" tells what the features of the run's newest "
                     "checkpoint are worth to a classifier."
                   : "Nothing judged yet. \"Judge now\" tells what the features of this network are "
                     "worth to a classifier that learns from them.");
  }
  if (shown_ != result) {
    shown_ = result;
    held_out_ = {evaluation_of(*result), result->subject.data};
  }
  if (view_ == 3) return pictures_.draw(frame, result);
  if (view_ == 2) return draw_classes(frame, *result);
  draw_result(frame, *result);
}

void FeaturesPanel::draw_result(const Frame& frame, const features::TrialResult& result) {
  const float s = frame.scale;
  const ImVec2 room = ImGui::GetContentRegionAvail();
  const float wanted = std::clamp(room.x / 3, kFiguresWidth * s, kMostFiguresWidth * s);
  const float width = std::min(room.x, std::floor(wanted));
  const bool matrix = room.x - width >= kMatrixFrom * s;
  ImGui::BeginChild("features.figures", ImVec2(matrix ? width : room.x, room.y), false);
  draw_figures(frame, result, matrix ? width : room.x);
  ImGui::EndChild();
  if (!matrix) return;
  ImGui::SameLine(0, 16 * s);
  ImGui::BeginChild("features.matrix", ImVec2(0, room.y), false);
  matrix_.draw(frame, held_out_);
  ImGui::EndChild();
}

void FeaturesPanel::draw_figures(const Frame& frame, const features::TrialResult& result, float width) const {
  const float s = frame.scale, size = font_size(frame.fonts.large);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const std::string accuracy = accuracy_text(result.accuracy);
  draw_text(ImGui::GetWindowDrawList(), frame.fonts.large, at.x,
            at.y + frame.fonts.large->Ascent * ImGui::GetIO().FontGlobalScale, frame.palette.text, accuracy);
  ImGui::Dummy(ImVec2(width - 8 * s, size + 2 * s));
  trace_item("features.accuracy");
  tooltip(frame, fmt::format("{} of {} test images got their class.",
                             with_thousands(static_cast<std::uint64_t>(result.judgement.test.right)),
                             with_thousands(static_cast<std::uint64_t>(result.judgement.test.rows))));
  const std::string what = fmt::format("{}{}", classifiers::classifier_named(result.classifier).title,
                                       result.c > 0 ? fmt::format(", C {}", c_text(result.c)) : "") +
                           (result.gamma.empty() ? "" : ", gamma " + gamma_text(result));
  paragraph(frame.fonts.small, frame.palette.muted, what);
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(8 * s, 0));
  for (const FeatureFigure& figure : figures_of(result)) {
    row_text(frame, frame.fonts.text, frame.palette.muted, figure.label);
    tooltip(frame, figure.tip);
    ImGui::SameLine(std::floor(96 * s));
    value_with_unit(frame, figure.value, figure.unit, figure.tip);
  }
  const auto remark = [&](const std::string& text) {
    if (!text.empty()) paragraph(frame.fonts.small, frame.palette.warning, text);
  };
  remark(result.remark);
  for (const std::string& text : result.judgement.fit.remarks) remark(text);
  ImGui::PopStyleVar();
}

void FeaturesPanel::draw_classes(const Frame& frame, const features::TrialResult& result) const {
  const auto rows = class_rows(result.judgement.test);
  Table table(frame, "features.classes", kColumns);
  table.rows(static_cast<int>(rows.size()), [&](int i) {
    const ClassRow& row = rows[static_cast<std::size_t>(i)];
    const auto count = [](long long value) { return with_thousands(static_cast<std::uint64_t>(value)); };
    table.text(kClass, held_out_.class_name(row.truth), frame.palette.text);
    table.number(kRight, count(row.right), frame.palette.text);
    table.number(kOf, count(row.rows), frame.palette.muted);
    table.number(kAccuracy, percent_text(row.accuracy), frame.palette.text);
    if (table.shows(kBar)) draw_bar(frame, table, std::isnan(row.accuracy) ? 0 : row.accuracy);
    table.text(kTaken,
               row.most < 0 ? "-" : fmt::format("{} ({})", held_out_.class_name(row.most), count(row.taken)),
               frame.palette.text);
  });
}

void FeaturesPanel::trace(const Frame& frame, const FeaturesController& controller) {
  if (!trace_enabled()) return;
  const features::DeskState& state = controller.state();
  constexpr std::size_t kTraced = 8;
  std::vector<std::int64_t> first;
  for (const FeaturePicture& picture : pictures_.shown()) {
    if (first.size() < kTraced) first.push_back(picture.image);
  }
  const std::string now = fmt::format(
      "\"busy\":{},\"work\":{},\"tries\":{},\"accuracy\":{:.6f},\"step\":{},\"classifier\":{},\"layers\":{},"
      "\"c\":{},"
      "\"gamma\":{},\"reused\":{},\"cancelled\":{},\"failure\":{},\"cells\":{},\"view\":{},\"image\":{},"
      "\"pictures\":[{}]",
      controller.busy(), static_cast<int>(state.work), state.tries->size(),
      state.result ? state.result->accuracy : -1, state.result ? state.result->step : 0,
      json_string(state.result ? state.result->classifier : ""),
      json_string(state.result ? state.result->layers : ""), state.result ? state.result->c : 0,
      state.result ? state.result->gamma_value : 0, state.result && state.result->feature_seconds == 0,
      state.cancelled, json_string(state.failure), state.grid ? state.grid->done() : 0,
      json_string(kViews[static_cast<std::size_t>(view_)]), frame.cursor == nullptr ? 0 : frame.cursor->image,
      fmt::join(first, ","));
  if (now == traced_) return;
  traced_ = now;
  trace_event("features", now);
}

}  // namespace warpscope::ui
