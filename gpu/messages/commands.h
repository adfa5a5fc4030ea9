#pragma once
// What a trainer can be told. Each command takes effect at a step boundary.

#include <cstdint>
#include <string>
#include <variant>

#include "gpu/messages/observations.h"
#include "gpu/models/model.h"
#include "gpu/plan/selection.h"
#include "gpu/settings/configuration.h"
#include "gpu/settings/rate_finder.h"

namespace warpscope::training {

struct Pause {};
struct Resume {};
struct StepOnce {};
/// New weights from the same seed or file, step 0, a new generation. The training that is left is kept: ReturnTo.
struct Reset {};
/// Goes on with a training that was left, by its number (Snapshot::training): network, weights, state, place in the
/// data and all settings are those of then, bit for bit, but for precision, variants and, where nobody chose one, the
/// clipping that the precision asks for. The one that is left for it is kept too.
struct ReturnTo {
  std::uint64_t training = 0;
};
/// Back to this step, exactly: to its moment, or to one before it, from which the steps are made again by the same
/// variants, with the settings of then (Snapshot::rewind; any other command but Resume ends that, and nothing has
/// changed). The training is paused there. What came after is kept: ReturnTo.
struct RewindTo {
  std::uint64_t step = 0;
};
/// Back to where the training was before what the command of that number has changed (Snapshot::changes), as by
/// RewindTo: what was changed before it at the same step stays changed.
struct TakeBack {
  std::uint64_t command = 0;
};
struct Select {
  plan::Selection selection;
};
/// These settings, by their names, have these values from the next step on, and others stay as they are by then: all
/// of it takes effect or, with a notice, nothing. Which settings can change says Setting::changes. Another rule starts
/// with fresh state, and its numbers stay unless they are given (with_rule() has its own); the weights go on.
struct Change {
  Configuration settings;
};
/// A learning-rate range test, from the weights as they are and back to them: Snapshot::rate_search.
struct FindRate {
  RateFinderOptions settings;
};
struct CancelFindRate {};
/// Back to the last weights from before the divergence, at Divergence::back_rate, and on.
struct RollBack {};
struct SaveCheckpoint {};  ///< in the run folder
/// All settings as they are now, to the TOML file that the training was started with, else to training.toml
/// in the run folder, else to training.toml here.
struct SaveSettings {};
/// Another network goes on in the place of the one that trains: parameters of the same name and shape go on, the others
/// begin as those of a new training would, the optimizer starts with fresh state. It takes the same images and has the
/// same kind of loss; a head stays. It gets models::with_name_of_its_own().
struct SetNetwork {
  models::Model network;
};
/// So many ranks make the steps from the next one on: those that there are end, others begin with the state that the
/// training has. Where ranks cannot be started, or not so many, nothing changes.
struct SetRanks {
  int ranks = 1;
};
struct Save {
  std::string file;
};
/// Runs the next step twice side by side and compares bits: Snapshot::determinism. The weights stay as they
/// are.
struct CheckDeterminism {};
/// How fast bytes get from each rank to each other one: RankFigures::links. The training waits meanwhile.
struct MeasureLinks {};
/// From now on Source::observations() shows what the request asks for, ever anew; the last request counts.
struct Observe {
  ObservationRequest request;
};
/// Observations::weights becomes a copy of them, with this number, which is another than before.
struct CopyWeights {
  std::uint64_t number = 0;
};
/// What is shown of the inside of a run that is only looked at (Snapshot::revival) is from now on that of the
/// checkpoint nearest to this step; 0: of the newest, and of each newer one that comes.
struct LookAt {
  std::uint64_t step = 0;
};
/// This past step is computed beside the training, which goes on (Snapshot::aside): from a moment before it, as by
/// RewindTo. Observations::aside shows how what Observe asks for was then. Another one takes its place; 0: none is
/// computed any more, and its memory is free.
struct LookAside {
  std::uint64_t step = 0;
};
/// While `disturbed` something else is measured on the same machine: no times are taken that would be compared.
struct SetDisturbed {
  bool disturbed = false;
};
/// Begins to record the training, with its curve so far, in a new folder of the user's, or ends recording; it goes on
/// either way.
struct Record {
  bool on = true;
};
/// The file of a kernel that a person wrote is compiled, proved and timed, now and whenever it or a header of it is
/// saved: Snapshot::user_kernels. Where it is there already, only the flag changes. Refused where the training takes
/// no kernels of users, and for a name that is that of another file's variant.
struct LoadKernel {
  std::string file;
  bool apply_when_proved = false;  ///< UserKernel::apply_when_proved
};
/// Each file of kernels in this folder, now and later, is loaded like that; or, not `on`, files that come later are
/// not, and those that are there stay.
struct WatchKernels {
  std::string folder;
  bool on = true;
  bool apply_when_proved = false;
};
struct ApplyWhenProved {
  std::string file;  ///< UserKernel::file
  bool on = true;
};
/// This version runs its op from the next step on: the selection takes its variant. 0: none does, and the op is run by
/// what was chosen before the first did. What undoes it is the same command with UserKernel::used() from before it.
struct UseKernel {
  std::string file;  ///< UserKernel::file
  int version = 0;   ///< KernelVersion::number of one that is ready
};
/// The file is watched no longer, and its variant is nothing to choose from any more; where it runs, as UseKernel of
/// version 0 first. Nothing on the disk changes.
struct ForgetKernel {
  std::string file;  ///< UserKernel::file
};
struct Finish {};  ///< after the running step: save, write the results, state `finished`
/// The window closes: Finish where something is to be written; a training of which nothing is recorded is kept in the
/// folder for these. Then Snapshot::may_close.
struct Leave {};
using Command =
    std::variant<Pause, Resume, StepOnce, Reset, ReturnTo, Select, Change, SetNetwork, FindRate,
                 CancelFindRate, RollBack, Save, SaveCheckpoint, SaveSettings, CheckDeterminism, MeasureLinks,
                 Observe, CopyWeights, SetDisturbed, Record, Finish, Leave, SetRanks, RewindTo, LookAt,
                 TakeBack, LoadKernel, WatchKernels, ApplyWhenProved, UseKernel, ForgetKernel, LookAside>;

/// As Source::send() takes it.
struct NumberedCommand {
  Command command;
  std::uint64_t number = 0;
};

}  // namespace warpscope::training
