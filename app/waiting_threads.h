#pragma once
// How the threads of OpenMP, which oneDNN computes with, wait for work.

namespace warpscope::app {

/// Lets them sleep instead of spinning: on cores that something else uses too (the window, another program, another training)
/// spinning threads take the time that the working ones need, and a step takes many times as long. libgomp reads this from the
/// environment once, when it is loaded, so the process starts itself again with OMP_WAIT_POLICY=passive. Does nothing where
/// OMP_WAIT_POLICY or GOMP_SPINCOUNT is set, or if the process cannot be started again. To be called first in main().
void let_waiting_threads_sleep(char** argv);

}  // namespace warpscope::app
