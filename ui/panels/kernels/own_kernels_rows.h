#pragma once
// What the panel of a person's own kernels shows: files on their way into the training, what can be done with them, and
// their times beside the other variants. No drawing here.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/messages/commands.h"
#include "gpu/messages/snapshot.h"
#include "gpu/messages/user_kernels.h"

namespace warpscope::ui {

/// How a text is meant, which its colour shows.
enum class Tone : std::uint8_t { plain, muted, good, warning, error };
struct TonedText {
  std::string text;
  Tone tone = Tone::plain;
};

/// "my_conv" of user:my_conv.
std::string_view short_name(const training::UserKernel& kernel);

/// Where it stands in a word or two: "in use", "ready", "compiling", "refused, version 2 runs".
TonedText state_of(const training::UserKernel& kernel);
/// In one sentence what became of a version of it, or what is being done; nullptr: it has none.
TonedText verdict_of(const training::UserKernel& kernel, const training::KernelVersion* version);
/// "3 files, 1 in use"
std::string own_kernels_summary(const training::UserKernels& kernels);

/// The version of that number, as far as it is kept; the newest where it is not; nullptr if there is none.
const training::KernelVersion* version_of(const training::UserKernel& kernel, int number);
/// The newest one before it that was proved; nullptr if none is kept.
const training::KernelVersion* version_before(const training::UserKernel& kernel,
                                              const training::KernelVersion& version);
/// "version 3, in use", "version 4, refused"
std::string version_text(const training::UserKernel& kernel, const training::KernelVersion& version);

/// Microseconds of all calls of its op in a step, by `variant` in that version (0 of variants that are no user's); 0
/// where one of them was not timed.
double step_microseconds(const training::KernelVersion& version, std::string_view variant, int number);
/// That of the version itself.
double own_microseconds(const training::UserKernel& kernel, const training::KernelVersion& version);
/// The variant of no user that takes the least in a step.
struct Rival {
  std::string variant;
  double microseconds = 0;
};
std::optional<Rival> best_rival(const training::KernelVersion& version);
/// "31.0 µs in a step: 0.42x the time of tiled, the fastest of the others, and 0.90x the time of
/// version 2"; "" where it
/// was not timed.
std::string comparison_of(const training::UserKernel& kernel, const training::KernelVersion& version);

/// What a bar is of.
enum class BarOwner : std::uint8_t { version, before, other };
struct KernelBar {
  std::string label;
  std::string note;  ///< beside it: "this version", "version 2"
  training::Measured microseconds;
  BarOwner owner = BarOwner::other;
  double ratio = 0;  ///< to the version's own time; 0 where that is not known
};
/// Calls of one shape.
struct KernelBars {
  std::string title;     ///< "conv1, conv2"
  std::string subtitle;  ///< the shape
  std::vector<KernelBar> bars;
};
std::vector<KernelBars> bars_of(const training::UserKernel& kernel, const training::KernelVersion& version);

/// A figure of a version, beside that of the one before.
struct KernelFact {
  std::string name;
  std::string now;
  std::string before;  ///< "" where it is not known
  std::string tip;
};
/// How it was compiled and proved, and what the build for a GPU tells of itself.
std::vector<KernelFact> facts_of(const training::KernelVersion& now, const training::KernelVersion* before);

/// "my_conv.cpp:12:9"; a file without a line by its name only.
std::string place_of(const user_kernels::Diagnostic& error);
/// A line of code as it is shown, with blanks for its tabs, and where in it the column is, in bytes; -1: nowhere.
struct ShownLine {
  std::string text;
  int mark = -1;
};
ShownLine shown_line(const user_kernels::Diagnostic& error);
/// A line of a file, with blanks for its tabs.
std::string untabbed(std::string_view line);
/// All that is said of a version, for the clipboard: file, verdict, errors with their lines.
std::string report_of(const training::UserKernel& kernel, const training::KernelVersion* version);

/// Something that can be done with a file, as a button and in the palette.
struct KernelChoice {
  const char* id;       ///< "apply"
  const char* label;    ///< "Apply"
  std::string tip;      ///< what it does
  std::string why_not;  ///< why it cannot be done, in a sentence; "" if it can
  training::Command command;
};
/// Apply, leave and forget; `version`: the one that is looked at.
std::vector<KernelChoice> choices_of(const training::UserKernel& kernel,
                                     const training::KernelVersion* version);

/// Why nothing can be done with kernels of one's own in this training, in a sentence; "" if it can.
std::string why_no_own_kernels(const training::Snapshot& snapshot);
/// Why no file can be loaded, likewise.
std::string why_no_loading(const training::Snapshot& snapshot);

}  // namespace warpscope::ui
