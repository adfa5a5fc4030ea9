#pragma once
// Walks through the window: the tour in seven stops, and lessons, which have stops of their own. No drawing here.

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace warpscope::ui {

struct TourStop {
  std::string title;
  std::string text;
  std::string panel;         ///< what it is about: the id of a panel, or "" for the toolbar
  std::string example = {};  ///< of a lesson: the file that is made and looked at there
};

std::span<const TourStop> tour_stops();

/// Where somebody is on a walk.
class Tour {
 public:
  void start();
  /// Other stops than those of the tour; there is one at least.
  void start(std::vector<TourStop> stops);
  void end() { place_.reset(); }
  /// To the next stop; after the last one the walk ends.
  void next();
  /// To the stop before; stays at the first one.
  void back();

  bool is_under_way() const { return place_.has_value(); }
  std::span<const TourStop> stops() const { return stops_; }
  /// The place in stops(); nothing while no walk is under way.
  std::optional<std::size_t> place() const { return place_; }
  /// nullptr while no walk is under way.
  const TourStop* stop() const;

 private:
  std::vector<TourStop> own_;
  std::span<const TourStop> stops_ = tour_stops();
  std::optional<std::size_t> place_;
};

}  // namespace warpscope::ui
