#pragma once
// The names of curves and what they show, for plots that are files.

#include <span>
#include <string>

#include "ui/frame/frame.h"
#include "ui/panels/curves/loss_lines.h"

namespace warpscope::ui {

/// "Loss · autoencoder · CIFAR-10 · 20260131T235959Z-1"
std::string title_of(const Frame& frame, Metric metric);

/// Draws the title and the curves' names in their colours, in as many rows as that takes; returns the height.
float draw_picture_legend(const Frame& frame, std::span<const ShownCurve> curves, const std::string& title,
                          ImVec2 min, float right);

}  // namespace warpscope::ui
