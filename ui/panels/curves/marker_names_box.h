#pragma once
// A small window in which markers of the training get names, and where the names are kept.

#include <array>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gpu/messages/feed.h"
#include "ui/frame/frame.h"
#include "ui/panels/curves/marker_rows.h"

namespace warpscope::ui {

class MarkerNamesBox {
 public:
  /// Once a frame: reads the names of the run that is shown, if it is another. Without a run folder names last as
  /// long as the window.
  void update(const std::string& run_dir);
  const std::vector<runs::MarkerName>& names() const { return names_; }

  /// Opens at the pointer, with a field for each of `markers`; at most a third of the window high, then it scrolls.
  void open(std::span<const PlacedMarker> markers);
  /// Within the window of the plots. Each name counts when its field is left.
  void draw(const Frame& frame);
  /// Why names cannot be read or kept, once.
  std::optional<std::string> take_problem() { return std::exchange(problem_, {}); }

 private:
  void set(const PlacedMarker& marker, const char* name);
  void draw_changes(const Frame& frame, std::size_t i);
  void draw_field(const Frame& frame, std::size_t i, bool focus);

  std::string run_dir_;
  bool damaged_ = false;  ///< the file is not to be replaced: it may hold names that can be saved by hand
  std::vector<runs::MarkerName> names_;
  std::vector<PlacedMarker> markers_;
  std::vector<std::array<char, 64>> texts_;
  bool opens_ = false;
  std::optional<std::size_t> unfolded_;  ///< the marker whose changes are shown, each in a line
  std::optional<std::string> problem_;
};

}  // namespace warpscope::ui
