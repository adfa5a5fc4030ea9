#include <array>

#include "app/commands.h"

namespace warpscope::app {

// Each is defined in the file named for its command.
Run train(CLI::App&app), config(CLI::App&app), fetch(CLI::App&app), verify(CLI::App&app), bench(CLI::App&app),
    runs(CLI::App&app), export_runs(CLI::App&app), models(CLI::App&app), features(CLI::App&app),
    infer(CLI::App&app), map(CLI::App&app), classify(CLI::App&app), view(CLI::App&app), devices(CLI::App&app),
    kernel(CLI::App&app);

namespace {

constexpr std::array kCommands{
    Command{"train", "Train without a window (one epoch if nothing says when to stop)",
            "take a smaller network, batch or data set", train},
    Command{"config", "Print the settings of a training as a TOML file for --config", "", config},
    Command{"fetch", "Download a data set", "", fetch},
    Command{"verify", "Prove the variants against the reference", "check fewer operations at a time (--op)",
            verify},
    Command{"bench", "Time the variants and whole training steps",
            "time fewer operations (--op) or a smaller --batch", bench},
    Command{"runs", "List runs, or the settings in which some differ", "list fewer runs at a time", runs},
    Command{"export", "Write a run in another format", "export fewer runs at a time", export_runs},
    Command{"models", "List networks, or print one as a file to start from", "", models},
    Command{"features", "Write what a trained network makes of images, for classifiers",
            "take fewer images (--rows)", features},
    Command{"infer", "Ask a trained network about images, and time each part of it",
            "ask about fewer images at once (--batch)", infer},
    Command{"map", "Map what a trained network makes of images into the plane", "take fewer images (--rows)",
            map},
    Command{"classify", "Judge what a trained network makes of images by a classifier",
            "take fewer images (--rows)", classify},
    Command{"view", "Open the window on a run that another process writes or has written", "", view},
    Command{"kernel", "Start, prove and time a kernel of your own", "", kernel},
    Command{"devices", "List devices and the variants each can run", "", devices},
};

}  // namespace

std::span<const Command> commands() {
  return kCommands;
}

}  // namespace warpscope::app
