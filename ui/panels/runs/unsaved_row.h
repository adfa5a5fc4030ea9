#pragma once
// What is offered at the start of a window: to go on with the training that was left last of those in the folder of
// unsaved ones. Nobody recorded it, unless a window went on with it.

#include <string>

#include "gpu/runs/unsaved.h"
#include "ui/frame/frame.h"

namespace warpscope::ui {

/// "the training of 14:32: autoencoder, step 12,345", with the day where it is not `now`'s.
std::string unsaved_text(const runs::UnsavedTraining& training, std::int64_t now);

class UnsavedRow {
 public:
  void offer(std::string text) { text_ = std::move(text); }
  /// Height of the row in design pixels; 0 while nothing is offered.
  float height(const Frame& frame) const;
  /// In the window that place_next_window() has placed, until the offer is taken or dismissed. True if it is taken.
  bool draw(const Frame& frame);

 private:
  std::string text_;  ///< "" while nothing is offered
};

}  // namespace warpscope::ui
