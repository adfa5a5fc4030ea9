#include "ui/panels/pictures/prediction_cell.h"

#include <algorithm>
#include <cmath>
#include <string>

#include <fmt/format.h>

#include "ui/panels/pictures/confusion_figures.h"
#include "ui/panels/pictures/tiled_images.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

constexpr float kLine = 17, kSign = 14;  // design pixels
constexpr float kEnlarged = 256;         // side of an enlarged image, at most
constexpr float kNamesWidth = 84, kLeastFigures = 320, kMostFigures = 560;

// A tick or a cross, in a square of `size` pixels.
void draw_sign(const Frame& frame, bool right, ImVec2 at, float size) {
  ImDrawList* const list = ImGui::GetWindowDrawList();
  if (!right) {
    draw_icon(list, Icon::close, at, ImVec2(at.x + size, at.y + size), frame.palette.error);
    return;
  }
  const auto point = [&](float x, float y) { return ImVec2(at.x + x * size, at.y + y * size); };
  const ImVec2 stroke[] = {point(0.22f, 0.55f), point(0.43f, 0.75f), point(0.80f, 0.28f)};
  list->AddPolyline(stroke, 3, frame.palette.good, 0, std::max(1.0f, 1.4f * frame.scale));
}

float baseline_of(const Frame& frame, float top) {
  return top + frame.fonts.small->Ascent * ImGui::GetIO().FontGlobalScale + 2 * frame.scale;
}

// A figure of the tool-tip: its name, its value, and what the value is counted in.
void figure(const Frame& frame, const char* name, std::string_view value, std::string_view unit,
            bool number) {
  const float s = frame.scale;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float baseline = row_baseline(frame, at.y), height = std::floor(22 * s);
  ImDrawList* const list = ImGui::GetWindowDrawList();
  draw_text(list, frame.fonts.small, at.x, baseline, frame.palette.muted, name);
  const ImFont* const font = number ? frame.fonts.numbers : frame.fonts.text;
  const std::string shown = ellipsize(font, value, (kMostFigures - kNamesWidth) * s);
  float x = advance_text(list, font, at.x + kNamesWidth * s, baseline, frame.palette.text, shown);
  if (!unit.empty())
    x = advance_text(list, frame.fonts.small, x + 5 * s, baseline, frame.palette.muted, unit);
  ImGui::Dummy(ImVec2(x - at.x, height));
}

void figures(const Frame& frame, const HeldOut& held_out, int image) {
  figure(frame, "truth", held_out.class_name(held_out.truth(image)), "", false);
  figure(frame, "prediction", held_out.class_name(held_out.predicted(image)), "", false);
  figure(frame, "loss", compact_number(static_cast<double>(held_out.loss(image))), "nats, cross-entropy",
         true);
  figure(frame, "probability", percent_text(held_out.probability_of_truth(image)), "of the truth, exp(-loss)",
         true);
  const std::string_view split = training::to_string(held_out.evaluation->split);
  figure(frame, "index", with_thousands(held_out.position(image)),
         fmt::format("of the {} set, from 0", split), true);
  figure(frame, "step", with_thousands(held_out.evaluation->step), "", true);
}

// Wide enough for the names of the classes, within limits.
float figures_width(const Frame& frame, const HeldOut& held_out, int image) {
  const auto width = [&](int index) { return text_width(frame.fonts.text, held_out.class_name(index)); };
  const float s = frame.scale,
              names = std::max(width(held_out.truth(image)), width(held_out.predicted(image)));
  return std::ceil(std::clamp(kNamesWidth * s + names, kLeastFigures * s, kMostFigures * s));
}

}  // namespace

float prediction_height(const Frame& frame) {
  return std::floor(2 * kLine * frame.scale + 2 * frame.scale);
}

float prediction_least_width(const Frame& frame) {
  return std::ceil(text_width(frame.fonts.small, "autom... 00.0") + 4 * frame.scale);
}

void draw_prediction(const Frame& frame, const HeldOut& held_out, int image, ImVec2 at, float width) {
  const float s = frame.scale;
  const ImFont* const font = frame.fonts.small;
  ImDrawList* const list = ImGui::GetWindowDrawList();
  const bool right = held_out.right(image);
  const float first = baseline_of(frame, at.y), sign = std::floor(kSign * s);
  const std::string loss = loss_text(held_out.loss(image));
  const float loss_width = text_width(font, loss);
  draw_text(list, font, at.x + width - loss_width, first, frame.palette.muted, loss);
  draw_text(list, font, at.x, first, right ? frame.palette.muted : frame.palette.text,
            ellipsize(font, held_out.class_name(held_out.truth(image)), width - loss_width - 6 * s));
  const float second = at.y + std::floor(kLine * s);
  draw_sign(frame, right, ImVec2(at.x - 2 * s, std::floor(second + 2 * s)), sign);
  draw_text(list, font, at.x + sign + s, baseline_of(frame, second),
            right ? frame.palette.muted : frame.palette.error,
            ellipsize(font, held_out.class_name(held_out.predicted(image)), width - sign - s));
}

void magnify_prediction(const Frame& frame, const HeldOut& held_out, int image, const interop::TilePage& page,
                        int tile) {
  const float s = frame.scale;
  const training::ImageFacts& set = held_out.images();
  const float side = static_cast<float>(std::max(set.width, set.height));
  const float density = framebuffer_density();
  const float pixel = std::max(1.0f, std::floor(kEnlarged * s * density / side)) / density;
  const ImVec2 size(pixel * static_cast<float>(set.width), pixel * static_cast<float>(set.height));
  const float width = std::max(size.x, figures_width(frame, held_out, image));
  const ImVec2 all(width + 24 * s,
                   ImGui::GetFrameHeight() + size.y + 8 * s + 6 * std::floor(22 * s) + 16 * s);
  begin_picture_tip(frame, beside_pointer(all, s));
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const bool right = held_out.right(image);
  const float sign = std::floor(kSign * s);
  draw_sign(frame, right, ImVec2(at.x - 2 * s, std::floor(at.y + (ImGui::GetFrameHeight() - sign) / 2)),
            sign);
  ImGui::SetCursorPosX(ImGui::GetCursorPosX() + sign + 4 * s);
  row_text(frame, frame.fonts.strong, right ? frame.palette.text : frame.palette.error,
           right ? "right" : "wrong");
  const ImVec2 min = on_whole_pixels(ImGui::GetCursorScreenPos());
  page.draw(ImGui::GetWindowDrawList(), tile, min, ImVec2(min.x + size.x, min.y + size.y));
  ImGui::Dummy(ImVec2(width, size.y + 8 * s));
  figures(frame, held_out, image);
  end_picture_tip();
}

}  // namespace warpscope::ui
