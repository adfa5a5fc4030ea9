#include "app/start_services.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "app/fetch/fetch.h"
#include "app/options.h"
#include "gpu/core/device.h"
#include "gpu/core/error.h"
#include "gpu/data/known_data.h"
#include "gpu/data/requirements.h"
#include "gpu/data/split.h"
#include "gpu/files/paths.h"
#include "gpu/models/model.h"
#include "gpu/plan/selection.h"

namespace warpscope::app {
namespace {

training::TrainerOptions new_training(const training::Configuration& given, const data::Stopped& stopped) {
  training::TrainerOptions options = training_options({.given = given, .config = {}, .resume = {}});
  check(options);
  const auto device = core::open_device(options.device);
  if (options.precision)
    plan::check_precision(plan::Machine(device->info(), *options.variants), *options.precision);
  read_data(options, nullptr, stopped);
  return options;
}

void fetch_set(const std::string& set, const std::function<bool(std::int64_t, std::int64_t)>& told) {
  const fetch::Callback progress = [&](const fetch::Progress& now) {
    return told(now.done_bytes, now.total_bytes);
  };
  fetch::fetch_data_set(fetch::find_source(set), files::cache_dir(), progress);
}

/// Another process of this program, which outlives this one.
void view_in_another_window(const std::filesystem::path& run) {
  std::string program = "warpscope", command = "view", folder = run.string();
  const std::array<char*, 4> arguments{program.data(), command.data(), folder.data(), nullptr};
  pid_t process = 0;
  const int error = ::posix_spawn(&process, "/proc/self/exe", nullptr, nullptr, arguments.data(), environ);
  if (error != 0) throw core::Error(fmt::format("no window can be opened: {}", std::strerror(error)));
  std::thread([process] {
    while (::waitpid(process, nullptr, 0) < 0 && errno == EINTR) {
    }
  }).detach();
}

}  // namespace

void read_data(training::TrainerOptions& options, const training::OrderState* order,
               const data::Stopped& stopped) {
  data::FoundData found =
      data::find_data(options.data, options.known_data, data::requirements_of(options.model), stopped);
  if (!found.same) throw core::BadInput(data::told_as_other(found.set));
  found.set.notice = std::move(found.notice);
  auto set = std::make_shared<data::DataSet>(
      data::split_validation(std::move(found.set), options.validation, options.seed));
  if (order != nullptr) training::check_order(*order, *set, options);
  // The trainer splits the whole set itself and would hold it beside its own.
  if (options.validation == 0) options.data_set = std::move(set);
}

ui::StartServices start_services() {
  return {
      .make = new_training, .fetchable = fetch::names(), .fetch = fetch_set, .view = view_in_another_window};
}

}  // namespace warpscope::app
