// warpscope config: the settings that a training would have, as a TOML file to start from, or
// docs/options.md.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "app/commands.h"
#include "app/options.h"
#include "gpu/core/device.h"
#include "gpu/files/streams.h"

namespace warpscope::app {
namespace {

/// The device that `name` asks for; the CPU where there is no such device.
core::DeviceInfo device_of(const std::string& name) {
  const std::vector<core::DeviceInfo> devices = core::list_devices();
  if (name == "auto") return devices.front();
  const auto asked =
      std::ranges::find_if(devices, [&](const core::DeviceInfo& device) { return device.id() == name; });
  return asked == devices.end() ? devices.back() : *asked;
}

int print_settings(const training::Configuration& configuration, bool markdown) {
  if (markdown) {
    files::put_file(training::options_markdown());
    return 0;
  }
  const training::Configuration known = training::merge(training::defaults(), configuration);
  files::put_file(training::to_toml(known, device_of(known.text("device"))));
  return 0;
}

}  // namespace

Run config(CLI::App& app) {
  struct Arguments {
    TrainingArguments training;
    bool markdown = false;
  };
  const auto a = std::make_shared<Arguments>();
  add_training_options(app, a->training);
  app.add_flag("--markdown", a->markdown, "Print the table of all options instead (docs/options.md)");
  return [a] { return print_settings(parse(a->training), a->markdown); };
}

}  // namespace warpscope::app
