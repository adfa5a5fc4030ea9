#pragma once
// Markers of a training as short flags, and the names a person gave them. No drawing here.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/runs/marker_names.h"
#include "ui/plot/flags.h"

namespace warpscope::ui {

/// What has changed, as short as can be read on a flag: "bf16" of "fp32 -> bf16", "conv2d.forward: tiled" of
/// "conv2d.forward: automatic -> tiled, with relu.forward", "bf16 +1" of two changes at once, "preset: loops", "network
/// changed" of "network changed: 7 of 9 tensors carried over".
std::string short_marker(std::string_view text);

/// The changes that a marker tells, one or more.
std::vector<std::string_view> changes_of(std::string_view text);

/// All of it in one line: "preset: loops" of a preset and what it switched, "50 ops: loops", one change or two as they
/// are, else "fp32 -> bf16 and 48 more changes".
std::string marker_line(std::string_view text);

/// A marker and where it stands.
struct PlacedMarker {
  std::uint64_t step = 0;
  plot::Marker marker;
};

/// The markers with their labels: the names they were given, else short_marker().
std::vector<plot::Marker> labelled(std::span<const PlacedMarker> markers,
                                   std::span<const runs::MarkerName> names);

}  // namespace warpscope::ui
