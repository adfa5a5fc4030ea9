#pragma once
// What the window remembers from one start to the next, in window.json in the configuration folder.

#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "ui/docking/layouts.h"
#include "ui/frame/gl_context.h"
#include "ui/panels/curves/loss_metrics.h"
#include "ui/panels/pictures/picture_rows.h"
#include "ui/widgets/theme.h"

namespace warpscope::ui {

inline constexpr std::size_t kMostPlots = 8;

/// How the curves are plotted.
struct PlotSettings {
  std::vector<Metric> metrics{Metric::loss};  ///< of each plot; one at least
  int over = 0;                               ///< runs::Over
  bool logarithmic_x = false;
  float smoothing_steps = 20;  ///< about how many steps the average covers; 1: none
  bool show_train = true;
  bool show_test = true;
  bool show_validation = true;
  bool show_before = true;  ///< the training before the last reset
  /// Whether the value axis of each metric is.
  std::array<bool, kMetrics> logarithmic = logarithmic_at_first();

  bool operator==(const PlotSettings&) const = default;
};

/// How the images are shown.
struct ImageSettings {
  int zoom = 0;                            ///< framebuffer pixels per image pixel; 0: fit
  bool absolute_difference = false;        ///< magnitudes instead of signed differences
  float difference_range = 0.25f;          ///< the difference at the end of the colour scale
  bool automatic_range = false;            ///< it follows the pictures, where now - original is shown
  bool automatic_comparison_range = true;  ///< the same of any other two rows, which may differ by little
  int metric = 0;                          ///< PictureMetric
  int order = 0;                           ///< PictureOrder
  bool show_curve = false;                 ///< of the metric, below the pictures
  PictureChoices rows = {};                ///< which versions of the images stand below each other

  bool operator==(const ImageSettings&) const = default;
};

/// How everything looks.
struct Look {
  static constexpr float kLeastZoom = 0.6f, kMostZoom = 2.5f, kZoomStep = 1.1f;
  static constexpr int kLeastText = 13, kMostText = 19;

  Theme theme = Theme::dark;
  float zoom = 1;      ///< of everything, on top of the monitor's scale
  int text_size = 16;  ///< of text and numbers, in design pixels

  bool operator==(const Look&) const = default;
};

/// `look` with sizes that are neither too small nor too large.
Look limited(Look look);

struct Settings {
  WindowPlacement window;
  Look look;
  Docking docking;                   ///< where the panels stand
  std::vector<SavedLayout> layouts;  ///< those that a person has saved
  PlotSettings plot;
  ImageSettings images;
  bool first_start = true;  ///< there is no file yet
  bool remembered = true;   ///< false: there is a file of another format, which stays
  std::string problem;      ///< what of the file could not be used, in one sentence; "" for nothing
};

/// Where they are kept; empty if there is no home folder, and then nothing is remembered.
std::filesystem::path settings_file();

/// Reads `file`. What is missing, of the wrong type or out of range has its default; a broken file is as none, and so
/// is one of another format, but for `remembered` and `problem`. A layout that cannot be is left out, and `problem`
/// says why.
Settings load_settings(const std::filesystem::path& file);

/// Writes `file` atomically and makes its folder. Throws core::Error.
void save_settings(const std::filesystem::path& file, const Settings& settings);

}  // namespace warpscope::ui
