#include "ui/panels/pictures/picture_magnifier.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "ui/images/colour_bar.h"
#include "ui/panels/pictures/picture_grid.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

constexpr int kMagnification =
    8;                           // framebuffer pixels per image pixel and unit of scale, where there is room
constexpr int kMostPixels = 32;  // of each side that are shown; larger images are cut around the pointer

constexpr float kTableNames = 112, kTableColumn = 72, kTableLine = 20;  // design pixels

/// For the heading and a line for each row.
float table_height(const Frame& frame, const PictureScene& scene) {
  return static_cast<float>(scene.rows.size() + 1) * std::floor(kTableLine * frame.scale);
}

/// The part of an image that is enlarged.
struct Crop {
  int x = 0;
  int y = 0;
  int width = 0;
  int height = 0;
};

Crop crop_around(const training::ImageShape& shape, const images::GridHit& hit) {
  Crop crop{0, 0, std::min(shape.width, kMostPixels), std::min(shape.height, kMostPixels)};
  crop.x = std::clamp(hit.x - crop.width / 2, 0, shape.width - crop.width);
  crop.y = std::clamp(hit.y - crop.height / 2, 0, shape.height - crop.height);
  return crop;
}

/// What the tool-tip is measured by, in pixels of the window.
struct Measures {
  Crop crop;
  float pixel = 1;  ///< side of an enlarged image pixel
  float gap = 0;
  float column = 0;  ///< width of an enlarged image
};

Measures measure(const Frame& frame, const PictureScene& scene, const images::GridHit& hit) {
  const float density = framebuffer_density(), s = frame.scale;
  Measures m;
  m.crop = crop_around(scene.desk.shape(), hit);
  m.gap = std::floor(8 * s);
  const auto columns = static_cast<float>(scene.rows.size()), width = static_cast<float>(m.crop.width);
  // Many rows are enlarged less, so that the panel stays in view.
  const float room = 0.64f * ImGui::GetIO().DisplaySize.x - 40 * s - (columns - 1) * m.gap;
  const float wanted = static_cast<float>(kMagnification) * std::max(1.0f, std::round(s * density));
  m.pixel = std::clamp(std::floor(room * density / (columns * width)), 1.0f, wanted) / density;
  m.column = m.pixel * width;
  return m;
}

/// Size of the whole tool-tip, its padding included.
ImVec2 tip_size(const Frame& frame, const PictureScene& scene, const Measures& m) {
  const float s = frame.scale;
  const auto rows = static_cast<float>(scene.rows.size());
  return {rows * (m.column + m.gap) - m.gap + 24 * s, 2 * ImGui::GetFrameHeight() +
                                                          m.pixel * static_cast<float>(m.crop.height) +
                                                          m.gap + table_height(frame, scene) + 16 * s};
}

void draw_enlarged(const Frame& frame, const PictureScene& scene, PictureRow row, const images::GridHit& hit,
                   const Measures& m, ImVec2 at) {
  const auto place = [&](int x, int y) {
    return ImVec2(at.x + m.pixel * static_cast<float>(x), at.y + m.pixel * static_cast<float>(y));
  };
  ImDrawList* const list = ImGui::GetWindowDrawList();
  const Crop& crop = m.crop;
  const ImVec2 end = place(crop.width, crop.height);
  if (!scene.desk.draw(list, row, hit.image, {crop.x, crop.y}, {crop.x + crop.width, crop.y + crop.height},
                       at, end)) {
    list->AddRect(at, end, frame.palette.grid, 0, 0, hairline(frame));
    return;
  }
  // Two outlines, dark in light, so that the marked pixel is seen on every colour.
  const ImVec2 min = place(hit.x - crop.x, hit.y - crop.y);
  const ImVec2 max = place(hit.x - crop.x + 1, hit.y - crop.y + 1);
  const float line = std::max(1.0f, std::floor(frame.scale));
  list->AddRect(ImVec2(min.x - line, min.y - line), ImVec2(max.x + line, max.y + line),
                IM_COL32(0, 0, 0, 255), 0, 0, line);
  list->AddRect(ImVec2(min.x, min.y), ImVec2(max.x, max.y), IM_COL32(255, 255, 255, 255), 0, 0, line);
}

void draw_rows(const Frame& frame, const PictureScene& scene, const images::GridHit& hit, const Measures& m) {
  const float density = framebuffer_density();
  const ImVec2 cursor = ImGui::GetCursorScreenPos();
  const float caption_height = ImGui::GetFrameHeight();
  const ImVec2 start(std::round(cursor.x * density) / density,
                     std::round((cursor.y + caption_height) * density) / density);
  for (std::size_t i = 0; i < scene.rows.size(); ++i) {
    const float x = start.x + (m.column + m.gap) * static_cast<float>(i);
    draw_text(ImGui::GetWindowDrawList(), frame.fonts.small, x, row_baseline(frame, cursor.y),
              frame.palette.muted, ellipsize(frame.fonts.small, scene.name(scene.rows[i]), m.column));
    draw_enlarged(frame, scene, scene.rows[i], hit, m, ImVec2(x, start.y));
  }
  ImGui::Dummy(ImVec2(static_cast<float>(scene.rows.size()) * (m.column + m.gap) - m.gap,
                      caption_height + m.pixel * static_cast<float>(m.crop.height) + m.gap));
}

/// A line of the table: a name in small text, then numbers in columns.
void value_line(const Frame& frame, const std::string& name, std::span<const std::string> values,
                bool heading) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float baseline = row_baseline(frame, at.y), column = std::floor(kTableColumn * frame.scale);
  ImDrawList* const list = ImGui::GetWindowDrawList();
  float right = at.x + std::floor(kTableNames * frame.scale);
  draw_text(list, frame.fonts.small, at.x, baseline, frame.palette.muted,
            ellipsize(frame.fonts.small, name, right - at.x));
  const ImFont* font = heading ? frame.fonts.small : frame.fonts.numbers;
  for (const std::string& value : values) {
    right += column;
    draw_text(list, font, right - text_width(font, value), baseline,
              heading ? frame.palette.muted : frame.palette.text, value);
  }
  ImGui::Dummy(ImVec2(right - at.x, std::floor(kTableLine * frame.scale)));
}

bool is_fetched(const PictureScene& scene, PictureRow row) {
  return (row == PictureRow::original || row == PictureRow::now) && scene.names.empty() &&
         !scene.desk.values(row);
}

/// Values that are not in host memory are fetched: they come some frames after they were asked for, and say which
/// pixel they belong to. Then that is the one whose values are shown, of all rows.
images::GridHit place_of_values(const PictureScene& scene, images::GridHit hit) {
  const auto& fetched = scene.view.values();
  const bool any = std::any_of(scene.rows.begin(), scene.rows.end(),
                               [&](PictureRow row) { return is_fetched(scene, row); });
  if (!any || !fetched || fetched->place.image != hit.image) return hit;
  hit.x = fetched->place.x;
  hit.y = fetched->place.y;
  return hit;
}

/// The channels of a row at that place; empty if they are not there.
std::vector<float> values_of(const PictureScene& scene, PictureRow row, const images::GridHit& hit) {
  const auto& fetched = scene.view.values();
  if (!is_fetched(scene, row)) return scene.desk.pixel(row, hit.image, hit.y, hit.x);
  if (!fetched || fetched->place != interop::PixelPlace{hit.image, hit.x, hit.y}) return {};
  const auto& channels = row == PictureRow::now ? fetched->now : fetched->original;
  return {channels.begin(), channels.begin() + fetched->channels};
}

/// Six letters or a few more, also of differences that four decimals do not show.
std::string difference_text(float value, bool with_sign) {
  const bool tiny = value != 0 && std::abs(value) < 1e-3f;
  const std::string text = tiny ? fmt::format("{:.1e}", value) : fmt::format("{:.4f}", value);
  return with_sign && value > 0 ? "+" + text : text;
}

float mean_of(const std::vector<float>& values) {
  float sum = 0;
  for (const float value : values) sum += value;
  return sum / static_cast<float>(values.size());
}

void difference_line(const Frame& frame, const PictureScene& scene, const images::GridHit& hit) {
  const PictureChoices& choices = scene.settings.choices;
  const std::vector<float> a = values_of(scene, choices.minuend, hit),
                           b = values_of(scene, choices.subtrahend, hit);
  if (a.empty() || a.size() != b.size()) return;
  std::vector<std::string> texts;
  for (std::size_t c = 0; c < a.size(); ++c) texts.push_back(difference_text(a[c] - b[c], true));
  if (a.size() > 1) {
    const images::Difference kind = scene.desk.conversion().difference;
    const float mean = images::mean_difference(b.data(), a.data(), static_cast<int>(a.size()), kind);
    texts.push_back(difference_text(mean, kind == images::Difference::signed_mean));
  }
  value_line(frame, scene.name(PictureRow::difference), texts, false);
}

void value_table(const Frame& frame, const PictureScene& scene, const images::GridHit& hit) {
  const std::vector<std::string> heading = scene.desk.shape().channels >= 3
                                               ? std::vector<std::string>{"red", "green", "blue", "mean"}
                                               : std::vector<std::string>{"grey"};
  value_line(frame, fmt::format("x {}, y {}", hit.x, hit.y), heading, true);
  for (const PictureRow row : scene.rows) {
    if (row == PictureRow::difference) {
      difference_line(frame, scene, hit);
      continue;
    }
    const std::vector<float> values = values_of(scene, row, hit);
    if (values.empty()) continue;
    std::vector<std::string> texts;
    for (const float value : values) texts.push_back(fmt::format("{:.4f}", value));
    if (values.size() > 1) texts.push_back(fmt::format("{:.4f}", mean_of(values)));
    value_line(frame, scene.name(row), texts, false);
  }
}

void title_line(const Frame& frame, const PictureScene& scene, const images::GridHit& hit) {
  const float s = frame.scale;
  std::string name = scene.image_name(hit.image);
  if (scene.names.empty()) name.front() = 'I';
  row_text(frame, frame.fonts.strong, frame.palette.text, name);
  ImGui::SameLine(0, 16 * s);
  caption(frame, "step");
  ImGui::SameLine(0, 6 * s);
  row_text(frame, frame.fonts.numbers, frame.palette.text, scene.step_text());
  const std::vector<double>& figures = scene.figures[index_of(PictureRow::now)];
  if (static_cast<std::size_t>(hit.image) >= figures.size()) return;
  ImGui::SameLine(0, 16 * s);
  const PictureMetric metric = scene.settings.metric;
  row_text(frame, frame.fonts.numbers, frame.palette.text,
           figure_text(metric, figures[static_cast<std::size_t>(hit.image)]));
  ImGui::SameLine(0, 6 * s);
  const char* const word = kPictureMetrics[static_cast<std::size_t>(metric)];
  caption(frame, metric == PictureMetric::psnr ? fmt::format("dB {}", word) : std::string(word));
}

/// A tool-tip at `place`, filled by `draw`.
void show_tip(const Frame& frame, ImVec2 place, const std::function<void()>& draw) {
  ImGui::PushFont(frame.fonts.text);
  begin_picture_tip(frame, place);
  draw();
  if (trace_enabled()) {
    const ImVec2 at = ImGui::GetWindowPos(), size = ImGui::GetWindowSize();
    trace_rectangle("images.magnifier", at, ImVec2(at.x + size.x, at.y + size.y));
  }
  end_picture_tip();
  ImGui::PopFont();
}

/// For values that are not in host memory.
void ask_for_values(const PictureScene& scene, const images::GridHit& hit) {
  if (scene.names.empty()) scene.view.probe({hit.image, hit.x, hit.y});
}

}  // namespace

void picture_magnifier(const Frame& frame, const PictureScene& scene, const images::GridHit& hit) {
  ask_for_values(scene, hit);
  const Measures m = measure(frame, scene, hit);
  show_tip(frame, beside_pointer(tip_size(frame, scene, m), frame.scale), [&] {
    title_line(frame, scene, hit);
    draw_rows(frame, scene, hit, m);
    if (scene.settings.choices.shows(PictureRow::difference)) {
      const ImVec2 below = ImGui::GetCursorPos();
      const float bar = std::floor(96 * frame.scale);
      align_right(frame, images::difference_scale_width(frame, scene.desk.conversion(), bar));
      images::difference_scale(frame, scene.desk.conversion(), bar);
      ImGui::SetCursorPos(below);
    }
    value_table(frame, scene, place_of_values(scene, hit));
  });
}

void picture_values(const Frame& frame, const PictureScene& scene, const images::GridHit& hit, ImVec2 min,
                    ImVec2 max) {
  ask_for_values(scene, hit);
  constexpr float kMostColumns = 4;  // at most
  const float s = frame.scale;
  const ImVec2 size((kTableNames + kMostColumns * kTableColumn + 24) * s,
                    ImGui::GetFrameHeight() + table_height(frame, scene) + 16 * s);
  show_tip(frame, beside_area(size, min, max, s), [&] {
    title_line(frame, scene, hit);
    value_table(frame, scene, place_of_values(scene, hit));
  });
}

}  // namespace warpscope::ui
