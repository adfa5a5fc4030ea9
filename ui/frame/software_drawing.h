#pragma once
// Windows drawn by the CPU.

namespace warpscope::ui {

/// How many threads Mesa may draw with on a machine with so many cores (0: unknown): half of them, 2 to 4.
/// Three reach 60 frames a second at 1600x1000, two do not always (docs/history.md); what is left is for
/// the training's own threads.
int drawing_threads(unsigned cores);

/// From now on Mesa, should it draw this process's windows, takes drawing_threads() of the cores that the
/// process may use (its own choice is all of them). An environment that says otherwise is left as it is. To
/// be called before the first window.
void limit_drawing_threads();

/// From now on OpenGL is Mesa's in this process, on the CPU, whatever the environment says. Where it draws on
/// the GPU that trains, each frame takes 0.4 to 0.6 ms from CUDA, even an empty one (docs/history.md). To
/// be called before the first window.
void draw_by_cpu();

}  // namespace warpscope::ui
