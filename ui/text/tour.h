#pragma once
// A walk through the window in seven stops. No drawing here.

#include <cstddef>
#include <optional>
#include <span>

namespace warpscope::ui {

struct TourStop {
  const char* title;
  const char* text;
  const char* panel;  ///< what it is about: the id of a panel, or "" for the toolbar
};

std::span<const TourStop> tour_stops();

/// Where somebody is on the walk.
class Tour {
 public:
  void start() { place_ = 0; }
  void end() { place_.reset(); }
  /// To the next stop; after the last one the tour ends.
  void next();
  /// To the stop before; stays at the first one.
  void back();

  bool is_under_way() const { return place_.has_value(); }
  /// The place in tour_stops(); nothing while no tour is under way.
  std::optional<std::size_t> place() const { return place_; }
  /// nullptr while no tour is under way.
  const TourStop* stop() const;

 private:
  std::optional<std::size_t> place_;
};

}  // namespace warpscope::ui
