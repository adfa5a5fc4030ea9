#pragma once
// Windows drawn by the CPU.

namespace warpscope::ui {

/// How many threads Mesa may draw with on a machine with so many cores: a quarter of them, 1 to 4. Four reach 60 frames a
/// second at 1600x1000; what is left is for the training's own threads (docs/performance.md).
int drawing_threads(unsigned cores);

/// From now on Mesa, should it draw this process's windows, takes drawing_threads() of the cores that the process may use
/// (its own choice is all of them). An environment that says otherwise is left as it is. To be called before the first window.
void limit_drawing_threads();

/// From now on Mesa draws this process's windows with the CPU. A GPU runs one context at a time: where OpenGL draws on the GPU
/// that trains, each frame takes it from CUDA. Environment variables that say so already are left as they are. To be called
/// before the first window.
void draw_by_cpu();

}  // namespace warpscope::ui
