#include "ui/panels/picture_order.h"

namespace warpscope::ui {
namespace {

constexpr double kSeconds = 1.0;

}  // namespace

void KeptPictureOrder::update(const OrderChoice& choice, const OrderNumbers& numbers,
                              std::span<const std::uint8_t> labels, double now, bool held) {
  renewal_.reset();
  const bool sorts = choice.order != PictureOrder::stored;
  const bool same = any_ && choice == choice_;
  if (same && sorts) {
    if (numbers == numbers_ || held) return;
    if (now < made_ + kSeconds) {
      renewal_ = made_ + kSeconds;
      return;
    }
  }
  OrderFigures figures;
  std::vector<double> quality = numbers.figures[index_of(PictureRow::now)];
  if (choice.metric == PictureMetric::mse) {
    for (double& value : quality) value = -value;
  }
  figures.quality = quality;
  figures.change = numbers.changes;
  figures.labels = labels;
  images_ = arrange_pictures(choice.count, choice.order, choice.wanted_class, figures);
  choice_ = choice;
  numbers_ = numbers;
  made_ = now;
  any_ = true;
}

}  // namespace warpscope::ui
