#include "app/start_services.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <sstream>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
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
#include "gpu/user_kernels/examples.h"
#include "gpu/user_kernels/layout.h"
#include "gpu/user_kernels/templates.h"
#include "gpu/user_kernels/trial.h"

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

/// Another process, which outlives this one. Returns 0 or the system's error.
int start_process(const char* program, std::vector<std::string> words, bool quiet) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) {
    if (quiet) ::posix_spawn_file_actions_addopen(&actions, stream, "/dev/null", O_WRONLY, 0);
  }
  pid_t process = 0;
  const int error = ::posix_spawnp(&process, program, &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return error;
  std::thread([process] {
    while (::waitpid(process, nullptr, 0) < 0 && errno == EINTR) {
    }
  }).detach();
  return 0;
}

/// A window of this program.
void view_in_another_window(const std::filesystem::path& run) {
  const int error = start_process("/proc/self/exe", {"warpscope", "view", run.string()}, false);
  if (error != 0) throw core::Error(fmt::format("no window can be opened: {}", std::strerror(error)));
}

constexpr const char* kOpener = "xdg-open";

bool has_opener() {
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (!folder.empty() && ::access((std::filesystem::path(folder) / kOpener).c_str(), X_OK) == 0)
      return true;
  }
  return false;
}

void open_in_editor(const std::filesystem::path& file) {
  const int error = start_process(kOpener, {kOpener, std::filesystem::absolute(file).string()}, true);
  if (error != 0) throw core::Error(fmt::format("{} cannot be started: {}", kOpener, std::strerror(error)));
}

/// A file to start from, whose name tells the language.
void write_template(ops::Op op, const std::filesystem::path& file) {
  const user_kernels::Language language = user_kernels::language_of(file);
  user_kernels::write_new(file, user_kernels::template_of(op, language, file.filename().string()));
}

/// A file of the lesson, unless there is one of its name.
std::filesystem::path write_example(const std::string& name, const std::filesystem::path& folder,
                                    bool& is_new) {
  const std::filesystem::path file = folder / name;
  const user_kernels::Example example =
      user_kernels::find_example(file.stem().string(), user_kernels::language_of(file));
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw core::Error(fmt::format("{} cannot be made: {}", folder.string(), error.message()));
  is_new = !std::filesystem::exists(file, error);
  if (is_new) user_kernels::write_new(file, example.text);
  return file;
}

std::string races_of(const std::filesystem::path& file, const std::vector<std::filesystem::path>& includes,
                     const std::string& device, const data::Stopped& stopped) {
  const user_kernels::Source source = user_kernels::read_source(file);
  user_kernels::CompileOptions compiling;
  compiling.includes = includes;
  compiling.go_on = [&stopped] { return !stopped(); };
  compiling.compute_capability = core::open_device(device)->info().compute_capability;
  const user_kernels::Compilation compiled = user_kernels::compile(source, compiling);
  if (!compiled.errors.empty()) throw core::BadInput("it does not compile");
  user_kernels::TrialOptions trial;
  trial.device = device;
  trial.go_on = compiling.go_on;
  return user_kernels::racecheck(source, compiled, trial).sentence;
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

ui::KernelServices kernel_services(const std::vector<std::filesystem::path>& includes) {
  ui::KernelServices services{
      .write_new = write_template, .write_example = write_example, .edit = open_in_editor};
  for (const user_kernels::Example& each : user_kernels::examples()) {
    services.lesson.push_back(
        {std::string(each.file), std::string(each.adds), each.language == user_kernels::Language::cuda});
  }
  const std::vector<ops::Op> offered = user_kernels::offered_ops();
  for (const ops::OpContract& contract : ops::contracts()) {
    const bool is_offered = std::ranges::find(offered, contract.op) != offered.end();
    const std::string_view why_not = user_kernels::no_user_kernels(contract.op);
    services.ops.push_back({contract.op, is_offered        ? ""
                                         : why_not.empty() ? "there is no file to start from yet"
                                                           : std::string(why_not)});
  }
  services.racecheck = [includes](const std::filesystem::path& file, const std::string& device,
                                  const data::Stopped& stopped) {
    return races_of(file, includes, device, stopped);
  };
  services.why_no_racecheck = user_kernels::no_racecheck();
  if (!services.why_no_racecheck.empty()) services.why_no_racecheck += '.';
  if (!has_opener())
    services.why_no_editor = fmt::format("{}, which opens files in an editor, is not installed.", kOpener);
  return services;
}

}  // namespace warpscope::app
