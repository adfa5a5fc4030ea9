#pragma once
// How the threads of OpenMP, which oneDNN computes with, wait for work.

namespace warpscope::app {

/// Lets them spin for some ten microseconds and then sleep, instead of spinning for milliseconds: on cores that something else
/// uses too (the window, another program, another training) spinning threads take the time that the working ones need, and a
/// step takes many times as long; sleeping at once would make the short steps of small networks four times as long. libgomp
/// reads this from the environment once, when it is loaded, so the process starts itself again with GOMP_SPINCOUNT. Does
/// nothing where that or OMP_WAIT_POLICY is set, or if the process cannot be started again. To be called first in main().
void let_waiting_threads_sleep(char** argv);

}  // namespace warpscope::app
