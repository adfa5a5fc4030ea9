#include "ui/panels/map_controls.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "ui/text/paragraph.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

constexpr double kPictureSeconds = 1.0 / features::FeatureMap::kPicturesASecond;
constexpr double kPhaseSeconds = 0.5;  ///< before points move

}  // namespace

void MapControls::draw_actions(const Frame& frame, MapController& maps, bool narrow) {
  const float s = frame.scale;
  const std::string why_not = maps.why_not(frame);
  if (maps.busy()) {
    if (text_button(frame, "latent.cancel", "Cancel", "Stops at once; the points stay where they are."))
      maps.cancel();
  } else if (text_button(
                 frame, "latent.make", maps.map() ? "Map again" : "Map now",
                 !why_not.empty() ? why_not
                 : frame.request == nullptr
                     ? "Makes the map anew from the run's newest checkpoint."
                     : "Makes the features of the test images with the weights of this moment and a map "
                       "of them. The training goes on.",
                 why_not.empty())) {
    maps.make(frame);
  }
  if (narrow) {
    next_in_row(frame, 8, toggle_width(frame, "settings"));
    toggle(frame, "latent.settings", "settings", &settings_, "How many images, and the settings of the map");
  }
  ImGui::SameLine(0, 12 * s);
  draw_progress(frame, maps);
}

void MapControls::draw_progress(const Frame& frame, const MapController& maps) const {
  const float s = frame.scale, room = ImGui::GetContentRegionAvail().x;
  const features::MapState& state = maps.state();
  if (!state.busy) {
    const bool own = state.method == maps.method();
    const auto map = maps.map();
    const std::string failure = own ? sentence(state.failure) : "";
    std::string text = failure;
    if (text.empty() && map && !map->done()) {
      text = fmt::format("ended after {} of {} iterations", map->iteration, map->iterations);
    }
    if (text.empty() && map) text = map_age(*map, frame.snapshot);
    if (text.empty()) return ImGui::NewLine();
    row_text(frame, frame.fonts.small, failure.empty() ? frame.palette.muted : frame.palette.error,
             ellipsize(frame.fonts.small, text, room));
    trace_item("latent.message");
    return tooltip(frame, text);
  }
  progress_bar(frame, "latent.progress", std::clamp(room / 4, 48 * s, 160 * s),
               static_cast<float>(state.part));
  ImGui::SameLine(0, 10 * s);
  const std::string left = map_time_left(state);
  const std::string text = left.empty() ? state.phase : fmt::format("{}, {}", state.phase, left);
  caption(frame, ellipsize(frame.fonts.small, text, ImGui::GetContentRegionAvail().x));
  const bool moving = state.phase == features::FeatureMap::kMoving;
  redraw_at(frame, ImGui::GetTime() + (moving ? kPictureSeconds : kPhaseSeconds));
}

bool MapControls::draw_images(const Frame& frame, MapController& maps) {
  const std::string tip = fmt::format(
      "How many test images are mapped, from the first on. auto: {} on a GPU, {} on a CPU, which takes long "
      "for "
      "all pairs of more.",
      map_count_text(features::mapped_most(core::DeviceKind::cuda)),
      map_count_text(features::mapped_most(core::DeviceKind::cpu)));
  row_text(frame, frame.fonts.text, frame.palette.muted, "images");
  tooltip(frame, tip);
  ImGui::SameLine(value_left(frame));
  bool changed = false;
  if (!begin_combo(frame, "latent.images", map_count_text(maps.choice.images), choice_width(frame, 0), tip))
    return false;
  const auto map = maps.map();
  std::vector<std::int64_t> counts =
      map_counts(map                                    ? map->facts->subject.data->test.count
                 : frame.request && frame.snapshot.data ? frame.snapshot.data->test.count
                                                        : 0);
  counts.insert(counts.begin(), 0);
  for (const std::int64_t count : counts) {
    const std::string name = fmt::format("latent.images={}", count), text = map_count_text(count);
    if (!combo_item(frame, name.c_str(), text.c_str(), count == maps.choice.images)) continue;
    changed = maps.choice.images != count;
    maps.choice.images = count;
  }
  end_combo();
  return changed;
}

bool MapControls::draw_numbers(const Frame& frame, MapController& maps) {
  const std::span<const MapNumber> numbers = map_numbers();
  fields_.resize(numbers.size());
  bool changed = false;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const MapNumber& number = numbers[i];
    if (number.method != maps.method()) continue;
    double& value = maps.choice.*number.value;
    const ValueEdit edit = fields_[i].draw(frame, number.spec, value, value_left(frame));
    if (!edit.refusal.empty()) refusal_ = edit.refusal;
    if (!edit.finished || edit.value == value) continue;
    value = edit.value;
    changed = true;
  }
  return changed;
}

void MapControls::draw_figures(const Frame& frame, const features::MapPicture& map) const {
  for (const MapFigure& figure : map_figures(map)) {
    row_text(frame, frame.fonts.text, frame.palette.muted, figure.label);
    tooltip(frame, figure.tip);
    ImGui::SameLine(value_left(frame));
    value_with_unit(frame, figure.value, figure.unit, figure.tip);
  }
  for (const std::string& remark : map.facts->remarks)
    paragraph(frame.fonts.small, frame.palette.warning, sentence(remark));
}

void MapControls::draw_settings(const Frame& frame, MapController& maps, ImVec2 size) {
  ImGui::BeginChild("latent.map_settings", size);
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(8 * frame.scale, 3 * frame.scale));
  bool changed = draw_images(frame, maps);
  changed = draw_numbers(frame, maps) || changed;
  if (changed) refusal_.clear();
  if (!refusal_.empty()) paragraph(frame.fonts.small, frame.palette.warning, refusal_);
  if (const auto map = maps.map()) draw_figures(frame, *map);
  ImGui::Dummy(ImVec2(1, 4 * frame.scale));
  paragraph(frame.fonts.small, frame.palette.muted, kOnlyPca);
  trace_item("latent.only_pca");
  ImGui::PopStyleVar();
  ImGui::EndChild();
  if (changed) maps.make_again();
}

}  // namespace warpscope::ui
