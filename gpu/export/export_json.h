#pragma once
// A run as one JSON document.

#include <nlohmann/json.hpp>

#include "gpu/runs/run_reader.h"
#include "gpu/runs/summary.h"

namespace warpscope::runs {

/// {"name", "run": run.json, "steps": columns, "tests": columns, "markers": [{"step", "seconds", "marker"}],
/// "damaged_lines"}, where columns are {"step": [..], "epoch": [..], "seconds": [..], SERIES: [..]} of one
/// length with null where there is no number.
nlohmann::json json_of(const Run& run);

/// The key figures under the names of RunSummary's members, "started" in seconds since 1970; null where there
/// are none; "at_first" holds those settings alone that were changed during the run.
nlohmann::json json_of(const RunSummary& summary);

/// As text, what is not UTF-8 replaced by U+FFFD, ended by a newline.
std::string json_text(const nlohmann::json& value);

}  // namespace warpscope::runs
