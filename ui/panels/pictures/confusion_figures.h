#pragma once
// What a confusion matrix says, in numbers and in words.

#include <cstdint>
#include <string>
#include <vector>

#include "ui/images/conversion.h"
#include "ui/panels/pictures/held_out.h"

namespace warpscope::ui {

struct ConfusionFigures {
  int classes = 0;
  std::vector<std::uint32_t> counts;       ///< [truth * classes + predicted]
  std::vector<std::uint64_t> truths;       ///< images of each class: sums of the rows
  std::vector<std::uint64_t> predictions;  ///< images taken for each class: sums of the columns
  std::uint64_t total = 0;
  std::uint64_t right = 0;

  std::uint32_t count(int truth, int predicted) const {
    return counts[static_cast<std::size_t>(truth) * static_cast<std::size_t>(classes) +
                  static_cast<std::size_t>(predicted)];
  }
  /// Part of the images of `truth` that were taken for `predicted`, from 0 to 1; 0 if there are none.
  double share(int truth, int predicted) const;
  /// Part of the images of a class that were classified right; not a number if there are none.
  double recall(int index) const;
  /// Part of the images taken for a class that are of it; not a number if there are none.
  double precision(int index) const;
  double accuracy() const;
  /// The largest share() beside the diagonal; 0 if all are right.
  double largest_error() const;
};

ConfusionFigures confusion_figures(const training::Evaluation& evaluation);

/// Figures of only the selected test images (Cursor::images), as far as they are known; of all that were looked at if
/// there is no selection.
ConfusionFigures confusion_figures(const HeldOut& held_out, const std::vector<std::int64_t>& selected);

/// "93.2 %", "100 %", "-" for what is not a number.
std::string percent_text(double part);
/// "37 of 1,000 images of “cat” were taken for “dog”, 3.7 %."
std::string cell_text(const ConfusionFigures& figures, const HeldOut& held_out, int truth, int predicted);
/// What is known of one class: how many images, its recall and its precision, in sentences.
std::string class_text(const ConfusionFigures& figures, const HeldOut& held_out, int index);

/// Viridis over the part of the row.
images::Rgba share_colour(double share);
/// The same of mistakes, in other colours: inferno, from black over purple to orange. The scale ends at `scale`, so
/// that a few of them are seen.
images::Rgba error_colour(double share, double scale);
/// The smallest of 1, 2 and 5 times a power of ten that is not below the largest share of mistakes; at least 1 %.
double error_scale(const ConfusionFigures& figures);
/// On the diagonal share_colour(), beside it error_colour().
images::Rgba cell_colour(const ConfusionFigures& figures, double scale, int truth, int predicted);
/// True if text over `background` is read better in black than in white (contrast as WCAG 2 defines it).
bool black_reads_better(images::Rgba background);

}  // namespace warpscope::ui
