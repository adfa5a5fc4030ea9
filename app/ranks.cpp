#include "app/ranks.h"

#include <CLI/App.hpp>
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <set>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/options.h"
#include "gpu/core/error.h"
#include "gpu/files/text.h"
#include "gpu/ranks/mpi_meeting.h"
#include "gpu/ranks/shared_meeting.h"
#include "gpu/training/ranks.h"

namespace warpscope::app {
namespace {

constexpr int kMostRanks = 64;

std::optional<int> number_in(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0) return {};
  return number;
}

/// Those of this machine.
std::vector<std::string> gpus_here() {
  std::vector<std::string> there;
  for (const core::DeviceInfo& device : core::list_devices()) {
    if (device.kind == core::DeviceKind::cuda) there.push_back(device.id());
  }
  return there;
}

/// The devices that --gpus names.
std::vector<std::string> devices_of(const std::string& gpus) {
  const std::vector<std::string> there = gpus_here();
  if (there.empty()) throw core::BadInput(fmt::format("--gpus: {}", core::cuda_unavailable_reason()));
  if (gpus == "all") return there;
  const bool listed = gpus.find(',') != std::string::npos;
  std::vector<std::string> chosen;
  for (std::size_t begin = 0; begin <= gpus.size();) {
    const std::size_t end = std::min(gpus.find(',', begin), gpus.size());
    const std::string part = gpus.substr(begin, end - begin);
    const std::optional<int> number = number_in(part);
    if (!number) {
      throw core::BadInput(fmt::format("--gpus: {} is neither all, nor how many, nor numbers such as 0,2,3",
                                       files::sayable(gpus)));
    }
    const auto wanted = static_cast<std::size_t>(*number);
    if (!listed) {
      if (wanted < 1 || wanted > there.size()) {
        throw core::BadInput(fmt::format("--gpus {}: there are {}", wanted, there.size()));
      }
      return {there.begin(), there.begin() + *number};
    }
    if (wanted >= there.size()) {
      throw core::BadInput(
          fmt::format("--gpus: there is no cuda:{}; there are {}", wanted, fmt::join(there, ", ")));
    }
    chosen.push_back(there[wanted]);
    begin = end + 1;
  }
  if (std::set<std::string>(chosen.begin(), chosen.end()).size() < chosen.size()) {
    throw core::BadInput("--gpus names a GPU twice; --ranks puts several ranks on one");
  }
  return chosen;
}

/// No multicast objects of NVLink are used, whatever NCCL would choose. It reads this when it is opened; no thread of
/// this program has begun yet.
void leave_multicast_off() {
  ::setenv("NCCL_NVLS_ENABLE", "0", 0);
}

/// Which of the ranks that a launcher started on this host, as it tells.
int rank_on_this_host() {
  for (const char* name : {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"}) {
    const char* const value = std::getenv(name);
    if (value == nullptr) continue;
    if (const std::optional<int> number = number_in(value)) return *number;
  }
  return 0;
}

/// The GPU that this rank of its host takes, in turns; the CPU where there is none.
std::string device_of(int rank) {
  const std::vector<std::string> there = gpus_here();
  return there.empty() ? "cpu" : there[static_cast<std::size_t>(rank) % there.size()];
}

}  // namespace

void add_rank_options(CLI::App& app, RankArguments& a) {
  whole_numbers(
      *app.add_option("--ranks", a.ranks, "Processes that share each step, on the device of --device")
           ->type_name("N")
           ->group("Device"),
      1, kMostRanks);
  app.add_option("--gpus", a.gpus,
                 "GPUs that share each step, a process each: all, how many, or which (0,2,3)")
      ->type_name("GPUS")
      ->group("Device");
}

OtherRanks::OtherRanks(const RankArguments& arguments, training::TrainerOptions& options) {
  leave_multicast_off();
  if (ranks::started_by_mpi()) {
    meet_by_mpi(arguments, options);
    return;
  }
  int size = std::max(1, arguments.ranks);
  if (!arguments.gpus.empty()) {
    if (arguments.ranks > 0)
      throw core::BadInput("--ranks and --gpus both say how many ranks there are; leave one out");
    if (options.device != "auto")
      throw core::BadInput("--gpus says on which devices to train; leave --device out");
    options.devices = devices_of(arguments.gpus);
    options.device = options.devices.front();
    size = static_cast<int>(options.devices.size());
  }
  if (size == 1) return;
  auto meeting = ranks::found_meeting(size);
  started_ = std::make_unique<ranks::StartedRanks>(meeting, std::vector<std::string>{"train"});
  options.ranks = std::move(meeting);
}

void OtherRanks::meet_by_mpi(const RankArguments& arguments, training::TrainerOptions& options) {
  if (arguments.ranks > 0 || !arguments.gpus.empty()) {
    throw core::BadInput("mpirun says how many ranks there are; leave --ranks and --gpus out");
  }
  auto meeting = ranks::meet_by_mpi();
  if (options.device == "auto") options.device = device_of(rank_on_this_host());
  if (!meeting->place().leads()) {
    exit_code_ = training::follow(*meeting, options.device);
    return;
  }
  options.ranks = std::move(meeting);
}

std::optional<int> run_as_rank() {
  leave_multicast_off();
  const std::optional<ranks::StartedPlace> place = ranks::place_from_environment();
  if (!place) return {};
  return training::follow(*ranks::join_meeting(place->meeting, place->place.rank));
}

}  // namespace warpscope::app
