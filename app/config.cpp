// warpscope config: the settings that a training would have, as a TOML file to start from.

#include <fmt/format.h>

#include "app/commands.h"

namespace warpscope::app {

int config(const training::Configuration& configuration) {
  fmt::print("{}", training::to_toml(training::merge(training::defaults(), configuration)));
  return 0;
}

}  // namespace warpscope::app
