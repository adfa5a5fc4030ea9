#include "ui/panels/picture_desk.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "ui/cursor.h"
#include "ui/frame_phases.h"
#include "ui/images/draw_part.h"

namespace warpscope::ui {
namespace {

using training::Comparison;
using training::Reconstruction;

constexpr std::array kReconstructed{PictureRow::now, PictureRow::other, PictureRow::checkpoint,
                                    PictureRow::run};

/// The row of the view's atlas.
int atlas_row(PictureRow row) {
  if (row == PictureRow::original) return images::kOriginal;
  return row == PictureRow::now ? images::kNow : images::kDifference;
}

std::size_t image_elements(const training::ImageShape& shape) {
  return shape.elements() / static_cast<std::size_t>(std::max(1, shape.count));
}

/// True if a value of the comparison is one of this request: of the same images.
bool of_same_images(const Comparison& comparison, const training::ComparisonRequest& request) {
  return comparison.request.count == request.count && comparison.request.own == request.own;
}

}  // namespace

bool PictureDesk::is_of_view(PictureRow row) const {
  if (own_) return false;
  return row == PictureRow::original || row == PictureRow::now ||
         (row == PictureRow::difference && plain_difference_);
}

void PictureDesk::update(const Frame& frame, const PictureLook& look, const interop::ImageView& view) {
  view_ = &view;
  own_ = look.own != nullptr;
  plain_difference_ = is_plain_difference(look.choices) && !look.automatic_range;
  training::ImageShape shape = view.exchange().shape();
  shape.count = own_ ? static_cast<int>(look.own->set.count) : view.atlas().count;
  if (shape != shape_) {
    for (Row& row : rows_) row = {};
    shape_ = shape;
    minuend_ = subtrahend_ = uploaded_subtrahend_ = nullptr;
  }
  ask(frame, look);
  take(frame, look);
  explain(frame, look);
  subtract(look);
  upload(frame, look);
}

void PictureDesk::shutdown() {
  for (Row& row : rows_) row = {};
  view_ = nullptr;
}

void PictureDesk::ask(const Frame& frame, const PictureLook& look) {
  PictureNeeds needs;
  const bool past = frame.cursor != nullptr && frame.cursor->step && frame.history;
  needs.now = look.values_of_now || look.with_ssim;
  if (look.automatic_range && is_plain_difference(look.choices)) needs.now = true;
  needs.count = shape_.count;
  needs.own = look.own;
  asked_ = make_request(look.choices, needs, frame.snapshot.device, frame.snapshot.selection.precision);
  // The history has the pictures of an earlier step.
  const bool now_alone =
      asked_.request.reconstructors.size() == 1 && asked_.place[index_of(PictureRow::now)] == 0;
  if (past && !own_ && now_alone) asked_ = {{}, asked_.place};
  if (!asked_.empty() && frame.request != nullptr) frame.request->comparison = asked_.request;
}

void PictureDesk::take(const Frame& frame, const PictureLook& look) {
  for (Row& row : rows_) {
    row.values = nullptr;
    row.step.reset();
    row.why_not.clear();
  }
  take_comparison(frame);
  const bool past = frame.cursor != nullptr && frame.cursor->step && frame.history && !own_;
  const bool view_of_run = frame.request == nullptr;
  if (past || (view_of_run && frame.history && look.values_of_now)) {
    take_moment(frame, PictureRow::now, past ? *frame.cursor->step : ~std::uint64_t{0});
  }
  const bool earlier = look.choices.shows(PictureRow::earlier) ||
                       look.choices.minuend == PictureRow::earlier ||
                       look.choices.subtrahend == PictureRow::earlier;
  if (earlier && frame.history && !own_)
    take_moment(frame, PictureRow::earlier, look.choices.earlier.value_or(0));
}

void PictureDesk::take_comparison(const Frame& frame) {
  const auto& seen = frame.seen.comparison;
  const bool fits = seen && of_same_images(*seen, asked_.request) && seen->shape == shape_;
  if (fits && !seen->original.empty()) at(PictureRow::original).values = SharedValues(seen, &seen->original);
  for (const PictureRow row : kReconstructed) {
    const int place = asked_.place[index_of(row)];
    if (!fits || place < 0 || asked_.empty()) continue;
    const auto& wanted = asked_.request.reconstructors[static_cast<std::size_t>(place)];
    const auto& list = seen->request.reconstructors;
    const auto found = std::find(list.begin(), list.end(), wanted);
    if (found == list.end()) continue;
    const Reconstruction& result = seen->reconstructions[static_cast<std::size_t>(found - list.begin())];
    at(row).why_not = result.failure;
    if (!result.values.empty()) at(row).values = SharedValues(seen, &result.values);
    if (wanted.weights_file.empty()) at(row).step = seen->step;
  }
}

void PictureDesk::take_moment(const Frame& frame, PictureRow row, std::uint64_t step) {
  Moment& moment = moments_[row == PictureRow::now ? 0 : 1];
  const std::uint64_t version = frame.history->version();
  if (!moment.images || moment.step != step || moment.version != version) {
    auto images = std::make_shared<const training::ShownImages>(frame.history->at(step));
    // A picture that is still there stays the same one, so that nothing is computed anew.
    const bool same = moment.images && moment.images->step == images->step &&
                      moment.images->generation == images->generation &&
                      moment.images->errors == images->errors;
    moment = {step, version, same ? moment.images : std::move(images)};
  }
  if (moment.images->shape != shape_) return;
  at(row).values = SharedValues(moment.images, &moment.images->reconstruction);
  at(row).step = moment.images->step;
  Row& original = at(PictureRow::original);
  if (!original.values) original.values = SharedValues(moment.images, &moment.images->original);
}

/// What is said in place of pictures, where nothing else has said why there are none.
void PictureDesk::explain(const Frame& frame, const PictureLook& look) {
  const auto say = [&](PictureRow row, const char* text) {
    Row& one = at(row);
    if (one.values || is_of_view(row)) {
      one.why_not.clear();
    } else if (one.why_not.empty()) {
      one.why_not = text;
    }
  };
  constexpr const char* kUnderWay = "Under way.";
  for (const PictureRow row : kReconstructed) {
    const bool no_file = (row == PictureRow::checkpoint && look.choices.checkpoint.path.empty()) ||
                         (row == PictureRow::run && look.choices.run.path.empty());
    say(row, frame.request == nullptr ? "This window shows a run and has no network to ask."
             : no_file                ? "No file is chosen: see the menu of rows."
                                      : kUnderWay);
  }
  say(PictureRow::original, kUnderWay);
  say(PictureRow::earlier, own_             ? "No earlier pictures are kept of images of your own."
                           : !frame.history ? "No earlier pictures are kept of this run."
                                            : "Nothing is kept yet.");
}

void PictureDesk::subtract(const PictureLook& look) {
  const SharedValues minuend = values(look.choices.minuend), subtrahend = values(look.choices.subtrahend);
  if (!(minuend && subtrahend) && !is_of_view(PictureRow::difference)) {
    at(PictureRow::difference).why_not =
        fmt::format("There is nothing to subtract yet: {}",
                    why_not(minuend ? look.choices.subtrahend : look.choices.minuend));
  }
  if (minuend == minuend_ && subtrahend == subtrahend_) return;
  minuend_ = minuend;
  subtrahend_ = subtrahend;
  difference_.reset();
  changes_.clear();
  if (!minuend || !subtrahend) return;
  difference_ = compare_pictures(*minuend, *subtrahend, shape_);
  const std::size_t image = image_elements(shape_);
  for (std::size_t begin = 0; begin < shape_.elements(); begin += image) {
    double sum = 0;
    for (std::size_t i = begin; i < begin + image; ++i) {
      sum += static_cast<double>(std::abs((*minuend)[i] - (*subtrahend)[i]));
    }
    changes_.push_back(sum / static_cast<double>(image));
  }
}

void PictureDesk::upload(const Frame& frame, const PictureLook& look) {
  conversion_ = look.conversion;
  if (look.automatic_range && minuend_ && subtrahend_) {
    conversion_.range = automatic_range(*minuend_, *subtrahend_, shape_, look.conversion.difference);
  }
  for (const PictureRow row : shown_rows(look.choices)) {
    if (row != PictureRow::difference) upload_values(frame, row);
  }
  upload_difference(frame, look);
  const SharedValues& original = at(PictureRow::original).values;
  for (const PictureRow row :
       {PictureRow::now, PictureRow::other, PictureRow::earlier, PictureRow::checkpoint, PictureRow::run}) {
    figures_.want(row, original, at(row).values, shape_, look.with_ssim);
  }
}

interop::TilePage& PictureDesk::page_of(const Frame& frame, PictureRow row) {
  Row& one = at(row);
  if (!one.page) {
    one.page = std::make_unique<interop::TilePage>(
        interop::make_page(shape_.count, shape_.width, shape_.height, interop::Texture::largest()),
        frame.textures);
  }
  return *one.page;
}

void PictureDesk::upload_values(const Frame& frame, PictureRow row) {
  Row& one = at(row);
  if (!one.values || one.values == one.uploaded) return;
  interop::TilePage& page = page_of(frame, row);
  const auto channels = static_cast<std::size_t>(shape_.channels);
  std::vector<images::Rgba> pixels(image_elements(shape_) / channels);
  const float* from = one.values->data();
  for (int image = 0; image < std::min(shape_.count, page.shape().tiles()); ++image) {
    for (images::Rgba& pixel : pixels) {
      pixel = images::image_colour(from, shape_.channels);
      from += channels;
    }
    page.upload(image, pixels.data());
  }
  one.uploaded = one.values;
}

void PictureDesk::upload_difference(const Frame& frame, const PictureLook& look) {
  Row& one = at(PictureRow::difference);
  if (!look.choices.shows(PictureRow::difference) || !minuend_ || !subtrahend_) return;
  if (is_of_view(PictureRow::difference)) return;
  if (one.uploaded == minuend_ && uploaded_subtrahend_ == subtrahend_ && conversion_ == uploaded_as_) return;
  interop::TilePage& page = page_of(frame, PictureRow::difference);
  const auto channels = static_cast<std::size_t>(shape_.channels);
  std::vector<images::Rgba> pixels(image_elements(shape_) / channels);
  const float *a = minuend_->data(), *b = subtrahend_->data();
  for (int image = 0; image < std::min(shape_.count, page.shape().tiles()); ++image) {
    for (images::Rgba& pixel : pixels) {
      pixel = images::difference_colour(b, a, shape_.channels, conversion_);
      a += channels;
      b += channels;
    }
    page.upload(image, pixels.data());
  }
  one.uploaded = minuend_;
  uploaded_subtrahend_ = subtrahend_;
  uploaded_as_ = conversion_;
}

bool PictureDesk::draw(ImDrawList* list, PictureRow row, int image, images::Point from, images::Point to,
                       ImVec2 min, ImVec2 max, bool at_once) const {
  const Row& one = at(row);
  const SharedValues& made_of = row == PictureRow::difference ? minuend_ : one.values;
  const bool has_page = made_of && one.page && one.uploaded == made_of && image < one.page->shape().tiles();
  if (view_ != nullptr && is_of_view(row) && !(at_once && has_page)) {
    const images::Atlas& atlas = view_->atlas();
    if (image >= atlas.count) return false;
    const images::Point tile = atlas.tile(atlas_row(row), image);
    images::draw_part(list, view_->texture(), atlas, {tile.x + from.x, tile.y + from.y},
                      {tile.x + to.x, tile.y + to.y}, min, max);
    return true;
  }
  if (!has_page) return false;
  one.page->draw_part(list, image, from, to, min, max);
  return true;
}

std::vector<float> PictureDesk::pixel(PictureRow row, int image, int y, int x) const {
  const SharedValues& values = at(row).values;
  if (!values || row == PictureRow::difference) return {};
  const std::size_t place = (static_cast<std::size_t>((image * shape_.height + y) * shape_.width + x)) *
                            static_cast<std::size_t>(shape_.channels);
  const auto channels = static_cast<std::size_t>(std::min(3, shape_.channels));
  return {values->begin() + static_cast<std::ptrdiff_t>(place),
          values->begin() + static_cast<std::ptrdiff_t>(place + channels)};
}

}  // namespace warpscope::ui
