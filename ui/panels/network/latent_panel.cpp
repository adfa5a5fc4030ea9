#include "ui/panels/network/latent_panel.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "gpu/files/file.h"
#include "ui/input/cursor.h"
#include "ui/panels/data_texts.h"
#include "ui/panels/laboratory/job_bar.h"
#include "ui/panels/selection_chip.h"
#include "ui/settings/steering.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

constexpr std::array<const char*, 2> kTools{"move", "lasso"};
constexpr const char* kThumbnails = "pictures";
constexpr const char* kFit = "fit";
// Design pixels.
constexpr float kToolGap = 12, kGap = 8;
constexpr float kLeastHeight = 144;
constexpr float kActionsWidth = 320;  ///< of a map, where they stand in the row of the controls
constexpr float kWalkWidth = 296;
constexpr float kLeastMapWidth = 240;

struct Methods {
  std::vector<const char*> titles;
  int now = 0;
};

Methods methods_of(const MapController& maps) {
  Methods methods;
  for (const LatentMethod& method : latent_methods()) {
    if (method.name == maps.method()) methods.now = static_cast<int>(methods.titles.size());
    methods.titles.push_back(method.title.c_str());
  }
  return methods;
}

constexpr double kPictureSeconds = 1.0 / features::FeatureMap::kPicturesASecond;
constexpr double kPhaseSeconds = 0.5;  ///< before points move

void draw_progress(const Frame& frame, const MapController& maps) {
  const float room = ImGui::GetContentRegionAvail().x;
  const features::MapState& state = maps.state();
  if (!state.busy) {
    const bool own = state.method == maps.method();
    const auto map = maps.map();
    const std::string failure = own ? sentence(state.failure) : "";
    std::string text = failure;
    if (text.empty() && map && !map->done()) {
      text =
          fmt::format("ended after {} of {}", map->iteration, files::counted(map->iterations, "iteration"));
    }
    if (text.empty() && map) text = map_age(*map, frame.snapshot);
    if (text.empty()) return ImGui::NewLine();
    row_text(frame, frame.fonts.small, failure.empty() ? frame.palette.muted : frame.palette.error,
             ellipsize(frame.fonts.small, text, room));
    trace_item("latent.message");
    return tooltip(frame, text);
  }
  phase_row(frame, "latent.progress", state.part, state.phase, map_time_left(state));
  const bool moving = state.phase == features::FeatureMap::kMoving;
  redraw_at(frame, ImGui::GetTime() + (moving ? kPictureSeconds : kPhaseSeconds));
}

bool draw_images(const Frame& frame, MapController& maps) {
  const std::string tip = fmt::format(
      "How many test images are mapped, from the first on. auto: {} on a GPU, {} on a CPU, which takes long "
      "for all pairs of more.",
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

void draw_figures(const Frame& frame, const features::MapPicture& map) {
  figure_rows(frame, map_figures(map), value_left(frame));
  for (const std::string& remark : map.facts->remarks)
    paragraph(frame.fonts.small, frame.palette.warning, sentence(remark));
}

/// Why there is no map, in a sentence.
std::string map_missing(const Frame& frame, const MapController& maps) {
  if (maps.busy()) return "The first points are on their way.";
  const std::string why_not = maps.why_not(frame);
  return why_not.empty() ? "There is no map yet. \"Map now\" makes one." : why_not;
}

void draw_method(const Frame& frame, MapController& maps) {
  auto [titles, now] = methods_of(maps);
  if (segmented(frame, "latent.method", titles, &now,
                "PCA follows the training; t-SNE and UMAP map the weights of a moment.", true)) {
    maps.choose(frame, latent_methods()[static_cast<std::size_t>(now)].name);
  }
}

}  // namespace

void MapControls::draw_actions(const Frame& frame, MapController& maps, bool narrow) {
  const float s = frame.scale;
  const std::string why_not = maps.why_not(frame);
  if (maps.busy()) {
    if (text_button(frame, "latent.cancel", "Cancel", "Stops at once; the points stay where they are."))
      maps.cancel();
  } else if (text_button(frame, "latent.make", maps.map() ? "Map again" : "Map now",
                         !why_not.empty() ? why_not
                         : !frame.snapshot.can.steer
                             ? "Makes the map anew from the run's checkpoint."
                             : "Makes the features of the test images with the weights of this moment and a "
                               "map of them. The training goes on.",
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

void LatentPanel::shutdown() {
  plane_.shutdown();
  walk_.shutdown();
}

void LatentPanel::draw(const Frame& frame, MapController& maps) {
  if (frame.cursor == nullptr) {
    panel_body(frame);
    return;
  }
  if (maps.method().empty() && frame.request != nullptr) frame.request->latents.map = true;
  take_newest(frame, maps);
  const float width = controls_width(frame, maps);
  const bool in_title = title_room(frame) >= width;
  if (in_title) draw_controls(frame, maps);
  panel_body(frame);
  ImGui::Dummy(ImVec2(1, std::floor(3 * frame.scale)));
  if (!in_title) draw_controls(frame, maps);
  // What was chosen just now is drawn from the next frame on.
  if (method_.empty()) {
    draw_components(frame);
  } else {
    const float beside = width + (16 + kActionsWidth) * frame.scale;
    if (!in_title && ImGui::GetContentRegionAvail().x >= beside) ImGui::SameLine(0, 16 * frame.scale);
    draw_map(frame, maps);
  }
  trace(frame, maps);
}

/// What is drawn now; points are made anew only if they are others.
void LatentPanel::take_newest(const Frame& frame, const MapController& maps) {
  const bool other = method_ != maps.method();
  if (other) plane_.fit();
  method_ = maps.method();
  if (!plane_.held() || other || !points_ || (method_.empty() && !frame.seen.latents)) {
    latents_ = method_.empty() ? frame.seen.latents : nullptr;
    map_ = maps.map();
  }
  std::shared_ptr<const void> now = map_;
  if (method_.empty()) {
    const auto& data = frame.snapshot.data;
    const bool there = latents_ && latents_->problem.empty() && data &&
                       std::cmp_greater_equal(data->test.count, latents_->count);
    now = there ? latents_ : nullptr;
  }
  if (now == made_of_) return;
  made_of_ = now;
  points_ = nullptr;
  if (now) {
    points_ = std::make_shared<const PlanePoints>(method_.empty() ? points_of(*latents_, frame.snapshot.data)
                                                                  : points_of(*map_));
  }
}

/// Why there are no principal components, in a sentence.
std::string LatentPanel::components_missing(const Frame& frame) const {
  if (frame.request == nullptr) {
    return why_no_look(frame.snapshot,
                       latents_
                           ? "The images that the latents are of are not here."
                           : "The folder of this run holds no latents of PCA. t-SNE and UMAP map those of "
                             "its newest checkpoint.");
  }
  return latents_ && !latents_->problem.empty() ? latents_->problem : "Looking at the latents ...";
}

/// The width of all of them, so that none moves when the first points come.
float LatentPanel::controls_width(const Frame& frame, const MapController& maps) const {
  const float s = frame.scale;
  const std::size_t selected = frame.cursor->images.size();
  const float chip =
      points_ && selected > 0 ? kGap * s + chip_width(frame, selected_text(selected, points_->count())) : 0;
  return segmented_width(frame, methods_of(maps).titles) + segmented_width(frame, kTools) +
         toggle_width(frame, kThumbnails) + text_button_width(frame, kFit) + (kToolGap + 2 * kGap) * s + chip;
}

void LatentPanel::draw_controls(const Frame& frame, MapController& maps) {
  draw_method(frame, maps);
  if (!points_) return;
  int tool = plane_.lasso ? 1 : 0;
  if (segmented_in_row(frame, kToolGap, "latent.tool", kTools, &tool,
                       "What dragging does: move the plane, or draw a lasso around images, which all views "
                       "then show (Shift + drag does it too). The wheel zooms at the pointer.")) {
    plane_.lasso = tool == 1;
  }
  if (!points_->data->test.texts) {
    next_in_row(frame, kGap, toggle_width(frame, kThumbnails));
    toggle(frame, "latent.thumbnails", kThumbnails, &plane_.thumbnails,
           "Pictures, or a point in the class's colour");
  }
  next_in_row(frame, kGap, text_button_width(frame, kFit));
  if (text_button(frame, "latent.fit", kFit, "Show all images again (double click)")) plane_.fit();
  const std::size_t selected = frame.cursor->images.size();
  if (selected == 0) return;
  next_in_row(frame, kGap, chip_width(frame, selected_text(selected, points_->count())));
  selection_chip(frame, "latent.selection", selected, points_->count(), ImGui::GetContentRegionAvail().x);
}

/// What the plane shows, in its corner: below the legend.
void LatentPanel::draw_figures(const Frame& frame, ImVec2 corner, const std::string& text,
                               const std::string& note) const {
  const float s = frame.scale;
  const ImVec2 min(corner.x + 8 * s, corner.y + std::max(20 * s, plane_.legend_height(frame)));
  const ImVec2 max(min.x + text_width(frame.fonts.small, text), min.y + 16 * s);
  ImDrawList* const list = ImGui::GetWindowDrawList();
  // It stays readable where images lie below it.
  const ImU32 veil = (frame.palette.panel & ~IM_COL32_A_MASK) | IM_COL32(0, 0, 0, 200);
  list->AddRectFilled(ImVec2(min.x - 3 * s, min.y), ImVec2(max.x + 3 * s, max.y), veil, 3 * s);
  draw_text(list, frame.fonts.small, min.x, min.y + 12 * s, frame.palette.muted, text);
  trace_rectangle("latent.figures", min, max);
  area_tooltip(frame, min, max, note);
}

void LatentPanel::draw_components(const Frame& frame) {
  if (!points_) return centered_text(frame, components_missing(frame));
  begin_rest(frame, kLeastHeight);
  draw_plane(frame);
  end_rest();
}

/// In its place, so that nothing moves as the pointer goes over the curves.
void LatentPanel::draw_no_walk(const Frame& frame, ImVec2 size) {
  ImGui::BeginChild("latent.no_walk", size, false, ImGuiWindowFlags_NoNav);
  paragraph(frame.fonts.small, frame.palette.muted,
            "Pictures of places between images are made of the newest latents only (Esc).");
  ImGui::EndChild();
}

void LatentPanel::draw_plane(const Frame& frame) {
  const float s = frame.scale, gap = 8 * s;
  const bool past = latents_->values.empty();  // only places are kept
  const bool decodes = latents_->latent.decodes;
  ImVec2 room = ImGui::GetContentRegionAvail();
  const float column = std::floor(kWalkWidth * s);
  const bool beside = decodes && room.x >= column + gap + kLeastMapWidth * s;
  LatentMarks marks;
  marks.from = frame.cursor->image;
  if (beside && !past) {
    // Pictures that nobody sees are not asked for.
    frame.request->latents.pictures = walk_.recipes(*latents_, frame.cursor->image);
    marks = walk_.marks(frame, *latents_);
  }
  if (beside) room.x -= column + gap;
  if (!decodes) room.y -= ImGui::GetFrameHeight() + gap;
  const ImVec2 corner = ImGui::GetCursorScreenPos();
  const ImVec2 size(std::max(1.0f, room.x), std::max(1.0f, room.y));
  if (const auto end = plane_.draw(frame, points_, marks, size)) walk_.go_to(*end);
  draw_figures(
      frame, corner,
      fmt::format("{}, {} each, step {}",
                  files::counted(latents_->count, trains_on_texts(frame) ? "text" : "image"),
                  files::counted(latents_->latent.elements(), "number"), with_thousands(latents_->step)),
      fmt::format(
          "The latent is {}. Its numbers, for the first {} test images, in the plane of their first two "
          "principal components. From look to look a component keeps its sign and its place, by the inner "
          "product of its scores with those before, until one behind it has a quarter more variance.",
          latents_->latent.reason, latents_->count));
  if (beside) {
    ImGui::SameLine(0, gap);
    past ? draw_no_walk(frame, ImVec2(column, room.y)) : walk_.draw(frame, *latents_, ImVec2(column, room.y));
  } else if (!decodes) {
    caption(frame,
            ellipsize(frame.fonts.small,
                      "This network has no decoder: it makes no pictures of places between images.", room.x));
  }
}

void LatentPanel::draw_map(const Frame& frame, MapController& maps) {
  const float s = frame.scale, gap = 8 * s, column = std::floor(kWalkWidth * s);
  const bool able = maps.why_not(frame).empty();
  const float width = ImGui::GetWindowContentRegionMax().x - ImGui::GetWindowContentRegionMin().x;
  const bool narrow = width < column + gap + kLeastMapWidth * s;
  map_controls_.draw_actions(frame, maps, narrow && able);
  ImGui::Dummy(ImVec2(1, 2 * s));
  begin_rest(frame, kLeastHeight);
  draw_mapped(frame, maps, narrow, able);
  end_rest();
}

/// The map and, beside it or in its place, its settings.
void LatentPanel::draw_mapped(const Frame& frame, MapController& maps, bool narrow, bool able) {
  const float s = frame.scale, gap = 8 * s, column = std::floor(kWalkWidth * s);
  const ImVec2 room = ImGui::GetContentRegionAvail();
  if (narrow && able && map_controls_.shows_settings()) return map_controls_.draw_settings(frame, maps, room);
  const bool beside = able && !narrow;
  const ImVec2 size(std::max(1.0f, beside ? room.x - column - gap : room.x), std::max(1.0f, room.y));
  if (points_) {
    LatentMarks marks;
    marks.from = frame.cursor->image;
    const ImVec2 corner = ImGui::GetCursorScreenPos();
    plane_.draw(frame, points_, marks, size);
    draw_figures(frame, corner, map_text(*map_), map_note(*map_));
  } else {
    ImGui::BeginChild("latent.no_map", size, false, ImGuiWindowFlags_NoNav);
    centered_text(frame, map_missing(frame, maps));
    ImGui::EndChild();
  }
  if (!beside) return;
  ImGui::SameLine(0, gap);
  map_controls_.draw_settings(frame, maps, ImVec2(column, room.y));
}

void LatentPanel::trace(const Frame& frame, const MapController& maps) {
  if (!trace_enabled() || (method_.empty() && !points_)) return;
  std::string now = fmt::format("\"method\":{},\"image\":{},\"selected\":{},\"count\":{}",
                                json_string(method_.empty() ? "pca" : method_), frame.cursor->image,
                                frame.cursor->images.size(), points_ ? points_->count() : 0);
  if (method_.empty()) {
    const auto& pictures = frame.seen.latent_pictures;
    now += fmt::format(
        ",\"number\":{},\"step\":{},\"layer\":{},\"numbers\":{},\"decodes\":{},\"pictures\":{}",
        latents_->number, latents_->step, json_string(latents_->latent.layer), latents_->latent.elements(),
        latents_->latent.decodes, pictures ? pictures->recipes.size() : 0);
  } else {
    now += fmt::format(
        ",\"busy\":{},\"number\":{},\"step\":{},\"layer\":{},\"iteration\":{},\"iterations\":{},\"reused\":{}"
        ",\"cancelled\":{},\"failure\":{}",
        maps.busy(), map_ ? map_->number : 0, map_ ? map_->facts->subject.step : 0,
        json_string(map_ ? map_->facts->layers : ""), map_ ? map_->iteration : 0, map_ ? map_->iterations : 0,
        map_ && map_->facts->feature_seconds == 0, maps.state().cancelled, json_string(maps.state().failure));
  }
  trace_change(traced_, "latent", now);
}

}  // namespace warpscope::ui
