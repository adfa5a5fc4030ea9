#include "ui/panels/pictures/images_panel.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/files/file.h"
#include "ui/images/colour_bar.h"
#include "ui/input/cursor.h"
#include "ui/panels/pictures/picture_magnifier.h"
#include "ui/panels/selection_chip.h"
#include "ui/settings/steering.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

constexpr std::array<float, 8> kRanges{0.005f, 0.01f, 0.02f, 0.05f, 0.1f, 0.25f, 0.5f, 1.0f};
constexpr float kCurveHeight = 112;
constexpr const char* kWidestZoom = "1.25\u00d7";
// Where less is left for the pictures, the panel scrolls, so that no row of controls lies over another.
constexpr float kLeastPictures = 72;

// What stands there before the first images.
std::string waiting_text(const Frame& frame) {
  const auto state = frame.snapshot.state;
  const bool going = state == training::TrainerState::running || state == training::TrainerState::paused ||
                     state == training::TrainerState::preparing;
  if (frame.snapshot.revival && frame.request != nullptr) return "The checkpoint is being looked into ...";
  return !frame.snapshot.can.look_inside && !going
             ? why_no_look(frame.snapshot, "No images were kept with this run")
             : "Waiting for the first reconstructions.";
}

float row_height(const Frame& frame) {
  return ImGui::GetFrameHeight() + std::floor(4 * frame.scale);
}

}  // namespace

void ImagesPanel::update(const std::shared_ptr<training::ImageExchange>& exchange, const Frame& frame,
                         bool prepared) {
  if (exchange != exchange_) {
    view_.reset();
    failure_.clear();
    own_.close();
    exchange_ = exchange;
    try {
      if (exchange) view_ = interop::ImageView::make(exchange, frame.textures);
    } catch (const core::Error& error) {
      failure_ = error.what();
    }
  }
  if (view_) view_->update(settings.conversion, prepared);
  past_step_ = view_ ? past_step(frame, shown_own(frame) != nullptr) : std::nullopt;
  if (past_step_) past_.show(*frame.history, *past_step_, settings.conversion, frame.textures);
  if (past_.view() == nullptr) past_step_.reset();
}

/// A person's own images, where there is a network to ask.
std::shared_ptr<const data::OwnImages> ImagesPanel::shown_own(const Frame& frame) const {
  return frame.request == nullptr ? nullptr : own_.images();
}

interop::ImageView* ImagesPanel::shown_view() const {
  return past_step_ ? past_.view() : view_.get();
}

bool ImagesPanel::advance(const std::shared_ptr<training::ImageExchange>& exchange) {
  has_message_ = own_.advance() || has_message_;
  const bool figures = desk_.advance(), curve = curve_.advance(), files = menu_.advance();
  return exchange != exchange_ || (view_ && view_->advance()) || has_message_ || figures || curve || files;
}

std::string ImagesPanel::open_files(std::vector<std::filesystem::path> paths) {
  if (paths.empty()) return "there are no files to open";
  if (!exchange_) return "images of your own are shown once the training reconstructs images";
  const training::ImageShape& shape = exchange_->shape();
  own_.open(std::move(paths), {shape.height, shape.width, shape.channels});
  return "";
}

std::optional<std::string> ImagesPanel::take_message() {
  if (!std::exchange(has_message_, false)) return std::nullopt;
  return own_.message();
}

bool ImagesPanel::handle_key(const Frame& frame, char letter, bool escape) {
  const bool open = enlarged_.is_open();
  if (letter == 'i' && !open && has_images()) {
    enlarge(frame.cursor == nullptr ? 0 : static_cast<int>(frame.cursor->image));
  } else if (open && (letter == 'i' || escape)) {
    enlarged_.close();
  } else if (open && letter == 'x') {
    enlarged_.flip();
  } else {
    return false;
  }
  return true;
}

/// With the two rows whose difference is shown.
void ImagesPanel::enlarge(int image) {
  enlarged_.open(image, settings.choices.subtrahend, settings.choices.minuend);
}

ImageSettings ImagesPanel::remembered() const {
  ImageSettings kept;
  kept.zoom = settings.zoom;
  kept.absolute_difference = settings.conversion.difference == images::Difference::absolute;
  kept.difference_range = settings.conversion.range;
  kept.automatic_range = settings.automatic_range;
  kept.automatic_comparison_range = settings.automatic_comparison_range;
  kept.metric = static_cast<int>(settings.metric);
  kept.order = static_cast<int>(settings.order);
  kept.show_curve = settings.curve;
  kept.rows = settings.choices;
  return kept;
}

void ImagesPanel::remember(const ImageSettings& kept) {
  settings.zoom = kept.zoom;
  settings.conversion.difference =
      kept.absolute_difference ? images::Difference::absolute : images::Difference::signed_mean;
  settings.conversion.range = kept.difference_range;
  settings.automatic_range = kept.automatic_range;
  settings.automatic_comparison_range = kept.automatic_comparison_range;
  settings.metric = static_cast<PictureMetric>(kept.metric);
  settings.order = static_cast<PictureOrder>(kept.order);
  settings.curve = kept.show_curve;
  settings.choices = kept.rows;
}

std::string ImagesPanel::check_rows(const Frame& frame) {
  const auto& snapshot = frame.snapshot;
  const bool ready =
      snapshot.state == training::TrainerState::running || snapshot.state == training::TrainerState::paused;
  if (rows_checked_ || !ready || !snapshot.can.steer) return "";
  rows_checked_ = true;
  return leave_out_impossible(settings.choices,
                              {snapshot.device, snapshot.selection.precision, run_folder_here(snapshot)});
}

void ImagesPanel::shutdown() {
  desk_.shutdown();
  view_.reset();
  past_.shutdown();
  exchange_.reset();
}

std::string ImagesPanel::path_text() const {
  if (!failure_.empty()) return "no images: " + failure_;
  return view_ ? view_->path_text() : "no images yet";
}

std::string ImagesPanel::path_name() const {
  return view_ ? view_->path_name() : "none";
}

std::uint64_t ImagesPanel::image_bytes_to_host() const {
  return view_ ? view_->image_bytes_to_host() : 0;
}

std::uint64_t ImagesPanel::shown_step() const {
  return has_images() ? shown_view()->shown().step : 0;
}

bool ImagesPanel::has_images() const {
  return view_ && view_->shown().number > 0;
}

void ImagesPanel::draw(const Frame& frame) {
  panel_title(frame, "Images");
  ask_for_results(frame, has_images());
  if (!has_images()) {
    panel_body(frame, false);
    return centered_text(frame, failure_.empty() ? waiting_text(frame) : path_text());
  }
  PictureLook look;
  look.choices = settings.choices;
  look.conversion = settings.conversion;
  look.automatic_range = settings.follows_pictures();
  look.with_ssim = settings.metric == PictureMetric::ssim;
  look.values_of_now = look.with_ssim || settings.order == PictureOrder::most_changed ||
                       (enlarged_.is_open() && settings.choices.shows(PictureRow::other));
  look.choosing = menu_.is_open();
  look.together = enlarged_.is_open();
  look.own = shown_own(frame);
  look.past = past_step_;
  desk_.update(frame, look, *shown_view());
  PictureScene scene = make_scene(settings, desk_, *shown_view(), past_step_.has_value(),
                                  look.own ? look.own->names : std::vector<std::string>{});
  scene.newest_step = frame.snapshot.step;
  arrange(frame, scene);
  draw_title(frame, scene);
  panel_body(frame);
  const float above = std::floor(4 * frame.scale);
  ImGui::SetCursorPosY(ImGui::GetCursorPosY() + above);
  menu_.draw(frame, scene, own_);
  draw_selection(frame, scene);
  draw_pictures(frame, scene);
  trace(frame, scene);
}

// For tests: which images are shown, and the one that is pointed at.
void ImagesPanel::trace(const Frame& frame, const PictureScene& scene) {
  if (!trace_enabled() || frame.cursor == nullptr) return;
  std::string figures;
  const std::vector<double>& shown = scene.figures[index_of(PictureRow::now)];
  for (const int image : scene.images) {
    const auto place = static_cast<std::size_t>(image);
    if (place < shown.size() && std::isfinite(shown[place]))
      figures += fmt::format("{}{:.4f}", figures.empty() ? "" : ",", shown[place]);
  }
  std::string now =
      fmt::format("\"images\":[{}],\"image\":{},\"selected\":{},\"figures\":[{}]",
                  fmt::join(scene.images, ","), frame.cursor->image, frame.cursor->images.size(), figures);
  trace_change(traced_, "pictures", now);
}

/// Which images are shown, in which order.
void ImagesPanel::arrange(const Frame& frame, PictureScene& scene) {
  const bool own = !scene.names.empty();
  std::span<const std::uint8_t> labels;
  const auto& data = frame.snapshot.data;
  if (data && !own) labels = data->test.labels;
  const OrderChoice choice{settings.order,      settings.metric,
                           settings.choices,    own || labels.empty() ? kAllClasses : settings.wanted_class,
                           desk_.shape().count, scene.past ? scene.step() : std::nullopt};
  order_.update(choice, {scene.figures, desk_.changes(), scene.step().value_or(0)}, labels, ImGui::GetTime(),
                grid_.hovered());
  if (order_.renewal()) redraw_at(frame, *order_.renewal());
  scene.images = order_.images();
  if (settings.order != PictureOrder::stored) scene.figures = order_.figures();
  if (own || frame.cursor == nullptr) return;
  const auto& selected = frame.cursor->images;
  std::erase_if(scene.images, [&](int image) { return !is_selected(selected, image); });
}

/// How many of the images that are shown a lasso has selected; none of a person's own.
void ImagesPanel::draw_selection(const Frame& frame, const PictureScene& scene) const {
  if (frame.cursor == nullptr || !scene.names.empty()) return;
  const auto& selected = frame.cursor->images;
  std::uint64_t count = 0;
  for (int image = 0; image < desk_.shape().count; ++image) count += is_selected(selected, image) ? 1 : 0;
  selection_chip(frame, "images.selection", count, static_cast<std::uint64_t>(desk_.shape().count),
                 ImGui::GetContentRegionAvail().x);
}

/// Why no image is shown.
std::string ImagesPanel::nothing_text(const Frame& frame) const {
  const bool selects = frame.cursor != nullptr && !frame.cursor->images.empty() && !order_.images().empty();
  return selects ? none_selected_text(frame.cursor->images.size(), order_.images().size())
                 : "None of the images shown is of this class.";
}

void ImagesPanel::draw_title(const Frame& frame, const PictureScene& scene) {
  const float s = frame.scale;
  const float zoom = zoom_buttons_width(frame, kWidestZoom);
  const PictureMetric metric = settings.metric;
  const std::string step = scene.step_text();
  const float step_width =
      text_width(frame.fonts.small, "step") + text_width(frame.fonts.numbers, step) + 22 * s;
  // A narrow panel keeps the zoom and leaves out the step, and before that the mean, since each image shows its own
  // figure.
  if (ImGui::GetContentRegionAvail().x >= step_width + zoom) {
    caption(frame, "step");
    ImGui::SameLine(0, 6 * s);
    value_with_unit(frame, step, "", "The training step after which these reconstructions were made.");
    ImGui::SameLine(0, 16 * s);
  }
  const std::vector<double>& figures = scene.figures[index_of(PictureRow::now)];
  const std::string mean = figures.empty() ? "-" : figure_text(metric, mean_figure(figures));
  const std::string unit = fmt::format("{}mean {}", metric == PictureMetric::psnr ? "dB " : "",
                                       kPictureMetrics[static_cast<std::size_t>(metric)]);
  const float mean_width =
      text_width(frame.fonts.numbers, mean) + text_width(frame.fonts.small, unit) + 21 * s;
  if (ImGui::GetContentRegionAvail().x >= mean_width + zoom) {
    value_with_unit(
        frame, mean, unit,
        fmt::format("Mean over the {} shown. {}",
                    files::counted(static_cast<std::int64_t>(figures.size()), "image"), tip_of(metric)));
    ImGui::SameLine(0, 16 * s);
  }
  zoom_buttons(frame, "images.zoom", grid_.zoom(),
               "Screen pixels per image pixel: a whole number, so that every pixel is shown as it is, but "
               "where the room is larger than 1 needs and too small for 2.",
               settings.zoom, kWidestZoom);
}

void ImagesPanel::draw_pictures(const Frame& frame, PictureScene& scene) {
  const bool difference = settings.choices.shows(PictureRow::difference);
  const bool compared = difference && desk_.difference().has_value();
  const float row = row_height(frame), curve = settings.curve ? std::floor(kCurveHeight * frame.scale) : 0;
  const float footer =
      curve + ImageTimeline::height(frame) + row * static_cast<float>(int{difference} + int{compared});
  const float gap = std::floor(4 * frame.scale), top = ImGui::GetCursorPosY();
  const float height = std::max(ImGui::GetWindowHeight() - top - footer - gap, kLeastPictures * frame.scale);
  if (scene.images.empty()) {
    ImGui::BeginChild("images.none", ImVec2(0, height));
    centered_text(frame, nothing_text(frame));
    ImGui::EndChild();
  } else if (enlarged_.is_open()) {
    ImGui::SetCursorPosY(top + gap);
    if (const auto hit = enlarged_.draw(frame, scene, height))
      picture_values(frame, scene, *hit, enlarged_.min(), enlarged_.max());
  } else {
    const PictureGrid::Touch touch = grid_.draw(frame, scene, height);
    if (touch.clicked && scene.names.empty()) point_at_image(frame, *touch.clicked);
    if (touch.opened) enlarge(*touch.opened);
    if (touch.hovered && touch.seconds >= kMagnifierDelay) picture_magnifier(frame, scene, *touch.hovered);
    if (touch.hovered && touch.seconds < kMagnifierDelay)
      redraw_at(frame, ImGui::GetTime() + kMagnifierDelay - touch.seconds);
  }
  float y = top + height + gap;
  const auto next = [&](float tall) {
    ImGui::SetCursorPosY(y);
    y += tall;
  };
  if (settings.curve) {
    next(curve);
    if (scene.names.empty()) {
      const std::int64_t image = frame.cursor == nullptr ? 0 : frame.cursor->image;
      curve_.update(frame, settings.metric,
                    static_cast<int>(std::min<std::int64_t>(image, desk_.shape().count - 1)));
      curve_.draw(frame, curve - gap);
    } else {
      PictureCurve::draw_none(frame, curve - gap, kNoOwnHistory);
    }
  }
  if (compared) {
    next(row);
    draw_difference_figures(frame, scene);
  }
  next(ImageTimeline::height(frame));
  timeline_.draw(frame, scene.step(), !scene.names.empty());
  if (!difference) return;
  next(row);
  draw_scale_choice(frame, scene);
}

/// How far the two rows of the difference are apart, and where most: a click shows that image.
void ImagesPanel::draw_difference_figures(const Frame& frame, const PictureScene& scene) {
  const DifferenceFigures figures = desk_.difference().value_or(DifferenceFigures{});
  const float s = frame.scale;
  const std::string text =
      fmt::format("mean |d| {:.3g}, largest {:+.3g} in {} at ({}, {})", figures.mean_absolute,
                  figures.largest, scene.image_name(figures.image), figures.x, figures.y);
  const PictureChoices& choices = settings.choices;
  caption(frame,
          ellipsize(frame.fonts.small,
                    fmt::format("{} \u2212 {}", scene.name(choices.minuend), scene.name(choices.subtrahend)),
                    ImGui::GetContentRegionAvail().x / 3));
  ImGui::SameLine(0, 8 * s);
  const float room = ImGui::GetContentRegionAvail().x;
  if (text_button(frame, "images.largest", ellipsize(frame.fonts.text, text, room - 24 * s).c_str(),
                  "d is the difference of the two rows, over all values of all images shown; the place is "
                  "(x, y). Click to see the image where it is largest.")) {
    enlarge(figures.image);
    if (scene.names.empty()) point_at_image(frame, figures.image);
  }
}

void ImagesPanel::draw_scale_choice(const Frame& frame, const PictureScene& scene) {
  const float s = frame.scale;
  images::Conversion& conversion = settings.conversion;
  static constexpr std::array<const char*, 2> kKinds{"signed", "absolute"};
  caption(frame, "difference");
  ImGui::SameLine(picture_label_width(frame, scene), 0);
  int kind = conversion.difference == images::Difference::absolute ? 1 : 0;
  segmented(frame, "images.difference", kKinds, &kind,
            "Signed: the mean over the channels; blue where it is too dark now, red where too bright. "
            "Absolute: the mean of the absolute differences.");
  conversion.difference = kind == 1 ? images::Difference::absolute : images::Difference::signed_mean;
  ImGui::SameLine(0, 8 * s);
  const float choice = std::floor(116 * s);
  if (choice > ImGui::GetContentRegionAvail().x) return ImGui::NewLine();
  const char* sign = kind == 1 ? "" : "\u00b1";
  const images::Conversion& shown = desk_.conversion();
  bool& automatic = settings.follows_pictures();
  const std::string range = fmt::format("{}{:g}", sign, shown.range);
  if (begin_combo(frame, "images.range", automatic ? "auto " + range : range, choice,
                  fmt::format("The difference at the end of the colour scale; images lie in 0 to 1. A fixed "
                              "scale lets pictures of different steps be compared. The automatic one is so "
                              "large that {:g} % of all pixels lie within it{}.",
                              100 * kRangePart, automatic ? fmt::format(": {}", range) : ""))) {
    if (combo_item(frame, "images.range=auto", "automatic", automatic)) automatic = true;
    for (const float one : kRanges) {
      const std::string label = fmt::format("{}{:g}", sign, one);
      const std::string name = fmt::format("images.range={:g}", one);
      if (!combo_item(frame, name.c_str(), label.c_str(), !automatic && one == conversion.range)) continue;
      conversion.range = one;
      automatic = false;
    }
    end_combo();
  }
  ImGui::SameLine(0, 16 * s);
  const float bar = std::floor(96 * s);
  if (images::difference_scale_width(frame, shown, bar) > ImGui::GetContentRegionAvail().x) return;
  images::difference_scale(frame, shown, bar);
  tooltip(frame,
          "Colours of the difference row. Values beyond the ends take the colours of the ends; not-a-number "
          "is magenta.");
}

}  // namespace warpscope::ui
