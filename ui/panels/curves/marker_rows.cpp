#include "ui/panels/curves/marker_rows.h"

#include <algorithm>

#include <fmt/format.h>

#include "gpu/files/file.h"

namespace warpscope::ui {
namespace {

constexpr std::string_view kBetween = "; ", kArrow = " -> ", kCovered = ", with ", kKeyEnd = ": ",
                           kPreset = "preset ";

// The line of one change. What comes before the arrow is the key, if there is one, and the former value.
std::string short_change(std::string_view change) {
  change = change.substr(0, change.find(kCovered));
  const std::size_t arrow = change.rfind(kArrow);
  if (arrow == std::string_view::npos) return std::string(change.substr(0, change.find(kKeyEnd)));
  const std::string_view after = change.substr(arrow + kArrow.size());
  const std::size_t key = change.find(kKeyEnd);
  if (key == std::string_view::npos || key > arrow) return std::string(after);
  return fmt::format("{}: {}", change.substr(0, key), after);
}

// The variant that all changes choose for their ops, whose names have a point; "" if there is none.
std::string_view common_variant(std::string_view text) {
  std::string_view common;
  while (!text.empty()) {
    const std::string_view change = text.substr(0, text.find(kBetween));
    text.remove_prefix(std::min(text.size(), change.size() + kBetween.size()));
    const std::size_t key = change.find(kKeyEnd), arrow = change.rfind(kArrow);
    if (arrow == std::string_view::npos || key > arrow || change.substr(0, key).find('.') == change.npos)
      return {};
    const std::string_view variant = change.substr(arrow + kArrow.size());
    if (!common.empty() && variant != common) return {};
    common = variant;
  }
  return common;
}

}  // namespace

std::vector<std::string_view> changes_of(std::string_view text) {
  std::vector<std::string_view> changes;
  // The name of a preset sums up those that follow.
  if (const std::size_t end = text.find(kBetween); text.starts_with(kPreset) && end != std::string_view::npos)
    text.remove_prefix(end + kBetween.size());
  for (;;) {
    const std::size_t end = text.find(kBetween);
    changes.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return changes;
    text.remove_prefix(end + kBetween.size());
  }
}

std::string marker_line(std::string_view text) {
  constexpr std::size_t kMost = 2;  // changes that are told whole
  const auto changes = changes_of(text);
  if (text.starts_with(kPreset) || (changes.size() > kMost && !common_variant(text).empty()))
    return short_marker(text);
  if (changes.size() <= kMost) return std::string(text);
  return fmt::format("{} and {}", changes.front(),
                     files::counted(static_cast<std::int64_t>(changes.size() - 1), "more change"));
}

std::string short_marker(std::string_view text) {
  if (text.starts_with(kPreset)) {
    const std::string_view name = text.substr(kPreset.size(), text.find(kBetween) - kPreset.size());
    return fmt::format("preset: {}", name);
  }
  const std::size_t more = changes_of(text).size() - 1;
  if (const std::string_view variant = common_variant(text); more > 0 && !variant.empty())
    return fmt::format("{} ops: {}", more + 1, variant);
  const std::string first = short_change(text.substr(0, text.find(kBetween)));
  return more == 0 ? first : fmt::format("{} +{}", first, more);
}

std::vector<plot::Marker> labelled(std::span<const PlacedMarker> markers,
                                   std::span<const runs::MarkerName> names) {
  std::vector<plot::Marker> result;
  for (const PlacedMarker& placed : markers) {
    plot::Marker marker = placed.marker;
    const std::string_view name = runs::name_of(names, placed.step, marker.text);
    marker.label = name.empty() ? short_marker(marker.text) : std::string(name);
    marker.line = marker_line(marker.text);
    result.push_back(std::move(marker));
  }
  return result;
}

}  // namespace warpscope::ui
