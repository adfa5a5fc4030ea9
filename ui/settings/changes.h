#pragma once
// What a person can change and change back: as plain values, as commands, in words and as options. No drawing here.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "gpu/messages/commands.h"
#include "gpu/messages/snapshot.h"
#include "ui/settings/settings.h"

namespace warpscope::ui {

/// How the window shows things.
struct ViewChoices {
  PlotSettings plot;
  ImageSettings images;
  Docking docking;
  Look look;
  bool operator==(const ViewChoices&) const = default;
};

/// What trains: Snapshot::training. The one with the higher number of two in a change was begun by what `cause` says.
struct TrainingInUse {
  std::uint64_t number = 0;
  std::shared_ptr<const models::Model> network = nullptr;  ///< nullptr: it is not known
  std::uint64_t step = 0;                                  ///< when it was left
  std::string cause = {};                                  ///< "reset"; "" of another network
  bool operator==(const TrainingInUse& other) const { return number == other.number; }
};

/// Which version of a person's own kernel runs.
struct KernelInUse {
  std::string file;  ///< UserKernel::file
  std::string name;  ///< "my_conv"
  int version = 0;   ///< UserKernel::used()
  bool operator==(const KernelInUse& other) const { return file == other.file && version == other.version; }
};

/// Settings are those that a change is about, and no others.
using Changeable =
    std::variant<plan::Selection, training::Configuration, TrainingInUse, KernelInUse, ViewChoices>;

/// Both of one kind, settings of the same names, and kernels of one file.
struct Change {
  Changeable before;
  Changeable after;
};

inline bool is_of_view(const Changeable& value) {
  return std::holds_alternative<ViewChoices>(value);
}

/// Whether one takes the other's place: both are of one kind, settings have a name in common, kernels are of one file.
bool same_kind(const Changeable& a, const Changeable& b);

/// What the trainer has of the kernel in that file.
KernelInUse kernel_in(const training::UserKernels& kernels, const std::string& file);
/// The trainer's value of the kind of `like`, which is not ViewChoices.
Changeable value_in(const training::Snapshot& snapshot, const Changeable& like);

/// The command that sets `value`; nothing for ViewChoices, which the window has itself.
std::optional<training::Command> command_of(const Changeable& value);

/// "precision fp32 -> bf16; conv2d.forward: automatic -> hopper", "batch: 64 -> 32", "value axis: logarithmic ->
/// linear"; "" if nothing has changed.
std::string describe(const Change& change);
/// The same in one line: "preset: automatic -> loops" where many operations change at once.
std::string in_one_line(const Change& change, const core::DeviceInfo& device);
/// Each change of describe() in a line of its own where in_one_line() leaves them out; "" else.
std::string details_of(const Change& change, const core::DeviceInfo& device);

/// The change as a command line would have it, "--precision bf16 --select conv2d.forward=hopper"; "" of the view.
std::string option_text(const Change& change);

}  // namespace warpscope::ui
