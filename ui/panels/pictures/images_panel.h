#pragma once
// The images panel: held-out images, or a person's own, in versions that can be compared pixel for pixel.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gpu/messages/image_exchange.h"
#include "ui/frame/frame.h"
#include "ui/interop/image_view.h"
#include "ui/panels/pictures/enlarged_picture.h"
#include "ui/panels/pictures/image_timeline.h"
#include "ui/panels/pictures/own_pictures.h"
#include "ui/panels/pictures/picture_desk.h"
#include "ui/panels/pictures/picture_figures.h"
#include "ui/panels/pictures/picture_grid.h"
#include "ui/panels/pictures/picture_menu.h"
#include "ui/panels/pictures/picture_rows.h"
#include "ui/settings/settings.h"

namespace warpscope::ui {

class ImagesPanel {
 public:
  /// Takes the newest batch; called once a frame with the OpenGL context current, whether the panel is
  /// drawn or not. nullptr while there is no exchange. `prepared`: prepare() follows the frame.
  void update(const std::shared_ptr<training::ImageExchange>& exchange, const Frame& frame, bool prepared);
  /// As interop::ImageView::prepare().
  bool prepare() { return view_ && view_->prepare(); }
  void draw(const Frame& frame);
  /// Frees what belongs to OpenGL and CUDA; called before the context goes.
  void shutdown();

  /// How the images reach the screen, for the status bar (interop/image_view.h); "no images yet" before the
  /// first.
  std::string path_text() const;
  /// "host", "shared", "fetched" or "none".
  std::string path_name() const;
  std::uint64_t image_bytes_to_host() const;
  /// Steps done when the reconstructions shown were made; 0 before the first.
  std::uint64_t shown_step() const;
  /// True once a batch is on the screen.
  bool has_images() const;
  /// The comparison whose pictures are on the screen; nullptr while there is none.
  std::shared_ptr<const training::Comparison> compared() const { return desk_.comparison(); }

  /// Between frames: brings what is on its way further. True if a frame is needed to show it.
  bool advance(const std::shared_ptr<training::ImageExchange>& exchange);

  /// Pictures that were dropped on the window or pasted; why they cannot be taken, or "".
  std::string open_files(std::vector<std::filesystem::path> paths);
  /// What became of them, once, as soon as it is known.
  std::optional<std::string> take_message();
  /// I, X, Escape; true if the key meant something here.
  bool handle_key(const Frame& frame, char letter, bool escape);

  PictureSettings settings;
  /// The part of the settings that is kept from one start to the next.
  ImageSettings remembered() const;
  void remember(const ImageSettings& kept);
  /// Once, as soon as a training is there: leaves out remembered rows that can no longer be. What that was, or "".
  std::string check_rows(const Frame& frame);

 private:
  void draw_title(const Frame& frame, const PictureScene& scene);
  void draw_pictures(const Frame& frame, PictureScene& scene);
  void draw_scale_choice(const Frame& frame, const PictureScene& scene);
  void draw_difference_figures(const Frame& frame, const PictureScene& scene);
  void draw_selection(const Frame& frame, const PictureScene& scene) const;
  std::string nothing_text(const Frame& frame) const;
  void enlarge(int image);
  void trace(const Frame& frame, const PictureScene& scene);
  void arrange(const Frame& frame, PictureScene& scene);
  /// What is shown: the pictures of an earlier step if one is chosen, else the newest.
  interop::ImageView* shown_view() const;
  std::shared_ptr<const data::OwnImages> shown_own(const Frame& frame) const;

  std::shared_ptr<training::ImageExchange> exchange_;
  std::unique_ptr<interop::ImageView> view_;
  interop::PastImages past_;
  std::optional<std::uint64_t> past_step_;  ///< whose pictures `past_` shows
  ImageTimeline timeline_;
  std::string failure_;  ///< why there is no view
  PictureDesk desk_;
  PictureGrid grid_;
  PictureMenu menu_;
  EnlargedPicture enlarged_;
  PictureCurve curve_;
  OwnPictures own_;
  bool has_message_ = false;
  bool rows_checked_ = false;
  std::string traced_;
  KeptPictureOrder order_;
};

}  // namespace warpscope::ui
