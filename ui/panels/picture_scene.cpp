#include "ui/panels/picture_scene.h"

#include <utility>

#include <fmt/format.h>

#include "ui/text/numbers.h"

namespace warpscope::ui {

std::uint64_t PictureScene::step() const {
  const bool values = !names.empty() || desk.draws_values(PictureRow::now);
  return (values ? desk.step(PictureRow::now) : std::nullopt).value_or(view.shown().step);
}

std::string PictureScene::name(PictureRow row) const {
  if (row == PictureRow::now && past) return "step " + with_thousands(view.shown().step);
  if (row == PictureRow::now && newest_step > step()) return "newest";
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
