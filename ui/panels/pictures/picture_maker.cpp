#include "ui/panels/pictures/picture_maker.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

namespace warpscope::ui {
namespace {

constexpr std::size_t kDifference = index_of(PictureRow::difference);

std::size_t image_elements(const training::ImageShape& shape) {
  return shape.elements() / static_cast<std::size_t>(std::max(1, shape.count));
}

/// All tiles of a page. `colour_at` gives the colour of the pixel whose values begin at a place.
template <class ColourAt>
SharedPixels colour_page(const PictureSource& of, const ColourAt& colour_at) {
  const auto width = static_cast<std::size_t>(of.page.columns) * static_cast<std::size_t>(of.page.width);
  const auto height = static_cast<std::size_t>(of.page.rows) * static_cast<std::size_t>(of.page.height);
  auto pixels = std::make_shared<std::vector<images::Rgba>>(width * height, images::Rgba{0, 0, 0, 0});
  std::size_t place = 0;
  for (int image = 0; image < std::min(of.shape.count, of.page.tiles()); ++image) {
    const images::Point corner = of.page.corner(image);
    for (int y = corner.y; y < corner.y + of.shape.height; ++y) {
      images::Rgba* to = pixels->data() + static_cast<std::size_t>(y) * width + corner.x;
      for (int x = 0; x < of.shape.width; ++x, place += static_cast<std::size_t>(of.shape.channels)) {
        *to++ = colour_at(place);
      }
    }
  }
  return pixels;
}

std::vector<double> changes_of(const std::vector<float>& a, const std::vector<float>& b,
                               const training::ImageShape& shape) {
  const std::size_t image = image_elements(shape);
  std::vector<double> changes;
  for (std::size_t begin = 0; begin < shape.elements(); begin += image) {
    double sum = 0;
    for (std::size_t i = begin; i < begin + image; ++i) sum += static_cast<double>(std::abs(a[i] - b[i]));
    changes.push_back(sum / static_cast<double>(image));
  }
  return changes;
}

void make_row(MadePictures& made, std::size_t row, const MadePictures* before) {
  const PictureSource::Row& source = made.of.rows[row];
  if (!source.values) return;
  const SharedValues& original = made.of.rows[index_of(PictureRow::original)].values;
  if (original && row != index_of(PictureRow::original)) {
    made.figures[row] =
        std::make_shared<const PictureFigures>(figures_of(*original, *source.values, made.of.shape, false));
  }
  if (!source.paged) return;
  // Originals come anew with each comparison, and are the same.
  const bool same = before != nullptr && before->pixels[row] && before->of.shape == made.of.shape &&
                    before->of.page == made.of.page && *before->of.rows[row].values == *source.values;
  made.pixels[row] = same ? before->pixels[row] : colour_page(made.of, [&](std::size_t place) {
    return images::image_colour(source.values->data() + place, made.of.shape.channels);
  });
}

void subtract(MadePictures& made) {
  const PictureSource& of = made.of;
  const SharedValues &a = of.rows[index_of(of.minuend)].values, &b = of.rows[index_of(of.subtrahend)].values;
  if (!a || !b) return;
  made.difference = compare_pictures(*a, *b, of.shape);
  made.changes = changes_of(*a, *b, of.shape);
  if (of.automatic_range) {
    made.conversion.range = automatic_range(*a, *b, of.shape, of.conversion.difference);
  }
  if (!of.rows[kDifference].paged) return;
  made.pixels[kDifference] = colour_page(of, [&](std::size_t place) {
    return images::difference_colour(b->data() + place, a->data() + place, of.shape.channels,
                                     made.conversion);
  });
}

/// What is left when the values of a row are seen no more.
void leave_out(MadePictures& made, std::size_t row) {
  made.of.rows[row].values = nullptr;
  made.pixels[row] = nullptr;
  made.figures[row] = nullptr;
  if (row != index_of(made.of.minuend) && row != index_of(made.of.subtrahend)) return;
  made.pixels[kDifference] = nullptr;
  made.difference.reset();
  made.changes.clear();
}

bool has_values(const PictureSource& source) {
  return std::any_of(source.rows.begin(), source.rows.end(), [](const auto& row) { return row.values; });
}

}  // namespace

MadePictures make_pictures(PictureSource of, const std::shared_ptr<const MadePictures>& before) {
  MadePictures made;
  made.of = std::move(of);
  made.conversion = made.of.conversion;
  for (std::size_t row = 0; row < kPictureRows; ++row) make_row(made, row, before.get());
  subtract(made);
  return made;
}

void PictureMaker::want(const PictureSource& source) {
  for (std::size_t row = 0; row < kPictureRows; ++row) {
    if (!source.rows[row].values) lose(row);
  }
  if (job_.valid() || (newest_ && newest_->of == source)) return;
  lost_.fill(false);
  if (!has_values(source)) {  // nothing that a thread would be worth
    newest_ = std::make_shared<const MadePictures>(make_pictures(source, nullptr));
    return;
  }
  job_ = std::async(std::launch::async, [source, before = newest_] { return make_pictures(source, before); });
}

void PictureMaker::lose(std::size_t row) {
  lost_[row] = true;
  if (!newest_ || !newest_->of.rows[row].values) return;
  auto left = std::make_shared<MadePictures>(*newest_);
  leave_out(*left, row);
  newest_ = std::move(left);
}

bool PictureMaker::advance() {
  if (!job_.valid() || job_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return false;
  auto made = std::make_shared<MadePictures>(job_.get());
  for (std::size_t row = 0; row < kPictureRows; ++row) {
    if (lost_[row] && made->of.rows[row].values) leave_out(*made, row);
  }
  newest_ = std::move(made);
  return true;
}

}  // namespace warpscope::ui
