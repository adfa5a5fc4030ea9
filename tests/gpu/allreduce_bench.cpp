// Measures gradients.allreduce by itself, on GPUs of one host, a process each:
//
//   allreduce_bench [--gpus 2] [--bytes 3000000] [--calls 200] [--rounds 9] [--variants nccl_plain,p2p_two_shot]
//
// A line a variant: the median over rounds of the microseconds of a call, on the rank where they are the most, by the
// device's events around so many calls one after the other. All ranks begin a round together. Every call must give the
// mean of all ranks: exit code 1 otherwise, or if a variant cannot run.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gpu/core/device.h"
#include "gpu/core/error.h"
#include "gpu/ops/step/step.h"
#include "gpu/ops/variant.h"
#include "gpu/ranks/shared_meeting.h"
#include "gpu/ranks/sums.h"

namespace {

using namespace warpscope;

struct Options {
  int gpus = 2;
  std::int64_t floats = 750000;
  int calls = 200;
  int rounds = 9;
  std::vector<std::string> variants{"nccl_plain", "p2p_two_shot"};
};

Options options_of(int count, char** arguments) {
  std::map<std::string, std::string> given;
  for (int i = 1; i + 1 < count; i += 2) given[arguments[i]] = arguments[i + 1];
  Options options;
  const auto number = [&](const char* name, int usual) {
    return given.contains(name) ? std::atoi(given[name].c_str()) : usual;
  };
  options.gpus = number("--gpus", options.gpus);
  options.calls = std::max(1, number("--calls", options.calls));
  options.rounds = std::max(1, number("--rounds", options.rounds));
  options.floats = std::max(1, number("--bytes", 3000000) / static_cast<int>(sizeof(float)));
  if (given.contains("--variants")) {
    options.variants.clear();
    std::istringstream names(given["--variants"]);
    for (std::string name; std::getline(names, name, ',');) options.variants.push_back(name);
  }
  return options;
}

double median_of(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

/// One rank's device and memory.
class Rank {
 public:
  Rank(ranks::Meeting& meeting, const Options& options)
      : options_(options),
        device_(core::open_device(fmt::format("cuda:{}", meeting.place().rank))),
        sums_(std::make_shared<ranks::Sums>(meeting.group(ranks::kSums, {}))) {
    device_->make_current();
    stream_ = device_->make_stream();
    sums_->link(device_);
    const std::vector<float> own(static_cast<std::size_t>(options.floats),
                                 static_cast<float>(meeting.place().rank + 1));
    gradients_ = core::upload(device_, *stream_, own);
    metrics_ = core::upload(device_, *stream_, std::vector<float>(ops::step::kMetrics));
    running_ = core::upload(device_, *stream_, std::vector<float>(1));
  }

  /// False where it is wrong or cannot run; rank 0 tells.
  bool measure(const std::string& name) {
    const ranks::Place& place = sums_->place();
    const ops::Context context(device_, ops::built_in_variants(),
                               {sums_, 1.0f / static_cast<float>(place.size)});
    const ops::Variant* variant =
        ops::find_variant(*context.variants, ops::Op::gradients_allreduce, core::DeviceKind::cuda, name);
    const ops::OpShape shape{.in_channels = 0,
                             .count = options_.floats,
                             .linked = sums_->nccl() != nullptr,
                             .peers = sums_->p2p() != nullptr};
    const std::string why = variant == nullptr ? "there is no such variant"
                                               : ops::unavailable_reason(*variant, device_->info(),
                                                                         core::Precision::fp32, &shape);
    if (!why.empty()) {
      if (place.leads()) fmt::print("{}: {}\n", name, why);
      return false;
    }
    ops::OpCall call{.variant = variant, .context = &context, .shape = shape};
    call.operands[ops::Name::gradients] = gradients_.data();
    call.operands[ops::Name::metrics] = metrics_.data();
    call.operands[ops::Name::running] = running_.data();
    call.stream = stream_.get();
    const std::vector<float> own(static_cast<std::size_t>(options_.floats),
                                 static_cast<float>(place.rank + 1));
    stream_->copy(gradients_.data(), own.data(), gradients_.bytes());
    stream_->synchronize();
    std::vector<double> rounds;
    for (int round = 0; round <= options_.rounds; ++round) {
      const double slowest = std::ranges::max(ranks::gathered(sums_->group(), time_of(*variant, call)));
      if (round > 0) rounds.push_back(slowest);  // the first one is to warm up
    }
    const bool right = holds_the_mean(place.size);
    if (place.leads()) {
      fmt::print("{}: {:.1f} us for {} bytes on {} GPUs{}\n", name, median_of(rounds),
                 options_.floats * static_cast<std::int64_t>(sizeof(float)), place.size,
                 right ? "" : ", WRONG");
      std::fflush(stdout);
    }
    return right;
  }

 private:
  /// Microseconds of a call.
  double time_of(const ops::Variant& variant, const ops::OpCall& call) {
    const auto begin = device_->make_event(true), end = device_->make_event(true);
    ranks::gathered(sums_->group(), 0);  // all begin together
    stream_->record(*begin);
    for (int i = 0; i < options_.calls; ++i) variant.launch(call);
    stream_->record(*end);
    end->synchronize();
    return end->microseconds_since(*begin) / options_.calls;
  }
  /// The mean of 1, 2, ... is what each further call gives again, up to rounding.
  bool holds_the_mean(int size) {
    const auto wanted = static_cast<float>(size + 1) / 2;
    const auto found =
        core::download<float>(*stream_, gradients_.data(), static_cast<std::size_t>(options_.floats));
    return std::ranges::all_of(found, [&](float value) { return std::abs(value - wanted) < 1e-2f * wanted; });
  }

  const Options& options_;
  std::shared_ptr<core::Device> device_;
  std::shared_ptr<ranks::Sums> sums_;
  std::unique_ptr<core::Stream> stream_;
  core::Buffer gradients_, metrics_, running_;
};

int run(ranks::Meeting& meeting, const Options& options) {
  try {
    Rank rank(meeting, options);
    bool right = true;
    for (const std::string& name : options.variants) right = rank.measure(name) && right;
    return right ? 0 : 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "rank {}: {}\n", meeting.place().rank, error.what());
    return 1;
  }
}

}  // namespace

int main(int count, char** arguments) {
  const Options options = options_of(count, arguments);
  ::setenv("NCCL_NVLS_ENABLE", "0", 1);  // as the program has it: no NVLink multicast
  const auto founded = ranks::found_meeting(options.gpus);
  std::vector<pid_t> children;
  // Before CUDA is there: it does not survive a fork.
  for (int rank = 1; rank < options.gpus; ++rank) {
    const pid_t child = ::fork();
    if (child == 0) {
      int code = 1;
      {
        const auto meeting = ranks::join_meeting(*founded, rank);
        code = run(*meeting, options);
      }
      std::fflush(nullptr);
      ::_exit(code);  // rank 0's place is not this process's to leave
    }
    children.push_back(child);
  }
  int code = run(*founded, options);
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    code = status == 0 ? code : 1;
  }
  return code;
}
