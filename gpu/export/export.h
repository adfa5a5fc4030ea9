#pragma once
// What is made of runs for other programs: a table of text, a JSON document, a plot, event files, a trace, weights.

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/export/svg_plot.h"
#include "gpu/messages/snapshot.h"
#include "gpu/runs/curves.h"
#include "gpu/runs/run_reader.h"
#include "gpu/runs/summary.h"

namespace warpscope::runs {

/// RFC 4180: a title line, then a row a step, lines ended by CR LF. Columns: step, epoch, seconds, the series
/// of the steps, those of the tests, and "markers" if there are any (several of one step joined by "; "). A
/// test stands in the row of its step; a test or marker of a step that has no row, and a second value for a
/// cell, get rows of their own. Numbers have the fewest digits that give the same double again; where there
/// is none, the cell is empty.
std::string csv_of(const RunPoints& points);

/// A cell, in quotes if it has to be.
std::string csv_cell(std::string_view text);

/// {"name", "run": run.json, "steps": columns, "tests": columns, "markers": [{"step", "seconds", "marker"}],
/// "damaged_lines"}, where columns are {"step": [..], "epoch": [..], "seconds": [..], SERIES: [..]} of one
/// length with null where there is no number.
nlohmann::json json_of(const Run& run);

/// The key figures under the names of RunSummary's members, "started" in seconds since 1970; null where there
/// are none; "at_first" holds only those settings that were changed during the run.
nlohmann::json json_of(const RunSummary& summary);

/// As text, what is not UTF-8 replaced by U+FFFD, ended by a newline.
std::string json_text(const nlohmann::json& value);

struct PlotChoice {
  std::vector<std::string> series;  ///< empty: train_loss and the losses of tests
  Over over = Over::step;
  bool logarithmic = false;
  std::string title;  ///< "": the names of the runs
};

/// The chosen series of all runs in one plot, with their markers. One run: a colour for each series. Several:
/// a colour for each run, a dash pattern for each series. Throws core::BadInput, with the valid names, for a
/// series that no run has, and if nothing is left to show (no points yet; no value above 0 on a logarithmic
/// axis).
Plot plot_of(const std::vector<Run>& runs, const PlotChoice& choice);

/// The tag of a series: "train/loss" of train_loss, "test/psnr" of test_psnr, "validation/accuracy"; what
/// belongs to no split keeps its name ("gradient_norm").
std::string tensorboard_tag(const std::string& series);

/// The content of an event file: each finite value as a scalar in FP32 under its tag, markers as text under
/// "markers", the settings as the run had them last (shown_value() marks what was changed) as a text table
/// under "configuration", and the files images/*.png of the run as images: their tag is
/// "images/" and the file's name up to the last number in it, which is the step ("images/epoch-000200.png" is
/// "images/epoch" at step 200; without a number, step 0). Times are the run's start plus the seconds of
/// training; everything in the order of steps. Sources: tensorboard/compat/proto/event.proto and
/// summary.proto.
std::string tensorboard_events(const Run& run);

/// Writes the event file of each run into `folder`, which is made if need be; of several runs, each into a
/// folder in it named like the run. The file's name depends only on the run's start, so a second export
/// replaces the first. Throws core::BadInput if two runs have one name, a folder cannot be made, or one holds
/// other event files: TensorBoard would mix them up. core::Error if a file cannot be written.
void export_tensorboard(const std::vector<Run>& runs, const std::filesystem::path& folder);

// ---- The training step of a run as a Chrome trace, which Perfetto (ui.perfetto.dev) and chrome://tracing open.
// Source: "Trace Event Format", the JSON object format, as trace viewers read it.

/// One step, in microseconds since it began: a complete event a call, with shape, variant, FLOP and bytes as
/// its arguments, on the track "now"; the times before the last switch of each op on a track beside it, if any
/// are known; TFLOP/s and GB/s as counters. "otherData" says what the step is and how it was timed. Throws
/// core::BadInput if no call has a time. `name`: of the run.
nlohmann::json trace_of(const std::string& name, const training::Snapshot& snapshot);

/// The step as status.json of the run tells it. Throws core::BadInput if there is none, or none that can be
/// read.
nlohmann::json trace_of(const Run& run);

/// Copies the tensors of a checkpoint to `out`, but for those of the optimizer ("optimizer." before their
/// names): names, shapes and layout are PyTorch's, as in the checkpoint. The metadata are "format": "pt" and
/// the checkpoint's name.
/// Throws core::BadInput if `checkpoint` is no whole safetensors file or holds no weights; core::Error if
/// `out` cannot be written.
void export_weights(const std::filesystem::path& checkpoint, const std::filesystem::path& out);

}  // namespace warpscope::runs
