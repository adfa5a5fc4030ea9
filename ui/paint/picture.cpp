#include "ui/paint/picture.h"

#include <algorithm>
#include <utility>

namespace warpscope::ui::paint {
namespace {

constexpr std::size_t kTakenAlong = 3;

struct Run {
  std::size_t first, end;  // tiles of a row
  bool operator==(const Run&) const = default;
};

std::vector<Run> runs_of(std::span<const std::uint8_t> row) {
  std::vector<Run> runs;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (row[i] == 0) continue;
    if (!runs.empty() && i <= runs.back().end + kTakenAlong) {
      runs.back().end = i + 1;
    } else {
      runs.push_back({i, i + 1});
    }
  }
  return runs;
}

Area area_of(const Run& run, std::size_t row, const Picture& picture) {
  const int x = static_cast<int>(run.first) * kTile, y = static_cast<int>(row) * kTile;
  return {x, y, std::min(static_cast<int>(run.end) * kTile, picture.width) - x,
          std::min(kTile, picture.height - y)};
}

}  // namespace

std::vector<Area> changed_areas(const Picture& picture) {
  std::vector<Area> areas;
  std::vector<Run> above;
  const std::size_t columns = tiles_along(picture.width), rows = tiles_along(picture.height);
  for (std::size_t row = 0; row < rows; ++row) {
    std::vector<Run> runs = runs_of(picture.changed.subspan(row * columns, columns));
    if (!runs.empty() && runs == above) {  // these areas grow down
      for (std::size_t i = areas.size() - runs.size(); i < areas.size(); ++i) {
        areas[i].height += area_of(runs.front(), row, picture).height;
      }
    } else {
      for (const Run& run : runs) areas.push_back(area_of(run, row, picture));
    }
    above = std::move(runs);
  }
  return areas;
}

}  // namespace warpscope::ui::paint
