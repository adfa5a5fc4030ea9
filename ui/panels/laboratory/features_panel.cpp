#include "ui/panels/laboratory/features_panel.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <span>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "gpu/files/file.h"
#include "ui/input/cursor.h"
#include "ui/panels/laboratory/job_bar.h"
#include "ui/panels/pictures/confusion_figures.h"
#include "ui/widgets/table.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

using features::DeskWork;
using features::Pooling;

constexpr std::array<const char*, 6> kViews{"settings", "result", "classes", "images", "tries", "grid"};
constexpr float kControlsWidth = 304, kBesideFrom = 680;  // design pixels
constexpr float kLeastHeight = 112;                       // design pixels
constexpr float kFiguresWidth = 208, kMostFiguresWidth = 280, kMatrixFrom = 200;

enum : std::size_t { kClass, kRight, kOf, kAccuracy, kBar, kTaken };
constexpr std::array<Column, 6> kColumns{{
    text_column("class", "The classes of the test images, the worst first.", 88),
    number_column("right", "Test images of the class that got it.", 48, 2),
    number_column("of", "Test images of the class.", 48, 3),
    number_column("accuracy", "The share that is right.", 64),
    text_column("", "The share that is right, from 0 to 100 %.", 96, 4),
    text_column("most often taken for", "The wrong class that it got most often, and how often.", 120, 1),
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

constexpr std::array<const char*, 3> kPoolings{"whole", "mean", "max"};
constexpr std::array<const char*, 3> kGammas{"scale", "auto", "number"};

void label(const Frame& frame, const char* text, std::string_view tip) {
  row_text(frame, frame.fonts.text, frame.palette.muted, text);
  tooltip(frame, tip);
  ImGui::SameLine(value_left(frame));
}

/// The field of a number with a logarithmic slider. True if it is meant.
bool draw_number(const Frame& frame, ValueField& field, const ValueSpec& spec, double& value,
                 std::string& refusal) {
  const ValueEdit edit = field.draw(frame, spec, value, value_left(frame));
  if (!edit.refusal.empty()) refusal = edit.refusal;
  if (!edit.finished || edit.value == value) return false;
  refusal.clear();
  value = edit.value;
  return true;
}

bool draw_layer(const Frame& frame, FeaturesController& controller) {
  const models::Model& model = controller.model();
  const std::string now = layer_of(controller.choice, model);
  label(frame, "layer", "Whose output are the features of an image. The first choice is the latent.");
  bool changed = false;
  if (begin_combo(frame, "features.layer", now, std::max(60.0f, ImGui::GetContentRegionAvail().x),
                  layer_note(layers_text(controller.choice, model), model))) {
    for (const models::Layer& layer : model.layers) {
      const std::string name = "features.layer=" + layer.name;
      if (!combo_item(frame, name.c_str(), layer.name.c_str(), layer.name == now,
                      layer_note(layer.name, model)))
        continue;
      changed = layer.name != now;
      controller.choice.layer = layer.name;
    }
    end_combo();
  }
  return changed;
}

/// A list of which any number can be chosen.
bool draw_further(const Frame& frame, FeaturesController& controller) {
  FeatureChoice& choice = controller.choice;
  const models::Model& model = controller.model();
  constexpr const char* kTip =
      "Other layers whose numbers stand beside these, the largest of each of at most 4 x 4 windows.";
  label(frame, "beside", kTip);
  const std::string whole = layers_text(choice, model);
  const std::size_t plus = whole.find('+');
  const std::string now = plus == std::string::npos ? std::string("nothing") : whole.substr(plus + 1);
  bool changed = false;
  if (begin_combo(frame, "features.beside", now, std::max(60.0f, ImGui::GetContentRegionAvail().x),
                  plus == std::string::npos ? std::string(kTip) : layer_note(whole, model))) {
    if (combo_item(frame, "features.beside=nothing", "nothing", choice.further.empty())) {
      changed = !choice.further.empty();
      choice.further.clear();
    }
    for (const models::Layer& layer : model.layers) {
      const std::string text = further_text(layer.name, model);
      const auto found = std::find(choice.further.begin(), choice.further.end(), text);
      const std::string name = "features.beside=" + layer.name;
      if (!combo_item(frame, name.c_str(), text.c_str(), found != choice.further.end(),
                      layer_note(text, model)))
        continue;
      changed = true;
      if (found == choice.further.end()) {
        choice.further.push_back(text);
      } else {
        choice.further.erase(found);
      }
    }
    end_combo();
  }
  return changed;
}

bool draw_classifier(const Frame& frame, FeaturesController& controller) {
  const auto& now = classifiers::classifier_named(controller.choice.classifier);
  label(frame, "classifier", now.summary);
  bool changed = false;
  if (begin_combo(frame, "features.classifier", std::string(now.title),
                  std::max(60.0f, ImGui::GetContentRegionAvail().x), now.summary)) {
    for (const classifiers::ClassifierRow& row : classifiers::classifier_table()) {
      const std::string name = fmt::format("features.classifier={}", row.name);
      if (!combo_item(frame, name.c_str(), std::string(row.title).c_str(), row.name == now.name)) continue;
      changed = row.name != now.name;
      controller.choice.classifier = row.name;
    }
    end_combo();
  }
  return changed;
}

void draw_progress(const Frame& frame, const FeaturesController& controller) {
  const float room = ImGui::GetContentRegionAvail().x;
  const features::DeskState& state = controller.state();
  if (state.work == DeskWork::none) {
    const std::string text = state.cancelled ? std::string("cancelled") : state.failure;
    const bool small = controller.state().result && controller.state().result->training_rows <
                                                        controller.state().result->subject.data->train.count;
    if (text.empty() && !small) return ImGui::NewLine();
    const auto& result = controller.state().result;
    const std::string shown = !text.empty() ? text
                                            : fmt::format("a sample: {} of {} training images",
                                                          with_thousands(result->training_rows),
                                                          with_thousands(result->subject.data->train.count));
    row_text(frame, frame.fonts.small, state.failure.empty() ? frame.palette.muted : frame.palette.error,
             ellipsize(frame.fonts.small, shown, room));
    trace_item("features.message");
    return tooltip(frame, !text.empty()
                              ? shown
                              : shown + ". On a CPU all of them would take minutes; on a GPU all are used.");
  }
  const double elapsed =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - state.since).count();
  phase_row(frame, "features.progress", state.part, state.phase, time_left(state.part, elapsed));
  redraw_at(frame, ImGui::GetTime() + 0.5);
}

void draw_figures(const Frame& frame, const features::TrialResult& result, float width) {
  const float s = frame.scale, size = font_size(frame.fonts.large);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const std::string accuracy = accuracy_text(result.accuracy);
  draw_text(ImGui::GetWindowDrawList(), frame.fonts.large, at.x,
            at.y + frame.fonts.large->Ascent * ImGui::GetIO().FontGlobalScale, frame.palette.text, accuracy);
  ImGui::Dummy(ImVec2(width - 8 * s, size + 2 * s));
  trace_item("features.accuracy");
  tooltip(frame, fmt::format("{} of {} got the right class.",
                             with_thousands(std::int64_t{result.judgement.test.right}),
                             files::counted(result.judgement.test.rows, "test image")));
  const std::string what = fmt::format("{}{}", classifiers::classifier_named(result.classifier).title,
                                       result.c > 0 ? fmt::format(", C {}", c_text(result.c)) : "") +
                           (result.gamma.empty() ? "" : ", gamma " + gamma_text(result));
  paragraph(frame.fonts.small, frame.palette.muted, what);
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(8 * s, 0));
  figure_rows(frame, figures_of(result), std::floor(96 * s));
  const auto remark = [&](const std::string& text) {
    if (!text.empty()) paragraph(frame.fonts.small, frame.palette.warning, text);
  };
  remark(result.remark);
  for (const std::string& text : result.judgement.fit.remarks) remark(text);
  ImGui::PopStyleVar();
}

}  // namespace

bool FeaturesControls::draw_pooling(const Frame& frame, FeaturesController& controller) {
  FeatureChoice& choice = controller.choice;
  const models::Model& model = controller.model();
  const auto sides = sides_of(layer_of(choice, model), model);
  constexpr const char* kTip =
      "All numbers of the layer, or one of each of some equal windows: their mean or their largest.";
  label(frame, "pooling", kTip);
  if (sides.empty()) {
    caption(frame, "this layer has one place");
    return false;
  }
  auto pooling = static_cast<int>(choice.pooling);
  bool changed = segmented(frame, "features.pooling", kPoolings, &pooling, kTip);
  choice.pooling = static_cast<Pooling>(pooling);
  if (choice.pooling == Pooling::none) return changed;
  ImGui::SameLine(0, 8 * frame.scale);
  const features::FeatureLayer layer =
      features::parse_feature_layers(layers_text(choice, model), model).front();
  const auto text = [](int side) { return fmt::format("{0} x {0}", side); };
  if (begin_combo(frame, "features.side", text(layer.side), std::max(48.0f, ImGui::GetContentRegionAvail().x),
                  "How many windows: so many numbers of each channel are left.")) {
    for (const int side : sides) {
      const std::string name = fmt::format("features.side={}", side);
      if (!combo_item(frame, name.c_str(), text(side).c_str(), side == layer.side)) continue;
      changed = changed || side != layer.side;
      choice.side = side;
    }
    end_combo();
  }
  return changed;
}

bool FeaturesControls::draw_c(const Frame& frame, FeaturesController& controller) {
  FeatureChoice& choice = controller.choice;
  double c = choice.c();
  if (c == 0) return false;
  ValueSpec spec;
  spec.name = "features.c";
  spec.label = std::string(1, 'C');  // GCC 12 at -O3 misreads the assignment of a literal
  spec.tip =
      "What an image on the wrong side of the border costs: the larger, the closer the classifier keeps to "
      "the training images. Let the slider go, and it learns anew.";
  spec.limits = {0, 1e9, true};
  spec.scale = c_scale(choice.classifier);
  if (!draw_number(frame, c_, spec, c, refusal_)) return false;
  choice.cs[choice.classifier] = c;
  return true;
}

bool FeaturesControls::draw_gamma(const Frame& frame, FeaturesController& controller) {
  FeatureChoice& choice = controller.choice;
  if (choice.classifier != "rbf") return false;
  constexpr const char* kTip =
      "How fast the kernel exp(-gamma |x - y|^2) falls with the distance. scale: 1 / (numbers x their "
      "variance); auto: 1 / numbers; or a number.";
  label(frame, "gamma", kTip);
  auto gamma = static_cast<int>(choice.gamma);
  bool changed = segmented(frame, "features.gamma", kGammas, &gamma, kTip);
  if (changed && static_cast<GammaChoice>(gamma) == GammaChoice::number) {
    // It begins where the rule was.
    const auto& result = controller.state().result;
    if (result && result->gamma_value > 0) choice.gamma_number = result->gamma_value;
  }
  choice.gamma = static_cast<GammaChoice>(gamma);
  if (choice.gamma != GammaChoice::number) return changed;
  ValueSpec spec;
  spec.name = "features.gamma_number";
  spec.label = "";
  spec.tip = kTip;
  spec.limits = {0, 1e9, true};
  spec.scale = kGammaScale;
  return draw_number(frame, gamma_, spec, choice.gamma_number, refusal_) || changed;
}

void FeaturesControls::draw(const Frame& frame, FeaturesController& controller, ImVec2 size) {
  ImGui::BeginChild("features.controls", size, false);
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(8 * frame.scale, 3 * frame.scale));
  bool changed = draw_layer(frame, controller);
  changed = draw_pooling(frame, controller) || changed;
  changed = draw_further(frame, controller) || changed;
  label(frame, "scaling", "Whether each number of the features is brought to mean 0 and deviation 1 first.");
  changed =
      toggle(frame, "features.standardize", "standardized", &controller.choice.standardize,
             "Each number of the features minus its mean, over its deviation, both of the training images") ||
      changed;
  changed = draw_classifier(frame, controller) || changed;
  changed = draw_c(frame, controller) || changed;
  changed = draw_gamma(frame, controller) || changed;
  if (!refusal_.empty()) paragraph(frame.fonts.small, frame.palette.warning, refusal_);
  ImGui::PopStyleVar();
  ImGui::EndChild();
  if (!changed) return;
  refusal_.clear();
  controller.judge_again();
}

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
    if (text_button(frame, "features.cancel", "Cancel", "Stops at once; earlier results stay."))
      controller.cancel();
  } else if (text_button(frame, "features.judge", "Judge now",
                         why_not.empty() ? "Makes the features of all images with the weights of this "
                                           "moment, lets the classifier learn from those of the training "
                                           "images and judges it on the test images. The training goes on."
                                         : why_not,
                         why_not.empty())) {
    controller.judge(frame);
  }
  const bool trains = frame.snapshot.can.steer;
  if (trains) {
    next_in_row(frame, 8, toggle_width(frame, "each epoch"));
    toggle(frame, "features.each_epoch", "each epoch", &controller.each_epoch,
           "Judges again after each pass over the training images");
  }
  if (!narrow && view_ == 0) view_ = 1;
  const std::span<const char* const> views = std::span(kViews).subspan(narrow ? 0 : 1);
  int view = view_ - (narrow ? 0 : 1);
  segmented_in_row(frame, trains ? 16 : 8, "features.view_of", views, &view, "What is shown of the tries.");
  view_ = view + (narrow ? 0 : 1);
  ImGui::SameLine(0, 16 * s);
  draw_progress(frame, controller);
}

void FeaturesPanel::draw_view(const Frame& frame, FeaturesController& controller) {
  const auto& result = controller.state().result;
  if (view_ == 5) return draw_features_grid(frame, controller);
  if (view_ == 4) return tries_.draw(frame, controller);
  if (!result) {
    const std::string why_not = controller.why_not(frame);
    return centered_text(frame, !why_not.empty()    ? why_not
                                : controller.busy() ? "The first result is on its way."
                                : !frame.snapshot.can.steer
                                    ? "Nothing judged yet. \"Judge now\" tells what the features of the "
                                      "run's checkpoint are worth to a classifier."
                                    : "Nothing judged yet. \"Judge now\" tells what the features of this "
                                      "network are worth to a classifier that learns from them.");
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

void FeaturesPanel::draw_classes(const Frame& frame, const features::TrialResult& result) const {
  const auto rows = class_rows(result.judgement.test);
  Table table(frame, "features.classes", kColumns);
  table.rows(static_cast<int>(rows.size()), [&](int i) {
    const ClassRow& row = rows[static_cast<std::size_t>(i)];
    const auto count = [](std::int64_t value) { return with_thousands(value); };
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
      "\"c\":{},\"gamma\":{},\"reused\":{},\"cancelled\":{},\"failure\":{},\"cells\":{},\"view\":{},"
      "\"image\":{},\"pictures\":[{}]",
      controller.busy(), static_cast<int>(state.work), state.tries->size(),
      state.result ? state.result->accuracy : -1, state.result ? state.result->step : 0,
      json_string(state.result ? state.result->classifier : ""),
      json_string(state.result ? state.result->layers : ""), state.result ? state.result->c : 0,
      state.result ? state.result->gamma_value : 0, state.result && state.result->feature_seconds == 0,
      state.cancelled, json_string(state.failure), state.grid ? state.grid->done() : 0,
      json_string(kViews[static_cast<std::size_t>(view_)]), frame.cursor == nullptr ? 0 : frame.cursor->image,
      fmt::join(first, ","));
  trace_change(traced_, "features", now);
}

}  // namespace warpscope::ui
