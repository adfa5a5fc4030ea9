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
    Command{"train", "Train without a window (one epoch if nothing says when to stop)", train},
    Command{"config", "Print the settings of a training as a TOML file for --config", config},
    Command{"fetch", "Download a data set", fetch},
    Command{"verify", "Prove the variants against the reference", verify},
    Command{"bench", "Time the variants and whole training steps", bench},
    Command{"runs", "List runs, or the settings in which some differ", runs},
    Command{"export", "Write a run in another format", export_runs},
    Command{"models", "List networks, or print one as a file to start from", models},
    Command{"features", "Write what a trained network makes of images, for classifiers", features},
    Command{"infer", "Ask a trained network about images, and time each part of it", infer},
    Command{"map", "Map what a trained network makes of images into the plane", map},
    Command{"classify", "Judge what a trained network makes of images by a classifier", classify},
    Command{"view", "Open the window on a run that another process writes or has written", view},
    Command{"kernel", "Start, prove and time a kernel of your own", kernel},
    Command{"devices", "List devices and the variants each can run", devices},
};

}  // namespace

std::span<const Command> commands() {
  return kCommands;
}

}  // namespace warpscope::app
