#pragma once
// A training of several ranks: what rank 0 tells the others to begin with, and what these do.

#include <memory>
#include <string>
#include <vector>

#include "gpu/data/dataset.h"
#include "gpu/engine/engine.h"
#include "gpu/ranks/group.h"
#include "gpu/settings/configuration.h"

namespace warpscope::training {

/// What all ranks have in common.
struct Beginning {
  std::string version;      ///< of the program
  EngineSettings settings;  ///< complete
  plan::Selection selection;
  plan::MeasuredChoices measured;    ///< all make the same update
  std::string data;                  ///< as data::load takes it
  std::string checksum;              ///< of the whole set
  double validation = 0;             ///< share that is kept back
  std::vector<std::string> devices;  ///< of each rank, as core::open_device takes them
  bool on_gpus = false;
  std::string given;  ///< sent_settings() of what rank 0 was given
};

/// As Beginning::given holds them.
std::string sent_settings(const Configuration& given);

/// Lets all other ranks begin, and waits until they have device and data. `options` get what a step of all of them
/// needs; the engine joins what is returned once all have one. Throws core::BadInput that names the rank that could
/// not, and why.
std::shared_ptr<calls::Line> lead(const std::shared_ptr<ranks::Meeting>& meeting, const Beginning& beginning,
                                  const std::shared_ptr<core::Device>& device, ranks::TellSlow tell_slow,
                                  EngineOptions& options);

/// What every rank but the first does: makes the steps that rank 0 makes, until it tells the end. Returns the exit code
/// of the process: 0, 1 where something failed or ranks::kOthersMissing, which rank 0 tells. `device`: as
/// core::open_device takes it; "" for what rank 0 says. `known`: the data, where they are here already. `given`: what
/// this rank was told itself; where that differs from what rank 0 was given, no rank begins.
int follow(ranks::Meeting& meeting, const std::string& device = "",
           std::shared_ptr<const data::DataSet> known = nullptr, const Configuration& given = {});

}  // namespace warpscope::training
