#pragma once
// Markers on the x axis: hairlines with small flags that say what changed. Flags that would lie on each other
// merge.

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ui/frame/frame.h"
#include "ui/plot/axis.h"

namespace warpscope::ui::plot {

struct Marker {
  double x = 0;
  std::string text;     ///< what happened
  std::string label{};  ///< what its flag says; "": the text
  std::string line{};   ///< what the tool-tip says, in one line; "": the text
};

/// Markers [first, last) that share one flag, which stands at `pixel`, the first one's.
struct FlagGroup {
  std::size_t first = 0;
  std::size_t last = 0;
  float pixel = 0;
};

/// Groups markers (in the order of x) whose pixels lie within [left, right]. A marker joins the group before it if it
/// is nearer than `reach` pixels to that group's first one, or would be if the last `reach` pixels were one place: so
/// each group has room for a flag of `reach` pixels, which of the last one may begin before its hairline.
std::vector<FlagGroup> group_markers(std::span<const Marker> markers, const Axis& x, float left, float right,
                                     float reach);

/// How long a text is, in pixels, and a text cut to so many pixels, with "..." for what was cut.
struct TextMeasure {
  std::function<float(const std::string&)> width;
  std::function<std::string(const std::string&, float)> cut;
};

/// What a group's flag says, at most `most` pixels wide: "bf16" of one marker, "bf16 +3" of four; where that is too
/// wide with only its beginning, "netw... +3", and where even that says little, "+4".
std::string flag_text(std::span<const Marker> markers, const FlagGroup& group, float most,
                      const TextMeasure& measure);

/// Height of the strip above the plot that the flags need.
float flag_height(const Frame& frame);

/// Draws the flags in the strip that ends at y = `top` and hairlines from there to `bottom`. The flag under
/// the pointer, which is returned, shows its markers in a tool-tip, at most a third of the window high.
std::optional<FlagGroup> draw_flags(const Frame& frame, std::span<const Marker> markers, const Axis& x,
                                    Unit unit, float top, float bottom);

}  // namespace warpscope::ui::plot
