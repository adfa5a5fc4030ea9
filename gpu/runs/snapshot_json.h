#pragma once
// Snapshots as JSON: what status.json of a run folder holds, so that another process can show the training
// (gpu/runs/run_source.h). Everything that a window reads is there but the data set, the images, the losses
// of single images and the reports that were asked for (determinism, range test): run.json and metrics.jsonl
// tell the rest.

#include <nlohmann/json_fwd.hpp>

#include "gpu/messages/snapshot.h"

namespace warpscope::training {

/// Numbers that JSON cannot hold (NaN, infinity) become null.
void to_json(nlohmann::json& json, const Snapshot& snapshot);

/// Sets what to_json() writes; what it leaves out stays as it is in `snapshot`. null is read as NaN. Throws
/// core::BadInput that names the first field that is missing, of another type or no valid name; `snapshot` is
/// then unchanged.
void from_json(const nlohmann::json& json, Snapshot& snapshot);

}  // namespace warpscope::training
