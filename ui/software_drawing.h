#pragma once
// Windows drawn by the CPU.

namespace warpscope::ui {

/// From now on Mesa draws this process's windows with the CPU, with as few threads as 60 frames a second need. A GPU runs one
/// context at a time: where OpenGL draws on the GPU that trains, each frame takes it from CUDA (docs/performance.md).
/// Environment variables that say so already are left as they are. To be called before the first window.
void draw_by_cpu();

}  // namespace warpscope::ui
