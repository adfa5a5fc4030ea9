#include "ui/layout.h"

#include <algorithm>
#include <cmath>

#include "ui/trace.h"

namespace warpscope::ui {
namespace {

// Design pixels.
constexpr float kToolbar = 40, kStatus = 24, kGap = 6;
constexpr float kLeastLoss = 360, kLeastImages = 360, kLeastKernels = 440, kLeastTraining = 280;
constexpr float kLeastUpper = 200, kLeastLower = 176;

// The part of `room` the first of two gets, so that both keep their least sizes; where they do not fit, in
// proportion.
float divide(float part, float room, float least_first, float least_second) {
  if (room <= least_first + least_second)
    return std::floor(room * least_first / (least_first + least_second));
  return std::floor(std::clamp(part * room, least_first, room - least_second));
}

void splitter(const Frame& frame, const char* name, const Box& grip, bool moves_x, float now, float room,
              float* part, float standard) {
  ImGui::SetCursorScreenPos(grip.min);
  ImGui::InvisibleButton(name, ImVec2(std::max(1.0f, grip.width()), std::max(1.0f, grip.height())));
  trace_item(name);
  const bool active = ImGui::IsItemActive(), hovered = ImGui::IsItemHovered();
  if (hovered || active)
    ImGui::SetMouseCursor(moves_x ? ImGuiMouseCursor_ResizeEW : ImGuiMouseCursor_ResizeNS);
  if (ImGui::IsItemActivated() && room > 0)
    *part = now / room;  // what is shown may be limited by the least sizes
  if (active && room > 0) {
    const ImVec2 delta = ImGui::GetIO().MouseDelta;
    *part = std::clamp(*part + (moves_x ? delta.x : delta.y) / room, 0.0f, 1.0f);
  }
  if (hovered && ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left)) *part = standard;
  if (!hovered && !active) return;
  const float inset = std::floor((kGap - 2) / 2 * frame.scale);
  const Box line = moves_x
                       ? Box{ImVec2(grip.min.x + inset, grip.min.y), ImVec2(grip.max.x - inset, grip.max.y)}
                       : Box{ImVec2(grip.min.x, grip.min.y + inset), ImVec2(grip.max.x, grip.max.y - inset)};
  ImGui::GetWindowDrawList()->AddRectFilled(line.min, line.max, frame.palette.accent, frame.scale);
}

}  // namespace

Layout arrange(const Splits& splits, ImVec2 size, float scale, float strip) {
  const float gap = std::floor(kGap * scale);
  const float toolbar = std::floor(kToolbar * scale), strip_end = toolbar + gap + std::floor(strip * scale);
  const float top = strip > 0 ? strip_end + gap : toolbar + gap,
              bottom = size.y - std::floor(kStatus * scale) - gap;
  const float rows = std::max(1.0f, bottom - top - gap), columns = std::max(1.0f, size.x - 3 * gap);
  const float upper = top + divide(splits.top, rows, kLeastUpper * scale, kLeastLower * scale);
  const float loss = gap + divide(splits.loss, columns, kLeastLoss * scale, kLeastImages * scale);
  const float kernels = gap + divide(splits.kernels, columns, kLeastKernels * scale, kLeastTraining * scale);
  Layout layout;
  layout.toolbar = {ImVec2(0, 0), ImVec2(size.x, toolbar)};
  layout.strip = {ImVec2(gap, toolbar + gap), ImVec2(size.x - gap, strip_end)};
  layout.loss = {ImVec2(gap, top), ImVec2(loss, upper)};
  layout.images = {ImVec2(loss + gap, top), ImVec2(size.x - gap, upper)};
  layout.kernels = {ImVec2(gap, upper + gap), ImVec2(kernels, bottom)};
  layout.training = {ImVec2(kernels + gap, upper + gap), ImVec2(size.x - gap, bottom)};
  layout.all = {layout.loss.min, layout.training.max};
  layout.status = {ImVec2(0, bottom + gap), size};
  layout.row_splitter = {ImVec2(gap, upper), ImVec2(size.x - gap, upper + gap)};
  layout.upper_splitter = {ImVec2(loss, top), ImVec2(loss + gap, upper)};
  layout.lower_splitter = {ImVec2(kernels, upper + gap), ImVec2(kernels + gap, bottom)};
  return layout;
}

void drag_splitters(const Frame& frame, const Layout& layout, Splits& splits) {
  const Splits standard;
  ImGui::SetNextWindowPos(ImVec2(0, 0));
  ImGui::SetNextWindowSize(ImGui::GetIO().DisplaySize);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(0, 0));
  ImGui::Begin("background", nullptr,
               ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoSavedSettings |
                   ImGuiWindowFlags_NoBackground | ImGuiWindowFlags_NoBringToFrontOnFocus |
                   ImGuiWindowFlags_NoNav);
  const float columns = layout.loss.width() + layout.images.width();
  const float rows = layout.loss.height() + layout.kernels.height();
  splitter(frame, "splitter.rows", layout.row_splitter, false, layout.loss.height(), rows, &splits.top,
           standard.top);
  splitter(frame, "splitter.upper", layout.upper_splitter, true, layout.loss.width(), columns, &splits.loss,
           standard.loss);
  splitter(frame, "splitter.lower", layout.lower_splitter, true, layout.kernels.width(), columns,
           &splits.kernels, standard.kernels);
  ImGui::End();
  ImGui::PopStyleVar();
}

void place_next_window(const Box& box) {
  ImGui::SetNextWindowPos(box.min);
  ImGui::SetNextWindowSize(ImVec2(std::max(1.0f, box.width()), std::max(1.0f, box.height())));
}

}  // namespace warpscope::ui
