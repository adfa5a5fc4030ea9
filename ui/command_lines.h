#pragma once
// What is sent to the trainer, as the log shows it: something that can be pasted into a shell. No drawing here.

#include <optional>
#include <string>

#include "ui/changes.h"

namespace warpscope::ui {

/// One line, never empty. A setting: the options that give a training the new value, "--batch 8" (`change` is what
/// the command changes, if anything). What the command line has no option for is a comment of the shell that says
/// the same: "# pause", "--lr 0.0005 # back to earlier weights".
std::string command_line(const training::Command& command, const training::Snapshot& snapshot,
                         const std::optional<Change>& change);

}  // namespace warpscope::ui
