#pragma once
// The plot as files: which name, and what of it an SVG holds.

#include <filesystem>
#include <functional>
#include <future>
#include <optional>
#include <span>
#include <string>

#include "gpu/export/svg_plot.h"
#include "ui/panels/curves/loss_lines.h"
#include "ui/plot/flags.h"
#include "ui/plot/view.h"

namespace warpscope::ui {

/// `folder`/`stem``ending`, or with "-2", "-3", ... after the stem where such a file exists.
std::filesystem::path free_file(const std::filesystem::path& folder, const std::string& stem,
                                const std::string& ending);

/// What the plot shows, for gpu/runs' SVG writer: the curves and markers of the view's part of x, in the
/// colours of the screen as far as a white page allows; dashes tell the splits apart.
runs::Plot svg_plot(std::span<const ShownCurve> curves, std::span<const plot::Marker> markers,
                    const CurveChoice& choice, const plot::View& view, bool logarithmic, std::string title);

/// Writes files on a thread of their own, one after the other.
class FileWriter {
 public:
  struct Result {
    bool written = false;
    std::string text;  ///< the file, or why there is none
  };

  /// `content` makes the file's bytes and may throw core::Error. Nothing happens while one is being written.
  void write(std::filesystem::path file, std::function<std::string()> content);
  bool busy() const { return job_.valid(); }
  /// The result of a write that has ended since the last call.
  std::optional<Result> take();

 private:
  std::future<Result> job_;
};

}  // namespace warpscope::ui
