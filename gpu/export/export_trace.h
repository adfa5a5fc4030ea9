#pragma once
// The training step of a run as a Chrome trace, which Perfetto (ui.perfetto.dev) and chrome://tracing open.
// Source: "Trace Event Format", the JSON object format, as trace viewers read it.

#include <nlohmann/json.hpp>
#include <string>

#include "gpu/messages/snapshot.h"
#include "gpu/runs/run_reader.h"

namespace warpscope::runs {

/// One step, in microseconds since it began: a complete event a call, with shape, variant, FLOP and bytes as
/// its arguments, on the track "now"; the times before the last switch of each op on a track beside it, if any
/// are known; TFLOP/s and GB/s as counters. "otherData" says what the step is and how it was timed. Throws
/// core::BadInput if no call has a time. `name`: of the run.
nlohmann::json trace_of(const std::string& name, const training::Snapshot& snapshot);

/// The step as status.json of the run tells it. Throws core::BadInput if there is none, or none that can be
/// read.
nlohmann::json trace_of(const Run& run);

}  // namespace warpscope::runs
