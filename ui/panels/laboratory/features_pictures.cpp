#include "ui/panels/laboratory/features_pictures.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "ui/input/cursor.h"
#include "ui/panels/data_texts.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

constexpr std::array<const char*, 3> kOrders{"border", "wrong", "support"};
constexpr std::size_t kMostPictures = 480;
constexpr int kTiles = 512;
constexpr float kLine = 17;  // design pixels

}  // namespace

training::DataPart FeaturesPictures::part() const {
  return made_order_ == FeatureOrder::support ? training::DataPart::train : training::DataPart::test;
}

std::string FeaturesPictures::class_name(int index) const {
  return ui::class_name(result_->subject.data.get(), static_cast<std::size_t>(index));
}

void FeaturesPictures::refresh(const Frame& frame,
                               const std::shared_ptr<const features::TrialResult>& result) {
  const auto images = frame.cursor == nullptr ? std::vector<std::int64_t>() : frame.cursor->images;
  if (result_ == result && made_order_ == order_ && made_images_ == images && tiles_.page()) return;
  const bool other_set = !result_ || result_->subject.data != result->subject.data ||
                         (made_order_ == FeatureOrder::support) != (order_ == FeatureOrder::support);
  result_ = result;
  made_order_ = order_;
  made_images_ = images;
  pictures_ = pictures_of(*result, order_, images, kMostPictures);
  if (other_set || !tiles_.page()) tiles_.renew(frame, set(), kTiles);
}

void FeaturesPictures::draw(const Frame& frame, const std::shared_ptr<const features::TrialResult>& result) {
  auto order = static_cast<int>(order_);
  segmented(
      frame, "features.pictures", kOrders, &order,
      "border: the test images nearest to the border between two classes. wrong: those taken for another "
      "class, the surest first. support: the training images that weigh most in the decisions (RBF SVM).");
  order_ = static_cast<FeatureOrder>(order);
  refresh(frame, result);
  ImGui::SameLine(0, 12 * frame.scale);
  const char* const things = set().texts ? "texts" : "images";
  const std::string count = made_images_.empty()
                                ? fmt::format("{} {}", pictures_.size(), things)
                                : fmt::format("{} {} of those selected", pictures_.size(), things);
  caption(frame, ellipsize(frame.fonts.small, count, ImGui::GetContentRegionAvail().x));
  if (!pictures_.empty()) return draw_cells(frame);
  centered_text(frame, order_ == FeatureOrder::support ? "This classifier has no support vectors."
                       : order_ == FeatureOrder::wrong ? "No test image was taken for another class."
                                                       : "None of the selected images was judged.");
}

images::CellGrid FeaturesPictures::lay_out(const Frame& frame, ImVec2 room) const {
  images::CellSpace space = cell_space(frame, set(), pictures_.size(), room);
  // A text stands in a line of its own, in the place of a picture.
  space.caption_height = static_cast<int>(std::ceil((set().texts ? 3 : 2) * kLine * space.scale));
  space.least_width = static_cast<int>(std::ceil(64 * space.scale));
  return images::make_cells(space, images::fit_cells(space));
}

void FeaturesPictures::draw_cells(const Frame& frame) {
  const ImVec2 room = ImGui::GetContentRegionAvail();
  const images::CellGrid grid = lay_out(frame, room);
  ImGui::BeginChild("features.grid_of_pictures", ImVec2(room.x, std::max(1.0f, room.y)), false,
                    ImGuiWindowFlags_NoNav);
  const ImVec2 cursor = ImGui::GetCursorScreenPos();
  const ImVec2 origin = on_whole_pixels(cursor);
  const auto hit = ImGui::IsWindowHovered() ? grid.hit(pointer_from(origin)) : std::nullopt;
  const int top = static_cast<int>(ImGui::GetScrollY() * framebuffer_density());
  tiles_.begin_frame();
  for (int cell = grid.first_visible(top); cell < grid.end_visible(top); ++cell) {
    draw_cell(frame, grid, origin, cell, hit == cell);
  }
  if (hit) {
    const FeaturePicture& picture = pictures_[static_cast<std::size_t>(*hit)];
    pointer_tip(frame, tip(picture));
    if (ImGui::IsMouseClicked(0) && !picture.of_training && frame.cursor != nullptr)
      frame.cursor->image = picture.image;
  }
  ImGui::SetCursorScreenPos(cursor);
  ImGui::Dummy(ImVec2(1, static_cast<float>(grid.content_height()) / framebuffer_density()));
  ImGui::EndChild();
}

void FeaturesPictures::draw_cell(const Frame& frame, const images::CellGrid& grid, ImVec2 origin, int cell,
                                 bool hovered) {
  const FeaturePicture& picture = pictures_[static_cast<std::size_t>(cell)];
  const auto [min, max] = picture_corners(grid, origin, cell);
  ImDrawList* const list = ImGui::GetWindowDrawList();
  const bool texts = set().texts;
  if (const auto tile = texts
                            ? std::nullopt
                            : tiles_.tile_of(*result_->subject.data, part(), static_cast<int>(picture.image)))
    tiles_.page()->draw(list, *tile, min, max);
  const bool pointed =
      !picture.of_training && frame.cursor != nullptr && frame.cursor->image == picture.image;
  const float line = std::max(1.0f, std::floor(2 * frame.scale));
  if (hovered || pointed || (!picture.right() && !texts)) {
    const float below = texts ? std::floor(kLine * frame.scale) : line;
    list->AddRect(ImVec2(min.x - line, min.y - line), ImVec2(max.x + line, max.y + below),
                  hovered || pointed ? frame.palette.accent : frame.palette.error, 0, 0, line);
  }
  const float s = frame.scale, width = static_cast<float>(grid.cell_width) / framebuffer_density();
  const ImFont* const font = frame.fonts.small;
  float first = max.y + 14 * s;
  if (texts) {
    draw_text(list, font, min.x, first, frame.palette.text,
              ellipsize(font, shown_text(*result_->subject.data, part(), picture.image), width));
    first += kLine * s;
  }
  draw_text(list, font, min.x, first, texts ? frame.palette.muted : frame.palette.text,
            ellipsize(font, class_name(picture.truth), width));
  const std::string figure = fmt::format("{:.2g}", picture.figure);
  const std::string below = picture.right() ? figure : fmt::format("\u2192 {}", class_name(picture.label));
  draw_text(list, font, min.x, first + kLine * s, picture.right() ? frame.palette.muted : frame.palette.error,
            ellipsize(font, below, width));
  if (trace_enabled()) trace_rectangle(fmt::format("features.picture.{}", cell), min, max);
}

std::string FeaturesPictures::tip(const FeaturePicture& picture) const {
  if (picture.of_training) {
    return fmt::format("Training image {}: {}.\nWeight {:.4g} in the decisions.", picture.image,
                       class_name(picture.truth), picture.figure);
  }
  return fmt::format(
      "Test image {}: {}.\n{}\nMargin {:.4g}: how far it is from getting another label.\nClick to look at it "
      "in all views.",
      picture.image, class_name(picture.truth),
      picture.right() ? "Taken for that." : fmt::format("Taken for {}.", class_name(picture.label)),
      picture.figure);
}

}  // namespace warpscope::ui
