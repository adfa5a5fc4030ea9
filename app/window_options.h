#pragma once
// What the commands that open a window have in common.

#include "app/window_arguments.h"
#include "ui/frame/window.h"

namespace warpscope::app {

/// The window that is asked for. Throws core::BadInput for a size that is none.
ui::WindowOptions window_options(const WindowArguments& arguments);

}  // namespace warpscope::app
