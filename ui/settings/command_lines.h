#pragma once
// What is sent to the trainer, as the log shows it. No drawing here.

#include <optional>
#include <string>

#include "ui/settings/changes.h"

namespace warpscope::ui {

/// `text` as one word of a shell: in quotes where it would not be one.
std::string shell_word(const std::string& text);

/// One line, never empty. A setting: the options that give a training the new value, "--batch 8", to be pasted into a
/// shell (`change` is what the command changes, if anything). What the command line has no option for is said in words
/// that begin with a capital letter: "Pause", "Back to earlier weights, with --lr 0.0005".
std::string command_line(const training::Command& command, const training::Snapshot& snapshot,
                         const std::optional<Change>& change);

}  // namespace warpscope::ui
