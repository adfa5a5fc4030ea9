// warpscope config: the settings that a training would have, as a TOML file to start from; docs/options.md and the
// manual page.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "app/commands.h"
#include "app/manual.h"
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

int print_page(const std::string& page) {
  files::put_file(page);
  return 0;
}

int print_settings(const training::Configuration& configuration) {
  const training::Configuration known = training::merge(training::defaults(), configuration);
  files::put_file(training::to_toml(known, device_of(known.text("device"))));
  return 0;
}

}  // namespace

Run config(CLI::App& app) {
  struct Arguments {
    TrainingArguments training;
    bool markdown = false;
    bool manual = false;
  };
  const auto a = std::make_shared<Arguments>();
  add_training_options(app, a->training);
  app.add_flag("--markdown", a->markdown, "Print the table of all options instead (docs/options.md)");
  app.add_flag("--manual", a->manual, "Print the manual page instead (warpscope.1)");
  return [a, program = app.get_parent()] {
    if (a->manual) return print_page(manual(*program));
    if (a->markdown) return print_page(training::options_markdown());
    return print_settings(parse(a->training));
  };
}

}  // namespace warpscope::app
