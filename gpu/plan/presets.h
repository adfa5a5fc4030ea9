#pragma once
// Presets: a name for a way to run every op ("tensor cores"), resolved against what a device has.

#include <string>
#include <string_view>
#include <vector>

#include "gpu/plan/selection.h"

namespace warpscope::plan {

/// A preset in words. Which variants it means is a tag on these (ops::PresetTag).
struct Preset {
  const char* id;       ///< as people type it: "tensor_cores"
  const char* label;    ///< as they read it: "tensor cores"
  const char* summary;  ///< one sentence
};

/// "fastest", "naive", "atomic", "atomic_free", "tiled", "implicit_gemm", "wmma", "tensor_cores", "cudnn" on
/// CUDA; "loops", "onednn" on a CPU.
std::vector<Preset> presets(core::DeviceKind device);

/// Why the preset cannot run on `machine` in `precision` ("its kernels (mma of conv2d.forward)
/// do not run in fp32; in tf32, fp16, bf16"), or "".
std::string preset_unavailable_reason(std::string_view id, const Machine& machine, core::Precision precision);

/// The variants that are tagged with the preset and run on `machine` in `precision`, the last of each op;
/// nothing is chosen for the others.
/// Throws core::BadInput with the reason if the preset cannot run, or lists the valid names.
Selection preset_selection(std::string_view id, const Machine& machine, core::Precision precision);

/// The preset that `selection` is, or "" if it is none.
std::string preset_of(const Selection& selection, const Machine& machine);

/// What `selection` is called from now on in this process, where no preset is the same ("fastest here, 14:02"). Its
/// newest name counts. From any thread.
void name_selection(const Selection& selection, const std::string& name);

/// The preset's label ("tensor cores"), "automatic" if nothing is chosen, a name that was given, else "".
std::string label_of(const Selection& selection, const Machine& machine);

/// The preset that `to` is, where it differs from `from` in several ops and not in precision: it was chosen as a whole,
/// as kAutomatic where nothing is chosen any more. "" else.
std::string chosen_preset(const Selection& from, const Selection& to, const Machine& machine);

}  // namespace warpscope::plan
