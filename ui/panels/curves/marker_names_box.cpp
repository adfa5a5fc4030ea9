#include "ui/panels/curves/marker_names_box.h"

#include <algorithm>
#include <cfloat>
#include <cstring>
#include <string_view>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/files/file.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

constexpr std::size_t kMostFields = 8;
constexpr const char* kPopup = "loss.names";

}  // namespace

void MarkerNamesBox::update(const std::string& run_dir) {
  if (run_dir == run_dir_) return;
  run_dir_ = run_dir;
  names_.clear();
  damaged_ = false;
  if (run_dir.empty()) return;
  try {
    names_ = runs::load_marker_names(run_dir);
  } catch (const core::Error& error) {
    damaged_ = true;
    problem_ = fmt::format("{}; new names last until this window closes", error.what());
  }
}

void MarkerNamesBox::open(std::span<const PlacedMarker> markers) {
  markers_.assign(markers.begin(),
                  markers.begin() + static_cast<std::ptrdiff_t>(std::min(markers.size(), kMostFields)));
  texts_.assign(markers_.size(), {});
  for (std::size_t i = 0; i < markers_.size(); ++i) {
    const std::string_view name = runs::name_of(names_, markers_[i].step, markers_[i].marker.text);
    std::memcpy(texts_[i].data(), name.data(), std::min(name.size(), texts_[i].size() - 1));
  }
  opens_ = true;
  unfolded_.reset();
}

void MarkerNamesBox::set(const PlacedMarker& marker, const char* name) {
  if (runs::name_of(names_, marker.step, marker.marker.text) == name) return;
  runs::set_name(names_, marker.step, marker.marker.text, name);
  if (run_dir_.empty() || damaged_) return;
  try {
    runs::save_marker_names(run_dir_, names_);
  } catch (const core::Error& error) {
    problem_ = fmt::format("the name is not kept: {}", error.what());
  }
}

/// On demand: one preset changes some fifty of them.
void MarkerNamesBox::draw_changes(const Frame& frame, std::size_t i) {
  const auto changes = changes_of(markers_[i].marker.text);
  const std::string name = fmt::format("loss.names.{}.changes", i);
  bool open = unfolded_ == i;
  if (toggle(frame, name.c_str(), files::counted(static_cast<std::int64_t>(changes.size()), "change").c_str(),
             &open, "Show or hide each of them"))
    unfolded_ = open ? std::optional(i) : std::nullopt;
  if (!open) return;
  for (const std::string_view change : changes)
    ImGui::TextUnformatted(change.data(), change.data() + change.size());
}

void MarkerNamesBox::draw_field(const Frame& frame, std::size_t i, bool focus) {
  const float s = frame.scale;
  const PlacedMarker& marker = markers_[i];
  caption(frame, fmt::format("after step {}", with_thousands(marker.step)));
  const std::string line = marker_line(marker.marker.text);
  ImGui::PushTextWrapPos(360 * s);
  ImGui::TextUnformatted(wrapped(frame.fonts.text, line, 340 * s).c_str());
  if (line != marker.marker.text) draw_changes(frame, i);
  ImGui::PopTextWrapPos();
  ImGui::SetNextItemWidth(320 * s);
  if (focus) ImGui::SetKeyboardFocusHere();
  const std::string id = fmt::format("##loss.names.{}", i);
  const bool entered =
      ImGui::InputTextWithHint(id.c_str(), short_marker(marker.marker.text).c_str(), texts_[i].data(),
                               texts_[i].size(), ImGuiInputTextFlags_EnterReturnsTrue);
  trace_item(std::string_view(id).substr(2));
  if (ImGui::IsItemActive()) outline_typed(frame);
  if (entered || ImGui::IsItemDeactivatedAfterEdit()) set(marker, texts_[i].data());
  if (entered) ImGui::CloseCurrentPopup();
}

void MarkerNamesBox::draw(const Frame& frame) {
  const float s = frame.scale;
  if (opens_) ImGui::OpenPopup(kPopup);
  const bool first = std::exchange(opens_, false);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(12 * s, 10 * s));
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(8 * s, 4 * s));
  ImGui::SetNextWindowSizeConstraints(ImVec2(0, 0), ImVec2(FLT_MAX, ImGui::GetIO().DisplaySize.y / 3));
  if (ImGui::BeginPopup(kPopup, ImGuiWindowFlags_NoMove)) {
    for (std::size_t i = 0; i < markers_.size(); ++i) draw_field(frame, i, first && i == 0);
    const ImVec2 at = ImGui::GetWindowPos(), size = ImGui::GetWindowSize();
    trace_rectangle("loss.names", at, ImVec2(at.x + size.x, at.y + size.y));
    ImGui::EndPopup();
  }
  ImGui::PopStyleVar(2);
}

}  // namespace warpscope::ui
