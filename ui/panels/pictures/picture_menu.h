#pragma once
// The row of choices above the pictures: which rows there are, the figure, the order, the class, the curve, and a
// person's own images.

#include <filesystem>
#include <future>
#include <string>
#include <vector>

#include "ui/frame/frame.h"
#include "ui/panels/pictures/own_pictures.h"
#include "ui/panels/pictures/picture_desk.h"
#include "ui/panels/pictures/picture_rows.h"

namespace warpscope::ui {

/// Files of weights that a row can be made of.
struct WeightsChoices {
  std::vector<WeightsFile> checkpoints;  ///< of this run, newest first
  std::vector<WeightsFile> runs;         ///< of others that trained the same model, newest run first
  std::vector<std::string> refused;      ///< names of runs that trained another model
};

/// What there is beside `run_dir`, for a network called `model`. Folders that cannot be read hold nothing.
WeightsChoices find_weights(const std::filesystem::path& run_dir, const std::string& model);

/// Looks for them in a thread of its own.
class WeightsList {
 public:
  /// Looks again; what was found before stays until it is done.
  void look(const std::string& run_dir, const std::string& model);
  /// True if something has been found since the last call. Never waits.
  bool advance();
  const WeightsChoices& choices() const { return choices_; }

 private:
  std::future<WeightsChoices> job_;
  WeightsChoices choices_;
};

class PictureMenu {
 public:
  void draw(const Frame& frame, PictureScene& scene, OwnPictures& own);
  /// The menu of rows.
  bool is_open() const { return open_; }
  /// Between frames: true if files have been found. Never waits.
  bool advance() { return weights_.advance(); }

 private:
  void draw_rows_menu(const Frame& frame, PictureScene& scene);
  std::string why_no_row(const Frame& frame, const PictureChoices& choices, PictureRow row) const;
  void draw_row(const Frame& frame, PictureScene& scene, PictureRow row, float left);
  void draw_file(const Frame& frame, PictureChoices& choices, PictureRow row) const;

  WeightsList weights_;
  bool open_ = false;
};

}  // namespace warpscope::ui
