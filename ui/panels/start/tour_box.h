#pragma once
// The box that tells of a stop of the tour, beside what it tells of.

#include "ui/docking/docking.h"
#include "ui/frame/frame.h"
#include "ui/panels/start/lesson_rows.h"
#include "ui/text/tour.h"

namespace warpscope::ui {

/// Outlines `about`, in pixels of the window, and draws the box with its buttons while a tour is under way. True if the
/// file that `lesson` tells of is to be made; nullptr: the stop is about none.
bool draw_tour(const Frame& frame, Tour& tour, const Area& about, const LessonRow* lesson);

}  // namespace warpscope::ui
