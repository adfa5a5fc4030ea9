#include "ui/panels/pictures/picture_desk.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "ui/frame/frame_phases.h"
#include "ui/panels/pictures/image_timeline.h"
#include "ui/settings/steering.h"
#include "ui/text/numbers.h"

namespace warpscope::ui {
namespace {

using training::Comparison;
using training::Reconstruction;

/// Draws the texels from `from` up to but not including `to` of an OpenGL texture that holds `atlas` into
/// the rectangle from `min` to `max`, in pixels of the window.
void draw_part(ImDrawList* list, unsigned texture, const images::Atlas& atlas, images::Point from,
               images::Point to, ImVec2 min, ImVec2 max) {
  const auto at = [&](images::Point texel) {
    return ImVec2(static_cast<float>(texel.x) / static_cast<float>(atlas.texture_width()),
                  static_cast<float>(texel.y) / static_cast<float>(atlas.texture_height()));
  };
  // ImTextureID is a pointer in older versions of Dear ImGui and an integer in newer ones: only this cast
  // fits both.
  list->AddImage((ImTextureID)(std::intptr_t)texture, min, max, at(from), at(to));
}

constexpr std::array kReconstructed{PictureRow::now, PictureRow::other, PictureRow::checkpoint,
                                    PictureRow::run};

/// The row of the view's atlas.
int atlas_row(PictureRow row) {
  if (row == PictureRow::original) return images::kOriginal;
  return row == PictureRow::now ? images::kNow : images::kDifference;
}

/// True if a value of the comparison is one of this request: of the same images. A person's own are another object
/// where they come back from another process.
bool of_same_images(const Comparison& comparison, const training::ComparisonRequest& request) {
  const auto &a = comparison.request.own, &b = request.own;
  const bool same_own = a == b || (a && b && a->names == b->names && a->set.pixels == b->set.pixels);
  return comparison.request.count == request.count && same_own;
}

/// True if values of the row `now` are needed in host memory.
bool needs_now(const PictureLook& look) {
  const PictureChoices& choices = look.choices;
  const bool of_now = choices.minuend == PictureRow::now || choices.subtrahend == PictureRow::now;
  const bool differs = of_now && (look.automatic_range || !is_plain_difference(choices));
  return look.values_of_now || look.with_ssim || (differs && choices.shows(PictureRow::difference));
}

}  // namespace

bool PictureDesk::is_of_view(PictureRow row) const {
  if (own_) return false;
  return row == PictureRow::original || row == PictureRow::now ||
         (row == PictureRow::difference && plain_difference_);
}

bool PictureDesk::is_made(PictureRow row) const {
  if (!made_) return false;
  const std::size_t i = index_of(row);
  const PictureSource::Row &shown = made_->of.rows[i], &there = source_.rows[i];
  return made_->of.shape == shape_ && shown.values && there.values && shown.name == there.name;
}

bool PictureDesk::difference_is_made() const {
  return made_ && made_->of.minuend == source_.minuend && made_->of.subtrahend == source_.subtrahend &&
         is_made(source_.minuend) && is_made(source_.subtrahend) && made_->difference;
}

void PictureDesk::update(const Frame& frame, const PictureLook& look, const interop::ImageView& view) {
  view_ = &view;
  own_ = look.own != nullptr;
  with_ssim_ = look.with_ssim;
  plain_difference_ = is_plain_difference(look.choices) && !look.automatic_range;
  training::ImageShape shape = view.exchange().shape();
  shape.count = own_ ? static_cast<int>(look.own->set.count) : view.atlas().count;
  if (shape != shape_) {
    for (Row& row : rows_) row = {};
    shape_ = shape;
  }
  ask(frame, look);
  take(frame, look);
  choose_pages(look);
  maker_.want(source_);
  made_ = maker_.newest();
  explain(frame, look);
  upload(frame, look);
  measure_similarity(look);
}

bool PictureDesk::advance() {
  const bool made = maker_.advance(), measured = similarity_.advance();
  return made || measured;
}

void PictureDesk::shutdown() {
  for (Row& row : rows_) row = {};
  view_ = nullptr;
}

void PictureDesk::ask(const Frame& frame, const PictureLook& look) {
  PictureNeeds needs;
  needs.now = needs_now(look);
  needs.count = shape_.count;
  needs.own = look.own;
  asked_ = make_request(look.choices, needs, frame.snapshot.device, frame.snapshot.selection.precision);
  // The history has the pictures of an earlier step.
  const bool now_alone =
      asked_.request.reconstructors.size() == 1 && asked_.place[index_of(PictureRow::now)] == 0;
  const bool of_folder = frame.snapshot.revival && !frame.snapshot.revival->ready;
  if ((look.past || of_folder) && now_alone) asked_ = {{}, asked_.place};
  if (frame.request == nullptr) return;
  if (!asked_.empty()) frame.request->comparison = asked_.request;
  if (look.choosing) {
    frame.request->likely_comparison =
        likely_request(look.choices, needs, frame.snapshot.device, frame.snapshot.selection.precision);
  }
}

void PictureDesk::take(const Frame& frame, const PictureLook& look) {
  source_ = {};
  source_.shape = shape_;
  for (Row& row : rows_) row.why_not.clear();
  take_comparison(frame);
  const bool view_of_run = frame.request == nullptr || !sees_network(frame.snapshot);
  // What the view shows of an earlier step needs no values here.
  if (frame.history && needs_now(look) && (look.past || view_of_run)) {
    take_moment(frame, PictureRow::now, look.past.value_or(~std::uint64_t{0}));
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
  if (fits) source_.comparison = seen;
  if (fits && !seen->original.empty())
    source(PictureRow::original).values = SharedValues(seen, &seen->original);
  for (const PictureRow row : kReconstructed) {
    const int place = asked_.place[index_of(row)];
    if (!fits || place < 0 || asked_.empty()) continue;
    const auto& wanted = asked_.request.reconstructors[static_cast<std::size_t>(place)];
    const auto& list = seen->request.reconstructors;
    const auto found = std::find(list.begin(), list.end(), wanted);
    if (found == list.end()) continue;
    const Reconstruction& result = seen->reconstructions[static_cast<std::size_t>(found - list.begin())];
    at(row).why_not = result.failure;
    if (!result.values.empty()) source(row).values = SharedValues(seen, &result.values);
    if (wanted.weights_file.empty()) source(row).step = seen->step;
  }
}

void PictureDesk::take_moment(const Frame& frame, PictureRow row, std::uint64_t step) {
  const auto images = frame.history->at(step);
  if (!images || images->shape != shape_) return;
  source(row).values = SharedValues(images, &images->reconstruction);
  source(row).step = images->step;
  PictureSource::Row& original = source(PictureRow::original);
  if (!original.values) original.values = SharedValues(images, &images->original);
}

/// Says what of the rows is to be made: pages of those that the view does not draw, and of those that stand together.
void PictureDesk::choose_pages(const PictureLook& look) {
  const PictureChoices& choices = look.choices;
  source_.minuend = choices.minuend;
  source_.subtrahend = choices.subtrahend;
  source_.conversion = look.conversion;
  source_.automatic_range = look.automatic_range;
  source_.page = interop::make_page(shape_.count, shape_.width, shape_.height, interop::Texture::largest());
  const bool of_now = choices.minuend == PictureRow::now || choices.subtrahend == PictureRow::now;
  const bool together = look.together || (choices.shows(PictureRow::difference) && of_now &&
                                          !is_of_view(PictureRow::difference));
  for (const PictureRow row : shown_rows(choices)) {
    source(row).name = row_name(choices, row);
    source(row).paged = !is_of_view(row) || (row == PictureRow::now && together);
  }
  for (const PictureRow row : {choices.minuend, choices.subtrahend})
    source(row).name = row_name(choices, row);
}

/// What is said in place of pictures, where nothing else has said why there are none.
void PictureDesk::explain(const Frame& frame, const PictureLook& look) {
  const auto say = [&](PictureRow row, const char* text) {
    Row& one = at(row);
    if (is_made(row) || is_of_view(row)) {
      one.why_not.clear();
    } else if (one.why_not.empty()) {
      one.why_not = text;
    }
  };
  constexpr const char* kUnderWay = "Under way.";
  for (const PictureRow row : kReconstructed) {
    const bool no_file = (row == PictureRow::checkpoint && look.choices.checkpoint.path.empty()) ||
                         (row == PictureRow::run && look.choices.run.path.empty());
    say(row, frame.request == nullptr
                 ? why_no_look(frame.snapshot, "This window shows a run and has no network to ask.").c_str()
             : no_file ? "No file is chosen: see the menu of rows."
                       : kUnderWay);
  }
  say(PictureRow::original, kUnderWay);
  say(PictureRow::earlier, own_             ? kNoOwnHistory
                           : !frame.history ? "No earlier pictures are kept of this run."
                                            : "Nothing is kept yet.");
  if (difference_is_made() || is_of_view(PictureRow::difference)) return;
  const bool minuend = is_made(look.choices.minuend);
  at(PictureRow::difference).why_not =
      fmt::format("There is nothing to subtract yet: {}",
                  why_not(minuend ? look.choices.subtrahend : look.choices.minuend));
}

/// Brings what has been made to the textures.
void PictureDesk::upload(const Frame& frame, const PictureLook& look) {
  const FramePart part("pictures.upload");
  conversion_ =
      difference_is_made() && !is_of_view(PictureRow::difference) ? made_->conversion : look.conversion;
  for (const PictureRow row : shown_rows(look.choices)) {
    const SharedPixels& pixels = made_->pixels[index_of(row)];
    Row& one = at(row);
    if (!pixels || pixels == one.uploaded || made_->of.shape != shape_) continue;
    if (!one.page) one.page = std::make_unique<interop::TilePage>(made_->of.page, frame.textures);
    one.page->upload_all(pixels->data());
    one.uploaded = pixels;
  }
}

/// SSIM takes long: the last ones stay while newer ones are computed.
void PictureDesk::measure_similarity(const PictureLook& look) {
  const SharedValues original = look.with_ssim ? values(PictureRow::original) : nullptr;
  for (const PictureRow row :
       {PictureRow::now, PictureRow::other, PictureRow::earlier, PictureRow::checkpoint, PictureRow::run}) {
    similarity_.want(row, original, values(row), shape_, look.with_ssim);
  }
}

std::optional<std::uint64_t> PictureDesk::step(PictureRow row) const {
  return is_made(row) ? made_->of.rows[index_of(row)].step : std::nullopt;
}

const PictureFigures* PictureDesk::figures(PictureRow row) const {
  if (with_ssim_) return similarity_.find(row);
  return is_made(row) ? made_->figures[index_of(row)].get() : nullptr;
}

std::optional<DifferenceFigures> PictureDesk::difference() const {
  return difference_is_made() ? made_->difference : std::nullopt;
}

std::vector<double> PictureDesk::changes() const {
  return difference_is_made() ? made_->changes : std::vector<double>{};
}

bool PictureDesk::draws_values(PictureRow row) const {
  const std::size_t i = index_of(row);
  const bool made = row == PictureRow::difference ? difference_is_made() : is_made(row);
  return made && rows_[i].page && made_->pixels[i] && rows_[i].uploaded == made_->pixels[i];
}

bool PictureDesk::draw(ImDrawList* list, PictureRow row, int image, images::Point from, images::Point to,
                       ImVec2 min, ImVec2 max) const {
  const Row& one = rows_[index_of(row)];
  if (draws_values(row) && image < one.page->shape().tiles()) {
    one.page->draw_part(list, image, from, to, min, max);
    return true;
  }
  if (view_ == nullptr || !is_of_view(row)) return false;
  const images::Atlas& atlas = view_->atlas();
  if (image >= atlas.count) return false;
  const images::Point tile = atlas.tile(atlas_row(row), image);
  draw_part(list, view_->texture(), atlas, {tile.x + from.x, tile.y + from.y}, {tile.x + to.x, tile.y + to.y},
            min, max);
  return true;
}

std::vector<float> PictureDesk::pixel(PictureRow row, int image, int y, int x) const {
  const SharedValues values = this->values(row);
  if (!values) return {};
  const std::size_t place = (static_cast<std::size_t>((image * shape_.height + y) * shape_.width + x)) *
                            static_cast<std::size_t>(shape_.channels);
  const auto channels = static_cast<std::size_t>(std::min(3, shape_.channels));
  return {values->begin() + static_cast<std::ptrdiff_t>(place),
          values->begin() + static_cast<std::ptrdiff_t>(place + channels)};
}

std::optional<std::uint64_t> PictureScene::step() const {
  const std::optional<std::uint64_t> of_values = desk.step(PictureRow::now);
  if (!names.empty()) return of_values;
  return desk.draws_values(PictureRow::now) && of_values ? of_values : view.shown().step;
}

std::string PictureScene::step_text() const {
  const std::optional<std::uint64_t> known = step();
  return known ? with_thousands(*known) : "-";
}

std::string PictureScene::name(PictureRow row) const {
  if (row == PictureRow::now && past) return "step " + with_thousands(view.shown().step);
  if (row == PictureRow::now && step() && newest_step > *step()) return "newest";
  const PictureChoices& choices = settings.choices;
  if (row == PictureRow::difference && !is_plain_difference(choices))
    return fmt::format("{} \u2212 {}", name(choices.minuend), name(choices.subtrahend));
  if (row == PictureRow::earlier && desk.step(row)) return "step " + with_thousands(*desk.step(row));
  return row_name(settings.choices, row);
}

PictureScene make_scene(PictureSettings& settings, const PictureDesk& desk, interop::ImageView& view,
                        bool past, std::vector<std::string> names) {
  PictureScene scene{settings,         desk, view, past, shown_rows(settings.choices), {},
                     std::move(names), 0,    {},   {}};
  for (const PictureRow row : scene.rows) {
    if (row != PictureRow::original && row != PictureRow::difference) scene.measured.push_back(row);
  }
  if (scene.measured.empty()) scene.measured.push_back(PictureRow::now);
  for (std::size_t i = 0; i < kPictureRows; ++i) {
    const PictureFigures* const found = desk.figures(static_cast<PictureRow>(i));
    if (found != nullptr) scene.figures[i] = found->values(settings.metric);
  }
  if (scene.names.empty() && settings.metric != PictureMetric::ssim && !desk.draws_values(PictureRow::now)) {
    // Those of now come with each batch of pictures.
    const std::vector<float>& errors = view.shown().errors;
    scene.figures[index_of(PictureRow::now)] =
        PictureFigures{{errors.begin(), errors.end()}, {}}.values(settings.metric);
  }
  return scene;
}

std::string PictureScene::image_name(int image) const {
  const auto place = static_cast<std::size_t>(image);
  return place < names.size() ? names[place] : fmt::format("image {}", image + 1);
}

}  // namespace warpscope::ui
