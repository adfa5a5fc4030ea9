#include "app/ranks.h"

#include <CLI/App.hpp>
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <set>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/options.h"
#include "gpu/core/error.h"
#include "gpu/files/streams.h"
#include "gpu/files/text.h"
#include "gpu/inference/ranks.h"
#include "gpu/ranks/launch.h"
#include "gpu/ranks/meeting_place.h"
#include "gpu/ranks/mpi_meeting.h"
#include "gpu/ranks/shared_meeting.h"
#include "gpu/ranks/slurm.h"
#include "gpu/training/ranks.h"

namespace warpscope::app {
namespace {

constexpr int kMostRanks = 64;
constexpr int kMostSeconds = 86400;

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

ranks::TcpTerms terms_of(const RankArguments& arguments) {
  ranks::TcpTerms terms;
  terms.job = ranks::slurm_step();
  terms.rank = arguments.rank;
  terms.ranks = arguments.ranks;
  const char* const hidden = std::getenv("WARPSCOPE_TOKEN");
  terms.token = arguments.token.empty() && hidden != nullptr ? hidden : arguments.token;
  terms.patience = std::chrono::seconds(arguments.meet_within);
  terms.tell = [](const std::string& sentence) { files::warn(sentence); };
  return terms;
}

/// The GPU that this rank of its host takes, in turns; the CPU where there is none.
std::string device_of(int rank) {
  const std::vector<std::string> there = gpus_here();
  return there.empty() ? "cpu" : there[static_cast<std::size_t>(rank) % there.size()];
}

/// What ranks that are started by this process are called with.
constexpr char kTrain[] = "train";
constexpr char kInfer[] = "infer";

training::StartedMeeting start_ranks(int size, const std::string& command) {
  auto meeting = ranks::found_meeting(size);
  auto processes = std::make_shared<ranks::StartedRanks>(meeting, std::vector<std::string>{command});
  return {std::move(meeting), std::move(processes)};
}

/// Ranks on these GPUs, or where none are named on all of this machine; `on_one`: on the device of the first.
training::RankSupply supply_of(std::vector<std::string> listed, bool on_one) {
  const auto devices = [listed = std::move(listed), on_one](const core::DeviceInfo& own) {
    if (on_one || own.kind != core::DeviceKind::cuda) return std::vector<std::string>(kMostRanks, own.id());
    std::vector<std::string> all = listed.empty() ? gpus_here() : listed;
    std::erase(all, own.id());
    all.insert(all.begin(), own.id());
    return all;
  };
  return {[](int size) { return start_ranks(size, kTrain); }, devices, ""};
}

MetRanks meet_by_mpi(const RankArguments& arguments, const std::string& device) {
  if (arguments.ranks > 0 || !arguments.gpus.empty()) {
    throw core::BadInput("mpirun says how many ranks there are; leave --ranks and --gpus out");
  }
  if (!arguments.meet.empty() || arguments.rank >= 0) {
    throw core::BadInput("mpirun lets its ranks meet; leave --meet and --rank out");
  }
  MetRanks met;
  met.meeting = ranks::meet_by_mpi(
      {.patience = std::chrono::seconds(arguments.meet_within),
       .tell = [](const std::vector<int>&, const std::string& sentence) { files::warn(sentence); }});
  met.device = device == "auto" ? device_of(rank_on_this_host()) : device;
  met.why_not = "mpirun says how many ranks there are; start it anew with another -n";
  return met;
}

MetRanks meet_by_hand(const RankArguments& arguments, const std::string& device) {
  if (arguments.rank < 0)
    throw core::BadInput("--meet: give --rank as well, from 0, another one to each process");
  if (!arguments.gpus.empty())
    throw core::BadInput("a rank of --meet has one device; leave --gpus out, or give --device");
  if (arguments.rank == 0 && arguments.ranks == 0)
    throw core::BadInput("--rank 0 leads: give --ranks, how many meet");
  MetRanks met;
  met.meeting = ranks::meet_at(arguments.meet, terms_of(arguments));
  met.device = met.leads() || device != "auto" ? device : "";
  met.why_not = "people started these ranks; start all anew with another --ranks";
  met.far = true;
  return met;
}

/// Where srun has started this process without MPI.
MetRanks meet_in_slurm_step(ranks::Place place, const RankArguments& arguments, const std::string& device) {
  if (arguments.meet.empty()) {
    throw core::BadInput(fmt::format(
        "srun has started {} of these, which do not meet by MPI as it is: give --mpi=pmix (or pmi2, "
        "where MPICH is) to srun, or --meet FOLDER, which all see, or --ranks 1 to train each by itself",
        place.size));
  }
  if (arguments.ranks > 0 || !arguments.gpus.empty())
    throw core::BadInput("srun says how many ranks there are; leave --ranks and --gpus out");
  RankArguments told = arguments;
  told.rank = place.rank;
  told.ranks = place.size;
  MetRanks met = meet_by_hand(told, device);
  met.device = device == "auto" ? device_of(rank_on_this_host()) : device;
  met.why_not = "srun says how many ranks there are; start it anew with another -n";
  return met;
}

}  // namespace

void add_rank_options(CLI::App& app, RankArguments& a, const std::string& shared) {
  whole_numbers(*app.add_option("--ranks", a.ranks,
                                fmt::format("Processes that share {}, on the device of --device", shared))
                     ->type_name("N")
                     ->group("Device"),
                1, kMostRanks);
  app.add_option("--gpus", a.gpus,
                 fmt::format("GPUs that share {}, a process each: all, how many, or which (0,2,3)", shared))
      ->type_name("GPUS")
      ->group("Device");
  app.add_option(
         "--meet", a.meet,
         "Where ranks meet that are started by hand, on any hosts: HOST:PORT of rank 0, or a folder that all "
         "see; with --rank, and for rank 0 --ranks, where srun does not say these")
      ->type_name("HOST:PORT|FOLDER")
      ->group("Device");
  whole_numbers(*app.add_option("--rank", a.rank, "Which of the ranks of --meet this is; rank 0 leads")
                     ->type_name("K")
                     ->group("Device"),
                0, kMostRanks - 1);
  app.add_option(
         "--token", a.token,
         "By what ranks at HOST:PORT know each other; others see it in lists of processes, unless it is in "
         "WARPSCOPE_TOKEN instead")
      ->type_name("TEXT")
      ->group("Device");
  whole_numbers(*app.add_option("--meet-within", a.meet_within,
                                "Seconds that ranks of --meet, or of mpirun, wait for the others")
                     ->type_name("S")
                     ->capture_default_str()
                     ->group("Device"),
                1, kMostSeconds);
}

MetRanks meet_ranks(const RankArguments& arguments, const std::string& device, const std::string& command) {
  leave_multicast_off();
  if (ranks::started_by_mpi()) return meet_by_mpi(arguments, device);
  // Who names a rank, or starts ranks from each process, does not want those of srun to be the ranks.
  const bool starts_its_own = arguments.ranks > 0 || !arguments.gpus.empty();
  const bool by_slurm = arguments.rank < 0 && (!arguments.meet.empty() || !starts_its_own);
  if (const auto place = ranks::place_in_slurm_step(); place && by_slurm)
    return meet_in_slurm_step(*place, arguments, device);
  if (!arguments.meet.empty()) return meet_by_hand(arguments, device);
  if (arguments.rank >= 0 || !arguments.token.empty())
    throw core::BadInput(
        "--rank and --token are for ranks that meet; give --meet HOST:PORT or --meet FOLDER");
  MetRanks met;
  met.device = device;
  int size = std::max(1, arguments.ranks);
  if (!arguments.gpus.empty()) {
    if (arguments.ranks > 0)
      throw core::BadInput("--ranks and --gpus both say how many ranks there are; leave one out");
    if (device != "auto")
      throw core::BadInput(fmt::format("--gpus says on which devices to {}; leave --device out", command));
    met.devices = devices_of(arguments.gpus);
    met.device = met.devices.front();
    size = static_cast<int>(met.devices.size());
  }
  if (size == 1) return met;
  training::StartedMeeting started = start_ranks(size, command);
  met.meeting = std::move(started.meeting);
  met.processes = std::move(started.processes);
  return met;
}

int follow_as(const MetRanks& met,
              const std::function<int(ranks::Meeting&, const std::string& device)>& follow) {
  const int code = follow(*met.meeting, met.device);
  // Rank 0 tells its own terminal why; this one's may be far away.
  if (code == 0 || !met.far) return code;
  if (const std::string missing = met.meeting->missing(); !missing.empty()) files::warn(missing);
  return code;
}

OtherRanks::OtherRanks(const RankArguments& arguments, training::TrainerOptions& options) {
  MetRanks met = meet_ranks(arguments, options.device, kTrain);
  if (!met.leads()) {
    exit_code_ = follow_as(met, [&](ranks::Meeting& meeting, const std::string& device) {
      return training::follow(meeting, device, nullptr, options.given);
    });
    return;
  }
  options.device = met.device;
  options.devices = met.devices;
  options.ranks = std::move(met.meeting);
  options.rank_processes = std::move(met.processes);
  if (!met.why_not.empty()) {
    options.rank_supply.why_not = met.why_not;
    return;
  }
  const bool listed = arguments.gpus.find(',') != std::string::npos;
  options.rank_supply = supply_of(listed ? options.devices : std::vector<std::string>(), arguments.ranks > 0);
}

std::optional<int> run_as_rank(std::string_view command) {
  leave_multicast_off();
  const std::optional<ranks::StartedPlace> place = ranks::place_from_environment();
  if (!place) return {};
  const auto meeting = ranks::join_meeting(place->meeting, place->place.rank);
  return command == kInfer ? inference::follow(*meeting) : training::follow(*meeting);
}

}  // namespace warpscope::app
