#include "ui/text/tour.h"

#include <array>
#include <utility>

namespace warpscope::ui {
std::span<const TourStop> tour_stops() {
  static const std::array stops{
      TourStop{
          "Start, pause, step",
          "The toolbar steers the training: space starts and pauses it, the right arrow makes one step, R "
          "starts again from the first weights. It says what is trained, on which device and how fast.",
          ""},
      TourStop{
          "Curves",
          "Each point is a training step. The wheel or a drag zooms, a double click shows all again, and a "
          "right click can rewind the training to that step, weights and all. A line marks each change that "
          "you make, so that you see what it did.",
          "curves"},
      TourStop{"Images",
               "Images that the network never trains on, and what it makes of them now. Point at one to "
               "magnify it; a click on a curve shows what was made of them at that step.",
               "images"},
      TourStop{"Kernels",
               "Each row is an operation of the step with its time. Choose another variant in its menu: the "
               "next step uses it, the weights stay, and the row shows what the time was before. Own kernels "
               "takes those that you write yourself, and has a lesson on them.",
               "kernels"},
      TourStop{"Inside the network",
               "What each layer makes of the image that you point at. A click on a pixel opens the sum that "
               "made it. Latent maps all test images by what the network makes of them, and Features tells "
               "what that is worth.",
               "network"},
      TourStop{
          "Settings of the training",
          "Learning rate, batch, optimizer and schedule change while it trains. Ctrl Z takes a change back.",
          "training"},
      TourStop{"Your window",
               "Drag a tab to another place, or choose a layout and a theme in the menu at the right end of "
               "the toolbar. Ctrl+P finds every command by a few letters; \"tour\" takes you here again.",
               ""},
  };
  return stops;
}

void Tour::start() {
  stops_ = tour_stops();
  place_ = 0;
}

void Tour::start(std::vector<TourStop> stops) {
  own_ = std::move(stops);
  stops_ = own_;
  place_ = 0;
}

void Tour::next() {
  if (!place_) return;
  ++*place_;
  if (*place_ == stops_.size()) place_.reset();
}

void Tour::back() {
  if (place_ && *place_ > 0) --*place_;
}

const TourStop* Tour::stop() const {
  return place_ ? &stops_[*place_] : nullptr;
}

}  // namespace warpscope::ui
